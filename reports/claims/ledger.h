/// The ledger of claims: what is claimed, what was published, what was measured, and the verdict of the claim's own
/// rule. As thread-safe as the evidence.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ablations/catalogue.h"
#include "core/base/enum_names.h"
#include "reports/claims/claim_evidence.h"
#include "reports/claims/ledger_reason.h"

namespace nanobench::reports {

enum class LedgerVerdict {
  kSupported,      ///< the whole interval agrees with the claim
  kContradicted,   ///< the whole interval disagrees with it
  kInconclusive,   ///< measured, but neither
  kNotMeasured,    ///< measurable, but not measured
  kNotMeasurable,  ///< not measurable here; `reason` gives the reason. A number may stand beside it
};

/// All verdicts, in the order of reports.
inline constexpr std::array<LedgerVerdict, 5> kLedgerVerdicts = {
    LedgerVerdict::kSupported, LedgerVerdict::kContradicted, LedgerVerdict::kInconclusive, LedgerVerdict::kNotMeasured,
    LedgerVerdict::kNotMeasurable};

NB_ENUM_NAMES(LedgerVerdict, {LedgerVerdict::kSupported, "supported"}, {LedgerVerdict::kContradicted, "contradicted"},
              {LedgerVerdict::kInconclusive, "inconclusive"}, {LedgerVerdict::kNotMeasured, "not measured"},
              {LedgerVerdict::kNotMeasurable, "not measurable here"});
/// The verdict as one word: "not_measurable_here".
std::string word_of(LedgerVerdict verdict);

/// How the number of a claim was got.
enum class EvidenceKind {
  kMeasured,  ///< by training runs or repeated operations on this machine
  kCounted,   ///< by this program: it has no error
  kRead,      ///< from configurations or published figures: nothing ran here
};
/// In the order of reports.
inline constexpr std::array<EvidenceKind, 3> kEvidenceKinds = {EvidenceKind::kMeasured, EvidenceKind::kCounted,
                                                               EvidenceKind::kRead};
NB_ENUM_NAMES(EvidenceKind, {EvidenceKind::kMeasured, "measured"}, {EvidenceKind::kCounted, "counted"},
              {EvidenceKind::kRead, "read"});

/// A measurement reported beside the judged one.
struct SideNumber {
  std::string what;  ///< "rows 768 columns 768: time_ms after/before"
  MeasuredNumber number;
};

struct LedgerEntry {
  const ablations::Claim* claim = nullptr;
  LedgerVerdict verdict = LedgerVerdict::kNotMeasured;
  EvidenceKind evidence = EvidenceKind::kMeasured;  ///< or how it would be got
  std::optional<double> claimed;                    ///< the claim's own number, converted to the rule's form
  std::optional<double> published;                  ///< the same from records' logs and figures
  MeasuredNumber measured;
  LedgerBasis basis;
  std::string scale;                   ///< "nano", "official", "as published", the operation's sizes
  std::optional<LedgerReason> reason;  ///< why there is no verdict; absent if there is one
  /// Number of the first record whose configuration has what a claim of the kind `config` states; absent if none has.
  std::optional<std::int64_t> first_record;
  std::vector<SideNumber> also;
};

/// The rule's verdict on a number. A number without an interval decides only if it is exact.
LedgerVerdict judged(const ablations::ClaimRule& rule, const MeasuredNumber& number);

LedgerEntry judge(const ablations::Catalogue& catalogue, const ablations::Claim& claim, const ClaimEvidence& evidence);

/// Measured ones first, then counted ones, then what was only read, then those without a verdict; each in the order of
/// the claims.
std::vector<LedgerEntry> make_ledger(const ablations::Catalogue& catalogue,
                                     const std::vector<const ablations::Claim*>& claims, const ClaimEvidence& evidence);

}  // namespace nanobench::reports

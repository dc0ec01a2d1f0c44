#include "reports/claims/ledger_text.h"

#include "core/base/enum_names.h"
#include "core/base/text.h"
#include "reports/comparison/remark_text.h"

namespace nanobench::reports {
namespace {

using Kind = LedgerReason::Kind;

std::string unmeasurable_text(const LedgerReason& reason) {
  switch (reason.kind) {
    case Kind::kNotPublished: return "the published sources do not give the number.";
    case Kind::kNothingToCount: return "the configuration has nothing to count.";
    case Kind::kCountOfZero: return "the count before is 0, so there is no ratio.";
    case Kind::kNotAtScale: return "at scale " + reason.scale + ": " + reason.what;
    case Kind::kNeedsGpu: return "it is a GPU's number, and these runs were on a processor.";
    default: return reason.what;
  }
}

std::string unmeasured_text(const LedgerReason& reason) {
  switch (reason.kind) {
    case Kind::kUnmeasured: return "not measured yet: nanobench claims --measure does it";
    case Kind::kUnmeasuredOnGpu: return "not measured yet: nanobench claims --measure --device cuda does it";
    case Kind::kNotRun: return reason.cell + " has not run yet: nanobench claims --measure continues";
    case Kind::kFailed: return reason.cell + " " + enum_name(reason.outcome) + ": " + reason.what;
    case Kind::kNotAsked: return "its runs were not asked for the metric: nanobench claims --measure does it";
    default: return "no run reports the metric";
  }
}

std::string open_text(const LedgerReason& reason) {
  switch (reason.kind) {
    case Kind::kOtherCode: return different_code(reason.parts);
    case Kind::kNoSharedSeed: return "no seed has runs of both arms";
    case Kind::kTargetMissed:
      return "not all runs reach the mean final loss of the earlier record: " + std::to_string(reason.before) +
             " before and " + std::to_string(reason.after) + " after do not";
    case Kind::kNothingDiverges:
      return "no run of either arm diverges at any factor up to " + format_significant(reason.limit, 3);
    case Kind::kNothingSaved: return "the whole change saves no time here, so no part of it has a share";
    case Kind::kSavingUnproved:
      return "that the whole change saves time is not proven here, so a part's share could be anything";
    case Kind::kOneRun: return "one run gives no interval; more seeds do";
    case Kind::kCrossesLimit: return "the interval crosses a limit of the rule; more seeds make it narrower";
    default: return "the number lies between support and contradiction";
  }
}

}  // namespace

std::string text_of(const LedgerBasis& basis) {
  switch (basis.kind) {
    case LedgerBasis::Kind::kNone: return "";
    case LedgerBasis::Kind::kSeeds: return counted(basis.count, "seed");
    case LedgerBasis::Kind::kRepetitions:
      return counted(basis.count, "repetition") + " in " + counted(basis.runs, "run");
    case LedgerBasis::Kind::kCounted: return "counted";
    case LedgerBasis::Kind::kConfiguration: return "read from the configuration";
    case LedgerBasis::Kind::kPublished: break;
  }
  return "read from published figures";
}

std::string text_of(const LedgerReason& reason) {
  if (reason.kind < Kind::kUnmeasured) return unmeasurable_text(reason);
  return reason.kind < Kind::kOtherCode ? unmeasured_text(reason) : open_text(reason);
}

}  // namespace nanobench::reports

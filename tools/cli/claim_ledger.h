/// The ledger of claims over a store, for the commands that show it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/claims/ledger.h"
#include "reports/document/document.h"
#include "results/store.h"

namespace nanobench::tools {

/// A ledger, and the catalogue that its entries point into.
struct ClaimLedger {
  ablations::Catalogue catalogue;
  std::string scale;
  std::vector<reports::LedgerEntry> entries;
};

/// The claims to judge.
struct ClaimChoice {
  std::vector<std::string> ids;                       ///< empty: all
  std::string analysis;                               ///< "003"; empty: all
  std::optional<std::vector<std::string>> records;    ///< only these records: "record17"
  std::vector<reports::LedgerVerdict> verdicts = {};  ///< empty: all
};

/// In the order of the analyses, ignoring `verdicts`. Throws Error{kNotFound} for a claim or an analysis that
/// does not exist.
std::vector<const ablations::Claim*> chosen_claims(const ablations::Catalogue& catalogue, const ClaimChoice& choice);

/// `store` is nullptr if nothing was ever run. `scale` is the runs' scale; nullopt: the newest runs' scale.
ClaimLedger claim_ledger(const results::Store* store, const std::string& catalogue, const ClaimChoice& choice,
                         const std::optional<std::string>& scale);

/// `price`: of the measurements that are missing (reports::ledger_report).
reports::Document document_of(const ClaimLedger& ledger, const std::string& price = "");

/// Whether a stored plan measures claims; its report is then their ledger.
bool is_of_claims(const results::PlanRecord& plan);

/// The ledger of the claims that such a plan measures, at its scale. It covers all claims if the plan measures all that
/// need runs. `has_provenance` adds disturbed runs, commands, programs and machines.
reports::Document ledger_of_plan(const results::Store& store, const results::PlanRecord& plan,
                                 const std::string& catalogue, bool has_provenance);

/// The records of a plan's cells.
std::vector<std::string> records_of(const results::PlanRecord& plan);

}  // namespace nanobench::tools

/// The ledger of claims over a store, for the commands that show it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/claims/ledger.h"
#include "results/store.h"

namespace nanobench::tools {

/// A ledger, and the catalogue that its entries point into.
struct ClaimLedger {
  ablations::Catalogue catalogue;
  std::string scale;
  std::vector<reports::LedgerEntry> entries;
};

/// Which claims.
struct ClaimChoice {
  std::vector<std::string> ids;                     ///< empty: all
  std::string analysis;                             ///< "003"; empty: all
  std::optional<std::vector<std::string>> records;  ///< of these records alone: "record17"
};

/// In the order of the analyses. Throws Error{kNotFound} for a claim or an analysis that does not exist.
std::vector<const ablations::Claim*> chosen_claims(const ablations::Catalogue& catalogue, const ClaimChoice& choice);

/// `store` may be absent: nothing was ever run. `scale`: of the runs; nullopt: the newest ones'.
ClaimLedger claim_ledger(const results::Store* store, const std::string& catalogue, const ClaimChoice& choice,
                         const std::optional<std::string>& scale);

/// The records of a plan's cells.
std::vector<std::string> records_of(const results::PlanRecord& plan);

}  // namespace nanobench::tools

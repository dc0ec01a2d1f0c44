#include "tools/cli/claim_ledger.h"

#include <algorithm>

#include "core/base/error.h"
#include "tools/cli/options.h"

namespace nanobench::tools {

using ablations::Claim;

std::vector<const Claim*> chosen_claims(const ablations::Catalogue& catalogue, const ClaimChoice& choice) {
  std::vector<const Claim*> claims;
  for (const std::string& id : choice.ids) claims.push_back(&catalogue.claim(id));
  if (claims.empty()) claims = catalogue.claims();
  std::erase_if(claims, [&](const Claim* claim) {
    const std::string record = "record" + std::to_string(claim->record);
    const bool is_of_records =
        !choice.records || std::find(choice.records->begin(), choice.records->end(), record) != choice.records->end();
    return !is_of_records || (!choice.analysis.empty() && claim->seed != choice.analysis);
  });
  if (claims.empty() && !choice.analysis.empty()) {
    throw core::Error(core::ErrorCode::kNotFound,
                      "there is no claim of analysis " + choice.analysis + "; the analyses are 000 to 004");
  }
  std::stable_sort(claims.begin(), claims.end(), [](const Claim* a, const Claim* b) { return a->seed < b->seed; });
  return claims;
}

ClaimLedger claim_ledger(const results::Store* store, const std::string& catalogue, const ClaimChoice& choice,
                         const std::optional<std::string>& scale) {
  ClaimLedger ledger{
      .catalogue = load_catalogue(catalogue, ablations::CatalogueParts::kAll), .scale = {}, .entries = {}};
  const reports::ClaimEvidence evidence =
      store != nullptr ? reports::ClaimEvidence(*store, scale) : reports::ClaimEvidence(scale.value_or("nano"));
  ledger.scale = evidence.scale();
  ledger.entries = reports::make_ledger(ledger.catalogue, chosen_claims(ledger.catalogue, choice), evidence);
  return ledger;
}

std::vector<std::string> records_of(const results::PlanRecord& plan) {
  std::vector<std::string> records;
  for (const results::PlanCell& cell : plan.cells) {
    if (cell.record && std::find(records.begin(), records.end(), *cell.record) == records.end())
      records.push_back(*cell.record);
  }
  return records;
}

}  // namespace nanobench::tools

#include "tools/cli/claim_ledger.h"

#include <algorithm>

#include "core/base/error.h"
#include "reports/claims/ledger.h"
#include "reports/comparison/comparison.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"
#include "suites/design/plan.h"
#include "suites/design/suite.h"
#include "tools/cli/options.h"

namespace nanobench::tools {

using ablations::Claim;

namespace {

/// Whether the plan measures the claim: it has the claim's cells, or a message that explains their absence.
bool is_made_for(const results::PlanRecord& plan, const ablations::Catalogue& catalogue, const Claim& claim) {
  const auto has_cell = [&](const ablations::ClaimCell& cell) {
    return std::any_of(plan.cells.begin(), plan.cells.end(),
                       [&](const results::PlanCell& planned) { return planned.label == cell.label; });
  };
  const auto is_of_claim = [&](const core::Message& message) {
    return message.kind == core::MessageKind::kNotMeasurable && message.subject == claim.id;
  };
  if (std::any_of(plan.messages.begin(), plan.messages.end(), is_of_claim)) return true;
  try {
    const std::vector<ablations::ClaimCell> cells = all_cells(ablations::cells_of(catalogue, claim));
    return !cells.empty() && std::all_of(cells.begin(), cells.end(), has_cell);
  } catch (const core::Error& error) {
    rethrow_internal(error);
    return false;  // this catalogue lacks a feature
  }
}

/// The claims that the plan measures; empty: all of them.
std::vector<std::string> claims_of(const results::PlanRecord& plan, const ablations::Catalogue& catalogue) {
  std::vector<std::string> ids;
  bool is_whole = true;
  for (const Claim* claim : catalogue.claims()) {
    if (!ablations::needs_runs(*claim)) continue;
    if (is_made_for(plan, catalogue, *claim)) {
      ids.push_back(claim->id);
    } else {
      is_whole = false;
    }
  }
  return is_whole ? std::vector<std::string>() : ids;
}

ClaimLedger ledger_in(ablations::Catalogue catalogue, const results::Store* store, const ClaimChoice& choice,
                      const std::optional<std::string>& scale) {
  ClaimLedger ledger{.catalogue = std::move(catalogue), .scale = {}, .entries = {}};
  const reports::ClaimEvidence evidence =
      store != nullptr ? reports::ClaimEvidence(*store, scale) : reports::ClaimEvidence(scale.value_or("nano"));
  ledger.scale = evidence.scale();
  ledger.entries = reports::make_ledger(ledger.catalogue, chosen_claims(ledger.catalogue, choice), evidence);
  std::erase_if(ledger.entries, [&](const reports::LedgerEntry& entry) {
    return !choice.verdicts.empty() &&
           std::find(choice.verdicts.begin(), choice.verdicts.end(), entry.verdict) == choice.verdicts.end();
  });
  return ledger;
}

}  // namespace

std::vector<const Claim*> chosen_claims(const ablations::Catalogue& catalogue, const ClaimChoice& choice) {
  std::vector<const Claim*> claims;
  for (const std::string& id : choice.ids) claims.push_back(&catalogue.claim(id));
  if (claims.empty()) claims = catalogue.claims();
  std::erase_if(claims, [&](const Claim* claim) {
    const std::string record = "record" + std::to_string(claim->record);
    const bool is_of_records =
        !choice.records || std::find(choice.records->begin(), choice.records->end(), record) != choice.records->end();
    return !is_of_records || (!choice.analysis.empty() && claim->analysis != choice.analysis);
  });
  if (claims.empty() && !choice.analysis.empty()) {
    throw core::Error(core::ErrorCode::kNotFound,
                      "there is no claim of analysis " + choice.analysis + "; the analyses are 000 to 004");
  }
  std::stable_sort(claims.begin(), claims.end(),
                   [](const Claim* a, const Claim* b) { return a->analysis < b->analysis; });
  return claims;
}

ClaimLedger claim_ledger(const results::Store* store, const std::string& catalogue, const ClaimChoice& choice,
                         const std::optional<std::string>& scale) {
  return ledger_in(load_catalogue(catalogue, ablations::CatalogueParts::kAll), store, choice, scale);
}

reports::Document document_of(const ClaimLedger& ledger, const std::string& price) {
  return reports::ledger_report(ledger.entries, ledger.scale, price);
}

bool is_of_claims(const results::PlanRecord& plan) {
  return plan.design == results::Design::kClaims;
}

reports::Document ledger_of_plan(const results::Store& store, const results::PlanRecord& plan,
                                 const std::string& catalogue, bool has_provenance) {
  ablations::Catalogue known = load_catalogue(catalogue, ablations::CatalogueParts::kAll);
  const ClaimChoice choice{.ids = claims_of(plan, known), .analysis = {}, .records = std::nullopt};
  reports::Document document = document_of(ledger_in(std::move(known), &store, choice, plan.scale));
  if (!has_provenance) return document;
  const std::vector<reports::CellMeasures> cells = reports::read_cells(store, plan, {});
  if (auto disturbed = reports::disturbance_section(cells)) document.sections.push_back(std::move(*disturbed));
  document.sections.push_back(reports::provenance_section(store, plan, cells));
  return document;
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

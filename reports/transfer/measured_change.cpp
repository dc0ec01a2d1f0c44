#include "reports/transfer/measured_change.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "reports/comparison/comparison.h"
#include "reports/effects/spread_weights.h"

namespace nanobench::reports {
namespace {

using core::Error;
using core::ErrorCode;
using results::Design;

constexpr const char* kRecordSetting = "record";
constexpr const char* kMockEngine = "mock";
constexpr const char* kMockMark = " (mock)";

bool has_single_changes(Design design) {
  switch (design) {
    case Design::kHistory:
    case Design::kLeaveOneOut:
    case Design::kAddOneIn:
    case Design::kFactorial:
    case Design::kFractionalFactorial:
    case Design::kSweep:
    case Design::kPairs: return true;
    case Design::kScreening:
    case Design::kAA:
    case Design::kCells:
    case Design::kClaims: break;
  }
  return false;
}

/// The cells that the contrast compares.
std::vector<const results::PlanCell*> compared_cells(const results::PlanRecord& plan,
                                                     const results::PlanContrast& contrast) {
  std::vector<const results::PlanCell*> cells;
  for (const results::PlanCell& cell : plan.cells) {
    if (contrast.coefficients.contains(cell.label)) cells.push_back(&cell);
  }
  return cells;
}

/// The settings that all cells have, without the one that is changed: "a=x, b=y".
std::vector<std::string> common_settings(const std::vector<const results::PlanCell*>& cells,
                                         const std::string& changed) {
  std::vector<std::string> common;
  if (cells.empty()) return common;
  for (const auto& [feature, value] : cells.front()->features) {
    const auto has_it = [&, &name = feature, &same = value](const results::PlanCell* cell) {
      const auto found = cell->features.find(name);
      return found != cell->features.end() && found->second == same;
    };
    if (feature != changed && std::all_of(cells.begin(), cells.end(), has_it)) common.push_back(feature + "=" + value);
  }
  return common;
}

/// What the cells differ from their record in, besides the change. A main effect is a mean over the other factors and
/// includes its aliases.
std::string base_of(const results::PlanRecord& plan, const results::PlanContrast& contrast,
                    const std::vector<const results::PlanCell*>& cells) {
  const std::string& changed = contrast.factors.front().setting;
  std::vector<std::string> parts = common_settings(cells, changed);
  if (contrast.kind == results::ContrastKind::kMain) {
    std::set<std::string> others;
    for (const results::PlanContrast& other : plan.contrasts) {
      for (const results::ContrastFactor& factor : other.factors) others.insert(factor.setting);
    }
    others.erase(changed);
    if (!others.empty()) parts.push_back("averaged over " + listed({others.begin(), others.end()}));
    if (!contrast.aliases.empty()) parts.push_back("with " + listed(contrast.aliases));
  }
  return joined(parts);
}

/// A plan with the store that it is in.
struct PlacedPlan {
  const results::Store* store = nullptr;
  results::PlanRecord plan;
};

bool is_selected(const results::PlanRecord& plan, bool is_first_store, const ChangeSelection& selection) {
  const auto has = [](const auto& items, const auto& item) {
    return std::find(items.begin(), items.end(), item) != items.end();
  };
  if (!selection.suites.empty() && !has(selection.suites, plan.suite)) return false;
  return selection.plans.empty() || !is_first_store || has(selection.plans, plan.id);
}

void require_suites(const std::vector<const results::Store*>& stores, const ChangeSelection& selection) {
  if (selection.suites.empty()) return;
  std::set<std::string> known;
  for (const results::Store* store : stores) {
    for (const results::PlanRecord& plan : store->plans()) known.insert(plan.suite);
  }
  for (const std::string& suite : selection.suites) {
    if (known.contains(suite)) continue;
    throw Error(ErrorCode::kNotFound, "there are no results of the suite " + suite +
                                          core::suggestion(suite, {known.begin(), known.end()}) +
                                          "; `nanobench list runs` shows what a database holds");
  }
}

/// Newest first.
std::vector<PlacedPlan> selected_plans(const std::vector<const results::Store*>& stores,
                                       const ChangeSelection& selection) {
  require_suites(stores, selection);
  for (const std::int64_t plan : selection.plans) stores.front()->plan(plan);  // throws if there is none
  std::vector<PlacedPlan> plans;
  for (const results::Store* store : stores) {
    for (results::PlanRecord& plan : store->plans()) {
      if (has_single_changes(plan.design) && is_selected(plan, store == stores.front(), selection))
        plans.push_back({store, std::move(plan)});
    }
  }
  std::stable_sort(plans.begin(), plans.end(), [](const PlacedPlan& a, const PlacedPlan& b) {
    return std::tie(a.plan.created_at, a.plan.id) > std::tie(b.plan.created_at, b.plan.id);
  });
  return plans;
}

/// The effects of plans, newest first, each change of a scale once.
class ChangeReader {
 public:
  void read(const PlacedPlan& placed) {
    const results::PlanRecord& plan = placed.plan;
    const std::optional<Conditions> conditions = conditions_of(*placed.store, plan);
    if (!conditions || !conditions->trainer.empty()) return;
    const std::string scale = plan.scale + (conditions->engine.starts_with(kMockEngine) ? kMockMark : "");
    if (!has_news(plan, scale)) return;
    const std::vector<CellMeasures> cells = read_cells(*placed.store, plan, {});
    const EffectRules rules = rules_of(plan, {.weights = spread_weights(*placed.store, plan)});
    for (EffectResult& effect : analyse_effects(plan, cells, rules)) {
      const std::optional<ChangeKey> key = change_of(plan, effect.contrast);
      if (!key || !effect.loss.value || !seen_.emplace(scale, *key).second) continue;
      MeasuredChange change{.key = *key,
                            .scale = scale,
                            .effect = {},
                            .sources = sources_of(plan, effect.contrast),
                            .database = placed.store->file().filename().string(),
                            .plan_id = plan.id,
                            .suite = plan.suite,
                            .data_name = plan.data_name,
                            .hardware = conditions->hardware};
      change.effect = std::move(effect);
      changes.push_back(std::move(change));
    }
  }

  std::vector<MeasuredChange> changes;

 private:
  /// Whether it has a change that no newer plan measured: reading runs takes long.
  bool has_news(const results::PlanRecord& plan, const std::string& scale) const {
    return std::any_of(plan.contrasts.begin(), plan.contrasts.end(), [&](const results::PlanContrast& contrast) {
      const std::optional<ChangeKey> key = change_of(plan, contrast);
      return key && !seen_.contains({scale, *key});
    });
  }

  static std::map<std::string, double> sources_of(const results::PlanRecord& plan,
                                                  const results::PlanContrast& contrast) {
    std::map<std::string, double> sources;
    for (const results::PlanCell* cell : compared_cells(plan, contrast))
      sources[cell->config_digest] += contrast.coefficients.at(cell->label);
    return sources;
  }

  std::set<std::pair<std::string, ChangeKey>> seen_;
};

}  // namespace

std::string ChangeKey::base_text() const {
  return base_record + (base_record.empty() || base.empty() ? "" : ", ") + base;
}

std::optional<ChangeKey> change_of(const results::PlanRecord& plan, const results::PlanContrast& contrast) {
  const bool is_single =
      contrast.kind == results::ContrastKind::kSimple || contrast.kind == results::ContrastKind::kMain;
  if (!is_single || contrast.factors.size() != 1) return std::nullopt;
  const results::ContrastFactor& factor = contrast.factors.front();
  if (factor.from.empty() || factor.to.empty()) return std::nullopt;
  ChangeKey key{.setting = factor.setting, .from = factor.from, .to = factor.to, .base_record = "", .base = ""};
  if (plan.design == Design::kHistory) {
    key.setting = kRecordSetting;
    return key;
  }
  const std::vector<const results::PlanCell*> cells = compared_cells(plan, contrast);
  for (const results::PlanCell* cell : cells) {
    if (cell->record != cells.front()->record) return std::nullopt;
  }
  if (!cells.empty()) key.base_record = cells.front()->record.value_or("");
  key.base = base_of(plan, contrast, cells);
  return key;
}

std::vector<MeasuredChange> read_measured_changes(const std::vector<const results::Store*>& stores,
                                                  const ChangeSelection& selection) {
  NB_CHECK(!stores.empty(), "there is no store to read");
  ChangeReader reader;
  for (const PlacedPlan& plan : selected_plans(stores, selection)) reader.read(plan);
  return std::move(reader.changes);
}

std::vector<std::string> scales_of(const std::vector<MeasuredChange>& changes, const ablations::Catalogue& catalogue) {
  std::set<std::string> unplaced;
  for (const MeasuredChange& change : changes) unplaced.insert(change.scale);
  std::vector<std::string> ordered;
  for (const ablations::Scale* scale : catalogue.scales()) {
    for (const std::string& label : {scale->id, scale->id + kMockMark}) {
      if (unplaced.erase(label) > 0) ordered.push_back(label);
    }
  }
  ordered.insert(ordered.end(), unplaced.begin(), unplaced.end());
  return ordered;
}

}  // namespace nanobench::reports

// The designs whose cells combine levels: factorial, fractional_factorial, sweep and pairs.
#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/text.h"
#include "suites/design/grid_table.h"
#include "suites/design/matrix_builder.h"
#include "suites/design/wording.h"

namespace nanobench::suites {
namespace {

using ablations::DesignCell;
using ablations::DesignTable;
using ablations::FeatureSettings;
using ablations::Resolved;
using core::Error;
using core::ErrorCode;
using core::Json;

/// One factor of the design, and its levels.
struct GridFactor : GridAxis {
  std::string feature;             ///< feature id; empty: `path` is set
  std::string path;                ///< JSON pointer of one setting
  std::vector<core::Json> values;  ///< value of each level; for a feature: names
  std::string place;               ///< pointer into the suite, for messages
};

/// A cell's settings on top of the base.
struct CellSettings {
  ablations::FeatureSettings features;
  core::Json patch = core::Json::object();
};

/// The factors of the designs that combine levels: features of the suite or axes of a sweep, each level tried alone on
/// the base.
class GridFactors {
 public:
  /// Throws Error for a level that does not exist or can never take effect; the builder then points to it. A level that
  /// only the base excludes is kept, because another factor may change the base.
  explicit GridFactors(MatrixBuilder& builder);

  const std::vector<GridFactor>& factors() const { return factors_; }
  const ablations::Resolved& base() const { return base_; }

  /// Does not set what the base already has.
  void set_level(CellSettings& settings, const GridFactor& factor, std::size_t level) const;
  ablations::Resolved resolve(const CellSettings& cell) const;
  /// The first factor whose value differs from its level, because another level pulled in that value or made the factor
  /// inapplicable. nullopt if every factor is at its level.
  std::optional<Displacement> displaced(const ablations::DesignCell& cell, const ablations::Resolved& resolved) const;

 private:
  void add_axes();
  void shorten_paths();
  void add_features();
  std::vector<std::string> levels_of(const FeatureChoice& choice, const ablations::Feature& feature);
  void keep_if_possible(GridFactor factor);
  void try_alone(const CellSettings& settings) const;
  void keep_compatible();
  std::string clash(const ablations::DesignCell& cell) const;

  MatrixBuilder& builder_;
  const Suite& suite_;
  const ablations::Resolved base_;
  std::vector<GridFactor> factors_;
};

/// {"a": {"b": value}} for /a/b.
Json patch_of(const std::string& path, const Json& value) {
  Json patch = value;
  std::size_t end = path.size();
  while (end > 0) {
    const std::size_t slash = path.rfind('/', end - 1);
    patch = Json{{path.substr(slash + 1, end - slash - 1), std::move(patch)}};
    end = slash;
  }
  return patch;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string pair_word(const GridAxis& axis, const ablations::Feature& feature) {
  const std::string& value = axis.factor.levels[1];
  if (value == feature.before) return "without " + axis.factor.name;
  return value == feature.after ? "with " + axis.factor.name : assignment(axis, 1);
}

void take_own_names(std::vector<Json>& values, const ablations::Feature& feature) {
  for (Json& value : values) {
    if (value.is_string()) value = feature.own_name(value.get<std::string>());
  }
}

GridFactors::GridFactors(MatrixBuilder& builder)
    : builder_(builder), suite_(builder.suite()), base_(builder.resolve_base()) {
  suite_.design == Design::kSweep ? add_axes() : add_features();
}

void GridFactors::add_axes() {
  for (std::size_t i = 0; i < suite_.axes.size(); ++i) {
    const Axis& axis = suite_.axes[i];
    GridFactor factor;
    factor.feature = axis.feature;
    factor.path = axis.path;
    factor.values = axis.values;
    builder_.at("/axes/" + std::to_string(i));
    if (!axis.feature.empty()) take_own_names(factor.values, builder_.catalogue().feature(axis.feature));
    factor.factor.name = factor.factor.setting = axis.feature.empty() ? axis.path : axis.feature;
    for (const Json& value : factor.values) factor.factor.levels.push_back(text_of(value));
    keep_if_possible(std::move(factor));
  }
  shorten_paths();
}

/// Shortens a path to its last word if no other axis has the same one.
void GridFactors::shorten_paths() {
  std::map<std::string, int> uses;
  const auto last_word = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  for (const GridFactor& factor : factors_) ++uses[last_word(factor.factor.name)];
  for (GridFactor& factor : factors_) {
    const std::string word = last_word(factor.factor.name);
    if (uses[word] == 1) factor.factor.name = word;
  }
}

void GridFactors::add_features() {
  for (const FeatureChoice& choice : builder_.choices(base_.effective)) {
    builder_.at(builder_.place_of(choice));
    GridFactor factor;
    factor.feature = choice.id;
    const ablations::Feature& feature = builder_.catalogue().feature(choice.id);
    if (!feature.is_applicable()) feature.value("");  // throws with the reason
    factor.factor.name = factor.factor.setting = choice.id;
    factor.factor.levels = levels_of(choice, feature);
    if (factor.factor.levels.empty()) continue;
    for (const std::string& level : factor.factor.levels) factor.values.emplace_back(level);
    factor.factor.is_reversed = suite_.design == Design::kPairs && factor.factor.levels[1] == feature.before;
    factor.pair_word = pair_word(factor, feature);
    factor.is_toggle = choice.values.empty();
    keep_if_possible(std::move(factor));
  }
  if (!builder_.is_listed() && suite_.design != Design::kPairs) keep_compatible();
}

/// Empty, with a message, when the feature has nothing to change in the base.
std::vector<std::string> GridFactors::levels_of(const FeatureChoice& choice, const ablations::Feature& feature) {
  if (!choice.values.empty()) return choice.values;
  if (suite_.design != Design::kPairs && !choice.value) return {feature.before, feature.after};
  const auto found = base_.effective.find(choice.id);
  if (found == base_.effective.end()) {
    builder_.note(left_out(choice.id, "the base has none of its values"));
    return {};
  }
  const std::string& now = found->second;
  const std::string value = choice.value.value_or(now == feature.after ? feature.before : feature.after);
  if (now != value) return {now, value};
  builder_.note(left_out(choice.id, already_in_base("it", value, builder_.holder_of(base_, choice.id))));
  return {};
}

/// Tries each level alone on the base: finds levels that can never take effect, or are not values, before combining
/// them.
void GridFactors::keep_if_possible(GridFactor factor) {
  const bool is_asked_for = builder_.is_listed() || suite_.design == Design::kSweep;
  try {
    for (std::size_t level = 0; level < factor.values.size(); ++level) {
      CellSettings settings;
      set_level(settings, factor, level);
      try_alone(settings);
    }
  } catch (const Error& error) {
    rethrow_internal(error);
    if (is_asked_for) throw;
    builder_.note(left_out(factor.factor.name, error.what()));
    return;
  }
  factors_.push_back(std::move(factor));
}

/// Another factor may change what excludes a value in the base, so a conflict alone is no reason to refuse it, unless
/// the suite does not name the feature.
void GridFactors::try_alone(const CellSettings& settings) const {
  try {
    resolve(settings);
  } catch (const Error& error) {
    const bool may_come_right = builder_.is_listed() && error.code() == ErrorCode::kConflict;
    if (!may_come_right) throw;
  }
}

void GridFactors::set_level(CellSettings& settings, const GridFactor& factor, std::size_t level) const {
  if (factor.feature.empty()) {
    settings.patch.merge_patch(patch_of(factor.path, factor.values[level]));
    return;
  }
  const std::string value = factor.values[level].get<std::string>();
  builder_.catalogue().feature(factor.feature).value(value);  // throws for an unknown value
  const auto now = base_.effective.find(factor.feature);
  if (now == base_.effective.end() || now->second != value) settings.features[factor.feature] = value;
}

Resolved GridFactors::resolve(const CellSettings& cell) const {
  FeatureSettings settings = suite_.base_features;
  for (const auto& [id, value] : cell.features) settings[id] = value;
  return builder_.resolve(suite_.base_record, settings, cell.patch);
}

std::optional<Displacement> GridFactors::displaced(const ablations::DesignCell& cell, const Resolved& resolved) const {
  for (std::size_t i = 0; i < factors_.size(); ++i) {
    const std::string& id = factors_[i].feature;
    if (id.empty()) continue;
    const auto now = resolved.effective.find(id);
    const std::string wanted = factors_[i].values[cell[i]].get<std::string>();
    Displacement found{.feature = id, .wanted = wanted, .now = std::nullopt, .pulled_in = std::nullopt};
    if (now == resolved.effective.end()) return found;
    if (now->second == wanted) continue;
    found.now = now->second;
    const auto pulled_in = std::find_if(resolved.pulled_in.begin(), resolved.pulled_in.end(),
                                        [&](const auto& item) { return item.setting.feature == id; });
    if (pulled_in != resolved.pulled_in.end()) found.pulled_in = *pulled_in;
    return found;
  }
  return std::nullopt;
}

/// The suite names no features, so this keeps as many as can be combined: newest first, because reverting the oldest
/// makes many others inapplicable.
void GridFactors::keep_compatible() {
  std::vector<GridFactor> all;
  all.swap(factors_);
  for (auto factor = all.rbegin(); factor != all.rend(); ++factor) {
    factors_.insert(factors_.begin(), *factor);
    ablations::DesignCell alone(factors_.size(), 1);
    alone[0] = 0;
    ablations::DesignCell only(factors_.size(), 0);
    only[0] = 1;
    std::string reason;
    for (const ablations::DesignCell& cell : {alone, ablations::DesignCell(factors_.size(), 0), only}) {
      if (reason.empty()) reason = clash(cell);
    }
    if (reason.empty()) continue;
    builder_.note(left_out(factor->factor.name, "it cannot be combined with the others: " + reason));
    factors_.erase(factors_.begin());
  }
}

/// Why there is no such cell; empty if there is one.
std::string GridFactors::clash(const ablations::DesignCell& cell) const {
  CellSettings settings;
  for (std::size_t i = 0; i < factors_.size(); ++i) set_level(settings, factors_[i], cell[i]);
  try {
    const std::optional<Displacement> found = displaced(cell, resolve(settings));
    return found ? reason_of(*found) : "";
  } catch (const Error& error) {
    rethrow_internal(error);
    return error.what();
  }
}

class Grid {
 public:
  explicit Grid(MatrixBuilder& builder)
      : builder_(builder),
        suite_(builder.suite()),
        grid_(builder),
        factors_(grid_.factors()),
        axes_(factors_.begin(), factors_.end()) {}

  void add() {
    builder_.at(suite_.design == Design::kSweep ? "/axes" : "/features");
    require_factors(suite_, factors_.size());
    DesignTable table = make_table();
    add_cells(table);
    if (suite_.design == Design::kSweep) merge_twins(table);
    builder_.add_contrasts(table);
    for (const core::Message& note : grid_notes(suite_, axes_, table)) builder_.note(note);
  }

 private:
  DesignTable make_table() const {
    if (suite_.runs) builder_.at("/runs");
    if (suite_.resolution) builder_.at("/resolution");
    return grid_table(suite_, axes_);
  }

  /// Resolves every cell. Impossible combinations are dropped, and the table is rebuilt without them.
  void add_cells(DesignTable& table) {
    std::vector<bool> is_lost;
    for (const DesignCell& cell : table.cells) is_lost.push_back(!add_cell(cell));
    for (const core::Message& message : leave_out(table, is_lost, lost_)) builder_.note(message);
  }

  /// Values of a setting may come to one configuration at a scale: such cells are one run. An effect between them is
  /// none, and two effects between the same runs are one.
  void merge_twins(DesignTable& table) {
    std::map<std::string, std::size_t> first;
    std::vector<std::size_t> place;
    for (const Cell& cell : builder_.matrix().cells)
      place.push_back(first.emplace(cell.config.digest(), place.size()).first->second);
    std::vector<ablations::Contrast> kept;
    for (ablations::Contrast& contrast : table.contrasts) {
      std::vector<double> merged(contrast.coefficients.size());
      for (std::size_t i = 0; i < merged.size(); ++i) merged[place[i]] += contrast.coefficients[i];
      const auto same = std::find_if(kept.begin(), kept.end(),
                                     [&](const ablations::Contrast& other) { return other.coefficients == merged; });
      if (std::all_of(merged.begin(), merged.end(), [](double x) { return x == 0.0; })) {
        builder_.note(no_effect_of_one_run(contrast.effect));
      } else if (same != kept.end()) {
        builder_.note(same_effect(contrast.effect, same->effect));
      } else {
        contrast.coefficients = std::move(merged);
        kept.push_back(std::move(contrast));
      }
    }
    table.contrasts = std::move(kept);
  }

  /// Returns false and keeps the reason if the combination is not possible.
  bool add_cell(const DesignCell& cell) {
    CellSettings settings;
    for (std::size_t i = 0; i < factors_.size(); ++i) grid_.set_level(settings, factors_[i], cell[i]);
    const std::string label = grid_label(suite_, axes_, cell, suite_.base_record);
    std::string reason;
    try {
      const Resolved resolved = grid_.resolve(settings);
      const std::optional<Displacement> displaced = grid_.displaced(cell, resolved);
      if (!displaced) {
        builder_.note_twin(label, resolved);
        builder_.add_cell(label, suite_.base_record, resolved, {changed_in(cell)});
        return true;
      }
      reason = reason_of(*displaced);
    } catch (const Error& error) {
      const bool is_combination = error.code() == ErrorCode::kConflict || error.code() == ErrorCode::kUnavailable ||
                                  error.code() == ErrorCode::kInvalidArgument;
      if (!is_combination) throw;
      reason = error.what();
    }
    lost_[reason].push_back(label);
    return false;
  }

  /// Changes from the base.
  std::string changed_in(const DesignCell& cell) const {
    std::vector<std::string> changed;
    for (std::size_t i = 0; i < cell.size(); ++i) {
      const auto now = grid_.base().effective.find(factors_[i].feature);
      if (now != grid_.base().effective.end() && now->second == factors_[i].factor.levels[cell[i]]) continue;
      changed.push_back(assignment(axes_[i], cell[i]));
    }
    return changed.empty() ? "the base" : joined(changed);
  }

  MatrixBuilder& builder_;
  const Suite& suite_;
  const GridFactors grid_;
  const std::vector<GridFactor>& factors_;
  const std::vector<GridAxis> axes_;  ///< the same
  LostCells lost_;
};

}  // namespace

void add_grid(MatrixBuilder& builder) {
  Grid(builder).add();
}

}  // namespace nanobench::suites

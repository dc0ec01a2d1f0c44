// The cells of an external suite: the same designs as for our engine, over the features of the trainer's command.
#include <algorithm>

#include "ablations/screening.h"
#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"
#include "suites/design/data_source.h"
#include "suites/design/external_suite.h"
#include "suites/design/grid_table.h"
#include "suites/design/matrix_builder.h"
#include "suites/design/wording.h"
#include "suites/source/source_trees.h"

namespace nanobench::suites {
namespace {

using ablations::DesignTable;
using core::Error;
using core::ErrorCode;
using core::Json;

using Values = std::map<std::string, std::string>;  ///< by feature id
constexpr const char* kBase = "base";

class ExternalMatrix {
 public:
  explicit ExternalMatrix(const Suite& suite) : suite_(suite), trainer_(*suite.external) {}

  Matrix build() {
    where_ = trainer_.source ? "/engine/source" : "/engine/sources";
    try {
      if (trainer_.source) {
        trees_.emplace(*trainer_.source, default_cache_dir());
      } else {
        sources_ = digests_of_sources(trainer_.sources, trainer_.folder);
      }
      base_ = base_values();
      add_cells();
    } catch (const Error& error) {
      throw_again(error, core::json_location(suite_.source, where_) + ": " + error.what());
    }
    note_twins();
    note_unknown_sources();
    note_silent_python();
    note_unused_seeds();
    return std::move(matrix_);
  }

 private:
  void add_cells() {
    switch (suite_.design) {
      case Design::kCells:
      case Design::kHistory: return add_listed();
      case Design::kLeaveOneOut:
      case Design::kAddOneIn: return add_one_at_a_time();
      case Design::kAA: return add_arms();
      case Design::kFactorial:
      case Design::kFractionalFactorial:
      case Design::kSweep:
      case Design::kPairs: return add_grid();
      case Design::kScreening: return add_screening();
      case Design::kClaims: break;  // only for our engine
    }
  }

  /// Throws if there is no such feature or value.
  const ExternalFeature& feature(const std::string& id) const {
    if (const ExternalFeature* found = trainer_.find(id)) return *found;
    throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kUnknownName,
                        "the engine has no feature " + id + core::suggestion(id, trainer_.ids()), id);
  }
  void require_value(const std::string& id, const std::string& value) const {
    if (feature(id).text_of(value) != nullptr) return;
    throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kUnknownValue,
                        "\"" + value + "\" is none of the values of " + id, value);
  }

  /// A ladder starts with every feature at `before`, every other design with every feature at `after`.
  Values base_values() {
    Values values;
    for (const ExternalFeature& item : trainer_.features)
      values[item.id] = suite_.design == Design::kHistory ? item.before : item.after;
    for (const auto& [id, value] : suite_.base_features) {
      where_ = "/base/features/" + id;
      require_value(id, value);
      values[id] = value;
    }
    return values;
  }

  void note(const core::Message& message) { matrix_.messages.push_back(message); }

  /// The suite's features, or all if it names none.
  std::vector<FeatureChoice> choices() const {
    if (!suite_.features.empty()) return suite_.features;
    std::vector<FeatureChoice> all;
    for (const ExternalFeature& item : trainer_.features) all.push_back({.id = item.id, .value = {}, .values = {}});
    return all;
  }

  /// Adds each on top of the base, or in a ladder on top of the previous one.
  void add_listed() {
    const bool is_ladder = suite_.design == Design::kHistory;
    Values values = base_;
    ablations::Factor cells{"cell", {}};
    for (const ExternalCell& cell : trainer_.cells) {
      if (!is_ladder) values = base_;
      std::vector<std::string> changes;
      for (const auto& [id, value] : cell.values) {
        values[id] = value;
        changes.push_back(id + " = " + value);
      }
      if (changes.empty()) changes.push_back("as the command is");
      cells.levels.push_back(cell.label);
      add(cell.label, values, changes);
    }
    DesignTable table = is_ladder ? ablations::ladder(cells) : ablations::one_at_a_time({cells});
    for (ablations::Contrast& contrast : table.contrasts) {
      if (is_ladder) continue;
      contrast.effect = cells.levels[contrast.term.parts[0].level];
      contrast.meaning = contrast.effect + " against " + cells.levels[0];
    }
    add_contrasts(matrix_, table);
  }

  void add_arms() {
    ablations::Factor arms{"arm", {}};
    for (std::int64_t arm = 1; arm <= suite_.arms; ++arm) {
      arms.levels.emplace_back(1, static_cast<char>('A' + arm - 1));
      add(kBase + (" " + arms.levels.back()), base_, {arm == 1 ? "the base" : "nothing: the same command again"});
      matrix_.cells.back().arm = arm;
    }
    add_contrasts(matrix_, ablations::replicas(arms));
  }

  void add_one_at_a_time() {
    const bool is_added = suite_.design == Design::kAddOneIn;
    const std::vector<FeatureChoice> chosen = choices();
    for (std::size_t i = 0; is_added && i < chosen.size(); ++i) {
      where_ = place_of(i);
      base_[chosen[i].id] = feature(chosen[i].id).before;
    }
    add(kBase, base_, {"the base"});
    std::vector<ablations::Factor> factors;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      where_ = place_of(i);
      add_variant(chosen[i], is_added, factors);
    }
    where_ = "/features";
    require_factors(suite_, factors.size());
    add_contrasts(matrix_, ablations::one_at_a_time(factors));
  }

  /// Adds the base with one feature at another value, and its factor; nothing if the base already has that value.
  void add_variant(const FeatureChoice& choice, bool is_added, std::vector<ablations::Factor>& factors) {
    const ExternalFeature& item = feature(choice.id);
    const std::string usual = is_added ? item.after : item.before;
    const std::string value = choice.value.value_or(usual);
    require_value(item.id, value);
    const std::string now = base_.at(item.id);
    const bool is_usual = value == usual;
    const std::string label = is_usual ? (is_added ? "with " : "without ") + item.id : item.id + " = " + value;
    if (now == value) return note(left_out(label, already_in_base(item.id, value, std::nullopt)));
    Values values = base_;
    values[item.id] = value;
    add(label, values, {item.title + ": " + now + " -> " + value});
    // The names are those of the catalogue's matrix.
    const bool is_turned_on = is_added || (now == item.before && value == item.after);
    const std::string effect = is_usual ? item.id : item.id + (is_turned_on ? "=" : " over ") + value;
    factors.push_back({effect, {now, value}, !is_turned_on, item.id});
  }

  void add_grid() {
    const std::vector<GridAxis> axes = suite_.design == Design::kSweep ? axes_of_sweep() : axes_of_features();
    where_ = suite_.design == Design::kSweep ? "/axes" : "/features";
    require_factors(suite_, axes.size());
    if (suite_.runs) where_ = "/runs";
    if (suite_.resolution) where_ = "/resolution";
    DesignTable table = grid_table(suite_, axes);
    std::vector<bool> is_lost;
    LostCells lost;
    for (const ablations::DesignCell& cell : table.cells) {
      const std::string label = grid_label(suite_, axes, cell, kBase);
      const std::string reason = clash(axes, cell);
      is_lost.push_back(!reason.empty());
      if (reason.empty()) {
        add_combination(label, axes, cell);
      } else {
        lost[reason].push_back(label);
      }
    }
    for (const core::Message& message : leave_out(table, is_lost, lost)) note(message);
    add_contrasts(matrix_, table);
    for (const core::Message& message : grid_notes(suite_, axes, table)) note(message);
  }

  /// Why the changes of a combination do not fit together; empty if they do.
  std::string clash(const std::vector<GridAxis>& axes, const ablations::DesignCell& cell) {
    if (!trees_) return "";
    Values values = base_;
    for (std::size_t i = 0; i < cell.size(); ++i) values[axes[i].factor.name] = axes[i].factor.levels[cell[i]];
    try {
      trees_->with(changes_of(values));
      return "";
    } catch (const SourceConflict& error) {
      return error.what();
    }
  }

  void add_screening() {
    const std::vector<GridAxis> axes = axes_of_features();
    where_ = "/features";
    require_factors(suite_, axes.size());
    const auto turn = [&](ablations::DesignCell cell, std::size_t factor) {
      cell[factor] = 1;
      return clash(axes, cell).empty() ? std::optional(std::move(cell)) : std::nullopt;
    };
    const std::vector<ablations::DesignCell> cells =
        ablations::screening_cells(axes.size(), screening_cells_of(suite_, axes.size()), turn);
    for (std::size_t i = 0; i < cells.size(); ++i) add_combination(i == 0 ? kBase : screening_label(i), axes, cells[i]);
  }

  void add_combination(const std::string& label, const std::vector<GridAxis>& axes, const ablations::DesignCell& cell) {
    Values values = base_;
    std::vector<std::string> changed;
    for (std::size_t i = 0; i < cell.size(); ++i) {
      std::string& value = values[axes[i].factor.name];
      if (value == axes[i].factor.levels[cell[i]]) continue;
      value = axes[i].factor.levels[cell[i]];
      changed.push_back(assignment(axes[i], cell[i]));
    }
    add(label, values, {changed.empty() ? "the base" : joined(changed)});
  }

  std::vector<GridAxis> axes_of_sweep() {
    std::vector<GridAxis> axes;
    for (std::size_t i = 0; i < suite_.axes.size(); ++i) {
      where_ = "/axes/" + std::to_string(i);
      GridAxis axis{.factor = {suite_.axes[i].feature, {}}, .is_toggle = false, .pair_word = ""};
      for (const Json& value : suite_.axes[i].values) axis.factor.levels.push_back(value.get<std::string>());
      for (const std::string& level : axis.factor.levels) require_value(axis.factor.name, level);
      axes.push_back(std::move(axis));
    }
    return axes;
  }

  std::vector<GridAxis> axes_of_features() {
    std::vector<GridAxis> axes;
    const std::vector<FeatureChoice> chosen = choices();
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      where_ = place_of(i);
      const ExternalFeature& item = feature(chosen[i].id);
      GridAxis axis{.factor = {item.id, levels_of(chosen[i], item)}, .is_toggle = false, .pair_word = ""};
      if (axis.factor.levels.empty()) continue;
      for (const std::string& level : axis.factor.levels) require_value(item.id, level);
      const std::string& other = axis.factor.levels[1];
      axis.is_toggle = chosen[i].values.empty();
      axis.factor.is_reversed = suite_.design == Design::kPairs && other == item.before;
      axis.pair_word = other == item.before  ? "without " + item.id
                       : other == item.after ? "with " + item.id
                                             : assignment(axis, 1);
      axes.push_back(std::move(axis));
    }
    return axes;
  }

  /// Empty, with a message, if the feature has nothing to change in the base.
  std::vector<std::string> levels_of(const FeatureChoice& choice, const ExternalFeature& item) {
    if (!choice.values.empty()) return choice.values;
    const bool is_around_base = suite_.design == Design::kPairs || suite_.design == Design::kScreening;
    if (!is_around_base && !choice.value) return {item.before, item.after};
    const std::string& now = base_.at(item.id);
    const std::string value = choice.value.value_or(now == item.after ? item.before : item.after);
    if (now != value) return {now, value};
    note(left_out(item.id, already_in_base("it", value, std::nullopt)));
    return {};
  }

  std::string place_of(std::size_t choice) const {
    return suite_.features.empty() ? "/features" : "/features/" + std::to_string(choice);
  }

  void add(const std::string& label, const Values& values, const std::vector<std::string>& changes) {
    for (const Cell& cell : matrix_.cells) {
      if (cell.label == label)
        throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kRepeated,
                            label + " appears twice; keep one of them", label);
    }
    const auto value_of = [&](const std::string& name) -> std::string {
      if (name == "seed") return "{seed}";
      if (name == "cell") return with_braces_kept(label);
      const std::string id = name.substr(std::string("feature:").size());
      return with_braces_kept(*trainer_.find(id)->text_of(values.at(id)));
    };
    const auto fill = [&](const std::string& text) { return filled(text, value_of, false); };
    std::vector<std::string> command;
    for (const std::string& word : trainer_.command) command.push_back(fill(word));
    Json env = Json::object();
    for (const auto& [name, text] : trainer_.env) env[name] = fill(text);
    const std::string tree = tree_of(label, values);
    Json files = sources_;
    files.update(digests_of_words(command, trainer_.source ? "/nowhere" : trainer_.folder));
    Cell& cell = matrix_.cells.emplace_back();
    cell.label = label;
    cell.features = values;
    cell.changes = changes;
    if (trainer_.steps) {
      cell.config.run.stop_after = *trainer_.steps;
      cell.config.schedule.num_steps = std::max(cell.config.schedule.num_steps, *trainer_.steps);
    }
    cell.external = {{"command", command},
                     {"env", env},
                     {"folder", trainer_.folder.string()},
                     {"files", files},
                     {"suite_file", suite_.source}};
    if (trainer_.inherit) cell.external["inherit"] = *trainer_.inherit;
    if (!trainer_.log_file.empty()) cell.external["log_file"] = fill(trainer_.log_file);
    if (trainer_.warmup > 0) cell.external["warmup"] = trainer_.warmup;
    if (!trainer_.revision.empty()) cell.external["revision"] = trainer_.revision;
    if (!trainer_.tree.empty()) cell.external["tree"] = trainer_.tree;
    if (!trainer_.sources.empty()) cell.external["has_named_sources"] = true;
    if (trees_) add_tree(cell, values, tree);
  }

  /// The source's changes in a cell, in the order of the suite's features.
  std::vector<NamedChange> changes_of(const Values& values) const {
    std::vector<NamedChange> changes;
    for (const ExternalFeature& item : trainer_.features) {
      if (item.changes.empty()) continue;
      const std::string& value = values.at(item.id);
      const SourceChange& change = item.changes.at(value);
      if (!change.is_none()) changes.push_back({item.id + " = " + value, &change});
    }
    return changes;
  }

  /// Empty without a source. Throws if the changes do not fit together, or what they make does not compile.
  std::string tree_of(const std::string& label, const Values& values) {
    if (!trees_) return "";
    const std::string tree = trees_->with(changes_of(values));
    const bool is_python = std::filesystem::path(trainer_.command.front()).filename().string().starts_with("python");
    trees_->check(tree, label, is_python ? trainer_.command.front() : "python3");
    return tree;
  }

  void add_tree(Cell& cell, const Values& values, const std::string& tree) const {
    Json settings = trees_->settings_of(tree);
    const std::filesystem::path inside = trainer_.folder.lexically_relative(trainer_.source->folder);
    cell.external["folder"] =
        (std::filesystem::path(settings.at("folder").get<std::string>()) / inside).lexically_normal().string();
    cell.external["source"] = std::move(settings);
    cell.external["tree"] = tree;
    for (const ExternalFeature& item : trainer_.features) {
      if (!item.changes.empty() && !item.changes.at(values.at(item.id)).is_none())
        cell.external["changes"][item.id] = values.at(item.id);
    }
  }

  void note_unknown_sources() {
    const auto is_known = [](const Cell& cell) { return has_known_sources(cell.external); };
    if (std::all_of(matrix_.cells.begin(), matrix_.cells.end(), is_known)) return;
    note(
        {core::MessageKind::kNote, "",
         "no file of the trainer is known, so a change of it would not be noticed: its runs are never reused; name its "
         "files with \"sources\""});
  }

  void note_silent_python() {
    for (const Cell& cell : matrix_.cells) {
      const std::string option = silencing_option(cell.external.at("command").get<std::vector<std::string>>());
      if (option.empty()) continue;
      return note({core::MessageKind::kNote, "",
                   "Python is started with " + option +
                       ", so it does not tell which files it loads from outside the trainer's folder: a change of one "
                       "would not be noticed; without " +
                       option + " it would"});
    }
  }

  /// Copies of one run must not look like several.
  void note_unused_seeds() {
    if (suite_.seeds.size() < 2) return;
    const auto has_seed = [](const Cell& cell) {
      const Json one = external_settings(cell.external, 0), other = external_settings(cell.external, 1);
      return one.at("command") != other.at("command") || one.at("env") != other.at("env");
    };
    if (std::any_of(matrix_.cells.begin(), matrix_.cells.end(), has_seed)) return;
    note({core::MessageKind::kNote, "",
          "neither the command nor its environment has {seed}, so the runs of a cell differ only by what the trainer "
          "draws itself; one that draws the same numbers each time makes copies of one run, which prove nothing"});
  }

  /// Cells with the same command and source are one run; their rows must not look like two measurements.
  void note_twins() {
    Values first;  // label by command
    for (const Cell& cell : matrix_.cells) {
      if (cell.arm > 0) continue;
      Json what = external_configuration(cell.external);
      what["changes"] = cell.external.value("tree", "");
      const auto [found, is_new] = first.emplace(what.dump(-1, ' ', false, Json::error_handler_t::replace), cell.label);
      if (!is_new) note(same_run(cell.label, found->second, trainer_.source ? "command and source" : "command", ""));
    }
  }

  const Suite& suite_;
  const ExternalTrainer& trainer_;
  std::string where_;                 ///< pointer into the suite, for messages
  Json sources_ = Json::object();     ///< digests of the trainer's sources, the same for all cells
  std::optional<SourceTrees> trees_;  ///< of a trainer with a source
  Values base_;
  Matrix matrix_;
};

}  // namespace

Matrix make_external_matrix(const Suite& suite) {
  return ExternalMatrix(suite).build();
}

}  // namespace nanobench::suites

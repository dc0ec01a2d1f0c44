// Suite -> Matrix: which cells, and what each of them is.
#include <algorithm>

#include "ablations/catalogue.h"
#include "ablations/resolve.h"
#include "core/base/error.h"
#include "suites/plan.h"

namespace nanobench::suites {
namespace {

using ablations::Catalogue;
using ablations::Feature;
using ablations::FeatureSettings;
using core::Error;
using core::ErrorCode;

/// Builds one matrix; keeps what was said already.
class MatrixBuilder {
 public:
  MatrixBuilder(const Suite& suite, const Catalogue& catalogue) : suite_(suite), catalogue_(catalogue) {}

  /// Throws Error with the suite's file and the pointer to what was being resolved.
  Matrix build() {
    try {
      add_cells();
    } catch (const Error& error) {
      throw Error(error.code(), core::json_location(suite_.source, where_) + ": " + error.what());
    }
    return std::move(matrix_);
  }

 private:
  void add_cells() {
    catalogue_.scale(suite_.scale);
    if (suite_.design == Design::kHistory)
      add_history();
    else if (suite_.design == Design::kLeaveOneOut)
      add_leave_one_out();
    else
      add_add_one_in();
  }

  void add_history() {
    for (std::size_t i = 0; i < suite_.records.size(); ++i) {
      const std::string& id = suite_.records[i];
      where_ = "/records/" + std::to_string(i);
      const ablations::Resolved resolved = resolve(id, {});
      note_twin(id, resolved);
      add_cell(id, id, resolved, i == 0 ? "the starting point" : changes_between(suite_.records[i - 1], id));
    }
  }

  /// Records that differ in nothing that acts here are one run; their rows must not look like two measurements.
  void note_twin(const std::string& id, const ablations::Resolved& resolved) {
    for (const Cell& cell : matrix_.cells) {
      if (cell.config.digest() != resolved.config.digest()) continue;
      note(id + ": the same configuration as " + cell.label + " at scale " + suite_.scale +
           ", so it is run once and stands in both rows");
      return;
    }
  }

  void add_leave_one_out() {
    where_ = "/base";
    const ablations::Resolved base = resolve(suite_.base_record, suite_.base_features);
    add_cell(base_label(), suite_.base_record, base, "the base");
    for (const FeatureChoice& choice : choices(base.effective)) add_variant(base, choice, suite_.base_features);
  }

  void add_add_one_in() {
    where_ = "/base";
    const ablations::Resolved full = resolve(suite_.base_record, suite_.base_features);
    where_ = "/features";
    const std::vector<FeatureChoice> chosen = choices(full.effective);
    const FeatureSettings off = is_listed() ? all_before(chosen) : as_many_before_as_possible(chosen);
    const ablations::Resolved base = resolve(suite_.base_record, off);
    add_cell("none", suite_.base_record, base, "the base, every feature of the suite turned off");
    for (const FeatureChoice& choice : chosen) {
      if (off.contains(choice.id)) add_variant(base, choice, off);
    }
  }

  std::string base_label() const { return suite_.base_record; }
  /// Are the features named in the suite? Then one that cannot act is an error; else it is left out, and that is said.
  bool is_listed() const { return !suite_.features.empty(); }

  std::string place_of(const FeatureChoice& choice) const {
    const auto same = [&](const FeatureChoice& other) { return other.id == choice.id && other.value == choice.value; };
    const auto found = std::find_if(suite_.features.begin(), suite_.features.end(), same);
    if (found == suite_.features.end()) return "/features";
    return "/features/" + std::to_string(found - suite_.features.begin());
  }

  FeatureSettings all_before(const std::vector<FeatureChoice>& chosen) const {
    FeatureSettings off = suite_.base_features;
    for (const FeatureChoice& choice : chosen) off[choice.id] = catalogue_.feature(choice.id).before;
    return off;
  }

  /// The newest first, as the oldest take the ground from many others (Muon's settings have no meaning under Adam).
  FeatureSettings as_many_before_as_possible(const std::vector<FeatureChoice>& chosen) {
    FeatureSettings off = suite_.base_features;
    for (auto choice = chosen.rbegin(); choice != chosen.rend(); ++choice) {
      FeatureSettings more = off;
      more[choice->id] = catalogue_.feature(choice->id).before;
      try {
        resolve(suite_.base_record, more);
        off = std::move(more);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kInternal) throw;
        note("only " + choice->id + ": left out, " + error.what());
      }
    }
    return off;
  }

  /// The suite's features; without any, all that the base has at their `after` value.
  std::vector<FeatureChoice> choices(const FeatureSettings& effective) {
    if (is_listed()) return suite_.features;
    std::vector<FeatureChoice> all;
    std::string others;
    for (const Feature* feature : catalogue_.features()) {
      const auto value = effective.find(feature->id);
      if (value != effective.end() && value->second == feature->after) {
        all.push_back({feature->id, std::nullopt});
      } else {
        others += (others.empty() ? "" : ", ") + feature->id;
      }
    }
    if (!others.empty()) note("left out, as the base does not have their later value: " + others);
    return all;
  }

  /// The base with one feature at another value. Combinations that exclude each other are left out, and that is said.
  void add_variant(const ablations::Resolved& base, const FeatureChoice& choice, const FeatureSettings& base_settings) {
    where_ = place_of(choice);
    const Feature& feature = catalogue_.feature(choice.id);
    const bool is_added = suite_.design == Design::kAddOneIn;
    const std::string usual = is_added ? feature.after : feature.before;
    const std::string value = choice.value.value_or(usual);
    feature.value(value);  // throws for an unknown one, and for a feature that cannot be set
    const std::string label =
        value != usual ? feature.id + " = " + value : (is_added ? "only " : "without ") + feature.id;
    const auto found = base.effective.find(feature.id);
    const std::optional<std::string> now =
        found == base.effective.end() ? std::nullopt : std::optional<std::string>(found->second);
    if (now == value) {
      note(label + ": left out, " + feature.id + " is \"" + value + "\" in the base already" +
           because_held(base, feature));
      return;
    }
    if (!choice.value && !is_added && now != feature.after) {
      note(label + ": left out, " + feature.id + " is " + (now ? "\"" + *now + "\"" : "without a value") +
           " in the base and not \"" + feature.after + "\"" + because_held(base, feature) +
           "; name the value to turn it to");
      return;
    }
    FeatureSettings settings = base_settings;
    settings[feature.id] = value;
    try {
      const ablations::Resolved resolved = resolve(suite_.base_record, settings);
      require_difference(base, resolved, label);
      add_cell(label, suite_.base_record, resolved,
               feature.title + ": " + now.value_or("another value") + " -> " + value);
    } catch (const Error& error) {
      const bool is_fatal =
          error.code() == ErrorCode::kInternal || (is_listed() && error.code() != ErrorCode::kConflict);
      if (is_fatal) throw;
      note(label + ": left out, " + error.what());
    }
  }

  std::string because_held(const ablations::Resolved& base, const Feature& feature) const {
    return base.held.contains(feature.id) ? " (scale " + suite_.scale + " holds it)" : "";
  }

  void require_difference(const ablations::Resolved& base, const ablations::Resolved& cell,
                          const std::string& label) const {
    if (cell.config.digest() != base.config.digest()) return;
    throw Error(ErrorCode::kUnavailable, label + " is the same configuration as the base at scale " + suite_.scale +
                                             "; leave it out, or choose another scale");
  }

  ablations::Resolved resolve(const std::string& record, const FeatureSettings& settings) const {
    ablations::ResolveRequest request;
    request.record = record;
    request.settings = settings;
    request.scale = suite_.scale;
    request.patch = suite_.base_patch;
    request.patch_source = core::json_location(suite_.source, "/base/patch");
    request.ranks = suite_.ranks;
    request.processes = suite_.processes;
    if (suite_.threads > 0) request.threads = suite_.threads;  // 0: all cores, how many is not known here
    return ablations::resolve(catalogue_, request);
  }

  std::string changes_between(const std::string& previous, const std::string& id) const {
    std::vector<std::string> changes;
    const auto lineage = catalogue_.lineage(id);
    auto step = std::find_if(lineage.begin(), lineage.end(), [&](const auto* r) { return r->id == previous; });
    if (step == lineage.end()) return catalogue_.record(id).title;
    for (++step; step != lineage.end(); ++step)
      changes.insert(changes.end(), (*step)->changes.begin(), (*step)->changes.end());
    std::string text;
    for (const std::string& change : changes) text += (text.empty() ? "" : "; ") + change;
    return text.empty() ? catalogue_.record(id).title : text;
  }

  void add_cell(const std::string& label, const std::string& record, const ablations::Resolved& resolved,
                const std::string& changed) {
    for (const std::string& message : resolved.messages) note(label + ": " + message);
    for (const std::string& message : resolved.scale_notes) note("scale " + suite_.scale + ": " + message);
    matrix_.cells.push_back(
        {label, record, resolved.settings, changed, resolved.config, vocabulary_asked_by(resolved), std::nullopt});
  }

  std::string vocabulary_asked_by(const ablations::Resolved& resolved) const {
    static const core::Json::json_pointer kVocabulary("/model/vocab_size");
    if (suite_.base_patch.contains(kVocabulary)) return core::json_location(suite_.source, "/base/patch");
    for (const auto& [id, value] : resolved.settings) {
      if (catalogue_.feature(id).value(value).patch.contains(kVocabulary)) return id + "=" + value;
    }
    return "";
  }

  void note(const std::string& message) {
    if (std::find(matrix_.messages.begin(), matrix_.messages.end(), message) == matrix_.messages.end())
      matrix_.messages.push_back(message);
  }

  const Suite& suite_;
  const Catalogue& catalogue_;
  std::string where_ = "/scale";
  Matrix matrix_;
};

}  // namespace

Matrix make_matrix(const Suite& suite, const Catalogue& catalogue) {
  if (suite.inline_features.empty()) return MatrixBuilder(suite, catalogue).build();
  Catalogue extended = catalogue;
  for (std::size_t i = 0; i < suite.inline_features.size(); ++i)
    extended.add_feature(suite.inline_features[i], suite.source + "#/inline_features/" + std::to_string(i));
  extended.check();
  return MatrixBuilder(suite, extended).build();
}

}  // namespace nanobench::suites

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
      add_cell(id, id, resolved, i == 0 ? "the starting point" : changes_between(suite_.records[i - 1], id));
    }
  }

  void add_leave_one_out() {
    where_ = "/base";
    const ablations::Resolved base = resolve(suite_.base_record, suite_.base_features);
    where_ = "/features";
    add_cell(base_label(), suite_.base_record, base, "the base");
    for (const FeatureChoice& choice : choices(base.effective)) {
      const Feature& feature = catalogue_.feature(choice.id);
      add_variant(base, feature, choice.value.value_or(feature.before), "without " + feature.id);
    }
  }

  void add_add_one_in() {
    where_ = "/base";
    const ablations::Resolved full = resolve(suite_.base_record, suite_.base_features);
    where_ = "/features";
    const std::vector<FeatureChoice> chosen = choices(full.effective);
    FeatureSettings all_before = suite_.base_features;
    for (const FeatureChoice& choice : chosen) all_before[choice.id] = catalogue_.feature(choice.id).before;
    base_settings_ = all_before;
    const ablations::Resolved base = resolve(suite_.base_record, all_before);
    add_cell("none", suite_.base_record, base, "the base, every feature of the suite turned off");
    for (const FeatureChoice& choice : chosen) {
      const Feature& feature = catalogue_.feature(choice.id);
      add_variant(base, feature, choice.value.value_or(feature.after), "only " + feature.id);
    }
  }

  std::string base_label() const { return suite_.base_record; }

  /// The suite's features; without any, all that the base has at their `after` value.
  std::vector<FeatureChoice> choices(const FeatureSettings& effective) const {
    if (!suite_.features.empty()) return suite_.features;
    std::vector<FeatureChoice> all;
    for (const Feature* feature : catalogue_.features()) {
      const auto value = effective.find(feature->id);
      if (value != effective.end() && value->second == feature->after) all.push_back({feature->id, std::nullopt});
    }
    return all;
  }

  /// The base with one feature at another value. Combinations that exclude each other are left out, and that is said.
  void add_variant(const ablations::Resolved& base, const Feature& feature, const std::string& value,
                   std::string label) {
    feature.value(value);  // throws for an unknown one
    const bool is_usual = value == (suite_.design == Design::kAddOneIn ? feature.after : feature.before);
    if (!is_usual) label = feature.id + " = " + value;
    const auto now = base.effective.find(feature.id);
    if (now != base.effective.end() && now->second == value) {
      note(label + ": left out, " + feature.id + " is \"" + value + "\" in the base already");
      return;
    }
    FeatureSettings settings = suite_.design == Design::kAddOneIn ? base_settings_ : suite_.base_features;
    settings[feature.id] = value;
    try {
      const std::string from = now == base.effective.end() ? "another value" : now->second;
      add_cell(label, suite_.base_record, resolve(suite_.base_record, settings),
               feature.title + ": " + from + " -> " + value);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kConflict) throw;
      note(label + ": left out, " + error.what());
    }
  }

  ablations::Resolved resolve(const std::string& record, const FeatureSettings& settings) const {
    ablations::ResolveRequest request;
    request.record = record;
    request.settings = settings;
    request.scale = suite_.scale;
    request.patch = suite_.base_patch;
    request.patch_source = core::json_location(suite_.source, "/base/patch");
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
    matrix_.cells.push_back({label, record, resolved.settings, changed, resolved.config, std::nullopt});
  }

  void note(const std::string& message) {
    if (std::find(matrix_.messages.begin(), matrix_.messages.end(), message) == matrix_.messages.end())
      matrix_.messages.push_back(message);
  }

  const Suite& suite_;
  const Catalogue& catalogue_;
  std::string where_ = "/scale";
  FeatureSettings base_settings_;  // add_one_in: everything off
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

#include "suites/design/matrix_builder.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "suites/design/wording.h"

namespace nanobench::suites {
namespace {

using ablations::Feature;
using core::Error;
using core::ErrorCode;
using core::Json;

std::string in_words(const ablations::Alias& alias) {
  if (alias.coefficient == 1.0) return alias.effect;
  if (alias.coefficient == -1.0) return "-" + alias.effect;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g ", alias.coefficient);
  return text + alias.effect;
}

std::vector<results::ContrastFactor> factors_of(const ablations::DesignTable& table,
                                                const ablations::Contrast& contrast) {
  std::vector<results::ContrastFactor> factors;
  for (const ablations::EffectTerm::Part& part : contrast.term.parts) {
    const ablations::Factor& factor = table.factors[part.factor];
    results::ContrastFactor& stored = factors.emplace_back();
    const bool is_alone = contrast.term.parts.size() == 1;
    stored.name = is_alone ? contrast.effect : part_name(table.factors, part);
    stored.setting = factor.setting.empty() ? factor.name : factor.setting;
    stored.from = factor.levels[part.from];
    stored.to = factor.levels[part.level];
    if (factor.is_reversed) std::swap(stored.from, stored.to);
  }
  return factors;
}

}  // namespace

std::string MatrixBuilder::place_of(const FeatureChoice& choice) const {
  const auto same = [&](const FeatureChoice& other) { return other.id == choice.id && other.value == choice.value; };
  const auto found = std::find_if(suite_.features.begin(), suite_.features.end(), same);
  if (found == suite_.features.end()) return "/features";
  return "/features/" + std::to_string(found - suite_.features.begin());
}

/// "off" as the value that it is another word for. What is no value is refused where it is used.
std::vector<FeatureChoice> MatrixBuilder::with_own_names(std::vector<FeatureChoice> choices) const {
  for (FeatureChoice& choice : choices) {
    if (!catalogue_.has_feature(choice.id)) continue;
    const Feature& feature = catalogue_.feature(choice.id);
    if (choice.value) choice.value = feature.own_name(*choice.value);
    for (std::string& value : choice.values) value = feature.own_name(value);
  }
  return choices;
}

std::vector<FeatureChoice> MatrixBuilder::choices(const ablations::FeatureSettings& effective) {
  if (is_listed()) return with_own_names(suite_.features);
  std::vector<FeatureChoice> all;
  std::vector<std::string> others;
  for (const Feature* feature : catalogue_.features()) {
    const auto value = effective.find(feature->id);
    if (value != effective.end() && value->second == feature->after) {
      all.push_back({.id = feature->id});
    } else {
      others.push_back(feature->id);
    }
  }
  if (!others.empty()) note(left_out_features(others));
  return all;
}

ablations::Resolved MatrixBuilder::resolve(const std::string& record, const ablations::FeatureSettings& settings,
                                           const Json& patch, std::optional<std::int64_t> processes) const {
  ablations::ResolveRequest request;
  request.record = record;
  request.settings = settings;
  request.scale = suite_.scale;
  request.patch = suite_.base_patch;
  request.patch.merge_patch(patch);
  request.patch_source =
      patch.empty() ? core::json_location(suite_.source, "/base/patch") : patch.flatten().begin().key();
  request.ranks = suite_.ranks;
  request.processes = processes ? processes : suite_.processes;
  request.device = suite_.device;
  if (suite_.threads > 0) request.threads = suite_.threads;  // 0: all cores, whose number is not known here
  return ablations::resolve(catalogue_, request);
}

ablations::Resolved MatrixBuilder::resolve_base() {
  at("/base");
  return resolve(suite_.base_record, suite_.base_features);
}

void MatrixBuilder::add_cell(const std::string& label, const std::string& record, const ablations::Resolved& resolved,
                             const std::vector<std::string>& changes, std::int64_t arm,
                             std::optional<core::KernelChoice> kernels) {
  for (const Cell& cell : matrix_.cells) {
    if (cell.label == label)
      throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kRepeated,
                          label + " appears twice; keep one of them", label);
  }
  for (const core::Message& message : resolved.messages) note(about_cell(label, message));
  for (const std::string& text : resolved.scale_notes) note(scale_note(suite_.scale, text));
  Cell cell;
  cell.label = label;
  cell.record = record;
  cell.features = resolved.settings;
  cell.changes = changes;
  cell.config = resolved.config;
  cell.vocabulary_asked_by = vocabulary_asked_by(resolved);
  cell.arm = arm;
  cell.kernels = kernels;
  trained_.emplace(std::pair(kernels, cell.config.digest()), label);
  matrix_.cells.push_back(std::move(cell));
}

void MatrixBuilder::add_operation(const std::string& label, const core::OperationSpec& operation,
                                  const std::vector<std::string>& changes, bool is_exact) {
  if (suite_.device.is_gpu) {
    throw core::Error(core::ErrorCode::kUnavailable,
                      "the operation " + operation.op + " is measured by itself on the CPU only; leave out --device");
  }
  Cell cell;
  cell.label = label;
  cell.changes = changes;
  cell.operation = operation;
  cell.is_exact = is_exact;
  matrix_.cells.push_back(std::move(cell));
}

void MatrixBuilder::ask_for(const std::string& label, const core::AskedMetrics& metrics) {
  for (Cell& cell : matrix_.cells) {
    if (cell.label == label) cell.metrics.insert(metrics.begin(), metrics.end());
  }
}

void MatrixBuilder::note_twin(const std::string& label, const ablations::Resolved& resolved,
                              std::optional<core::KernelChoice> kernels) {
  const auto twin = trained_.find(std::pair(kernels, resolved.config.digest()));
  if (twin != trained_.end()) note(same_run(label, twin->second, "configuration", " at scale " + suite_.scale));
}

void MatrixBuilder::note(const core::Message& message) {
  if (std::find(matrix_.messages.begin(), matrix_.messages.end(), message) == matrix_.messages.end())
    matrix_.messages.push_back(message);
}

std::optional<std::string> MatrixBuilder::holder_of(const ablations::Resolved& base, const std::string& feature) const {
  return base.held.contains(feature) ? std::optional(suite_.scale) : std::nullopt;
}

std::string MatrixBuilder::vocabulary_asked_by(const ablations::Resolved& resolved) const {
  static const Json::json_pointer kVocabulary("/model/vocab_size");
  if (suite_.base_patch.contains(kVocabulary)) return core::json_location(suite_.source, "/base/patch");
  for (const auto& [id, value] : resolved.settings) {
    if (catalogue_.feature(id).value(value).patch.contains(kVocabulary)) return id + "=" + value;
  }
  return "";
}

void add_contrasts(Matrix& matrix, const ablations::DesignTable& table) {
  for (const ablations::Contrast& contrast : table.contrasts) {
    results::PlanContrast stored;
    stored.effect = contrast.effect;
    stored.kind = contrast.kind;
    stored.factors = factors_of(table, contrast);
    stored.meaning = contrast.meaning;
    for (std::size_t i = 0; i < contrast.coefficients.size(); ++i) {
      if (contrast.coefficients[i] != 0.0) stored.coefficients[matrix.cells[i].label] = contrast.coefficients[i];
    }
    for (const ablations::Alias& alias : contrast.aliases) stored.aliases.push_back(in_words(alias));
    matrix.contrasts.push_back(std::move(stored));
  }
}

}  // namespace nanobench::suites

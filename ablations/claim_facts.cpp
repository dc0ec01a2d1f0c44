#include "ablations/claim_facts.h"

#include <cmath>

#include "ablations/resolve.h"

namespace nanobench::ablations {
namespace {

using core::Json;

constexpr double kBytesPerMib = 1024.0 * 1024.0;

std::optional<double> published_figure(const PublishedFigures& figures, const std::string& metric) {
  if (metric == "minutes") return figures.minutes;
  if (metric == "train_seconds") return figures.train_seconds;
  if (metric == "steps" && figures.steps) return static_cast<double>(*figures.steps);
  if (metric == "step_ms") return figures.step_avg_ms;
  if (metric == "peak_bytes" && figures.peak_mib) return *figures.peak_mib * kBytesPerMib;
  if (metric == "tokens_per_second" && figures.tokens_per_step && figures.step_avg_ms) {
    return static_cast<double>(*figures.tokens_per_step) / *figures.step_avg_ms * 1000;
  }
  if (figures.final_val_loss) {
    if (metric == "final_val_loss") return figures.final_val_loss->mean;
    if (metric == "final_val_loss_sd") return figures.final_val_loss->sd;
  }
  return std::nullopt;
}

std::optional<double> setting_value(const Catalogue& catalogue, const MeasureArm& arm, const Claim& claim) {
  const Json config(core::to_json(resolve(catalogue, {.record = arm.record, .settings = arm.features}).config));
  const Json::json_pointer pointer(claim.measure.pointer);
  // A setting of another type of optimiser or schedule is not written: it is not what anything equals.
  const Json setting = config.contains(pointer) ? config.at(pointer) : Json();
  if (claim.measure.equals) return setting == *claim.measure.equals ? 1.0 : 0.0;
  if (setting.is_boolean()) return setting.get<bool>() ? 1.0 : 0.0;
  if (setting.is_number()) return setting.get<double>();
  return std::nullopt;
}

std::optional<double> arm_value(const Catalogue& catalogue, const std::optional<MeasureArm>& arm, const Claim& claim) {
  if (!arm) return 0.0;  // the rule's form does not use it
  if (claim.measure.kind == MeasureKind::kConfig) return setting_value(catalogue, *arm, claim);
  if (!arm->features.empty()) return std::nullopt;
  return published_figure(catalogue.record(arm->record).published, claim.rule->metric);
}

}  // namespace

std::optional<double> known_value(const Catalogue& catalogue, const Claim& claim) {
  const MeasureKind kind = claim.measure.kind;
  const bool has_figures =
      kind == MeasureKind::kConfig || kind == MeasureKind::kPublishedLog || kind == MeasureKind::kCells;
  if (!has_figures || claim.rule->form == RuleForm::kPair) return claim.published.value;
  const auto before = arm_value(catalogue, claim.measure.before, claim);
  const auto after = arm_value(catalogue, claim.measure.after, claim);
  if (!before || !after) return claim.published.value;
  const double value = combined(claim.rule->form, *before, *after);
  return std::isnan(value) ? claim.published.value : value;
}

}  // namespace nanobench::ablations

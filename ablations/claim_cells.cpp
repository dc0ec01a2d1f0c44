#include "ablations/claim_cells.h"

#include <algorithm>
#include <cmath>

#include "ablations/resolve.h"
#include "ablations/settle.h"
#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::ablations {
namespace {

constexpr std::int64_t kPeakSide = 1024;  // side of the matrix product that represents the machine's peak

/// Processes that an arm's features need, or that the metric needs to be meaningful.
std::optional<std::int64_t> processes_of(const Catalogue& catalogue, const Claim& claim) {
  constexpr const char* kCommunication[] = {"phase_communication_ms", "all_gather_ms", "rank_parameter_difference"};
  const bool communicates =
      std::find(std::begin(kCommunication), std::end(kCommunication), claim.rule->metric) != std::end(kCommunication);
  std::int64_t most = communicates ? 2 : 1;
  for (const std::optional<MeasureArm>* arm : {&claim.measure.before, &claim.measure.after, &claim.measure.whole}) {
    if (!*arm) continue;
    for (const auto& [id, unused] : (*arm)->features) most = std::max(most, catalogue.feature(id).needs.processes);
  }
  return most > 1 ? std::optional(most) : std::nullopt;
}

ClaimCell training_cell(const MeasureArm& arm, std::optional<std::int64_t> processes) {
  ClaimCell cell{.label = arm.record,
                 .record = arm.record,
                 .features = arm.features,
                 .processes = processes,
                 .kernels = arm.kernels};
  std::string link = " with ";
  for (const auto& [id, value] : arm.features) {
    cell.label += link + id + " = " + value;
    link = ", ";
  }
  if (processes) cell.label += " in " + std::to_string(*processes) + " processes";
  if (arm.kernels) cell.label += " by " + enum_name(*arm.kernels) + " kernels";
  return cell;
}

core::OperationArm operation_arm(const char* name, const MeasureArm& arm, const AlsoMeasured& also) {
  const core::TrainConfig defaults;
  core::OperationArm made;
  made.name = name;
  made.shapes = arm.shapes;
  for (const auto& [shape, size] : also.shapes) made.shapes[shape] = size;
  made.config = apply_patch(defaults, arm.patch, "the claim's patch");
  made.config.name = name;
  return made;
}

std::string text_of(const core::Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// "orthogonalizer svd -> newton_schulz": the settings in which the arms' patches differ.
std::string difference_of(const ClaimMeasure& measure) {
  if (!measure.before || !measure.after) return "";
  const core::Json before = measure.before->patch.flatten(), after = measure.after->patch.flatten();
  std::string text;
  for (const auto& [pointer, value] : after.items()) {
    const bool is_new = !before.contains(pointer);
    if (value.is_null() || (!is_new && before.at(pointer) == value)) continue;
    text += ", " + pointer.substr(pointer.rfind('/') + 1) + " " + (is_new ? "" : text_of(before.at(pointer)) + " -> ") +
            text_of(value);
  }
  return text;
}

/// The cell at each of the other factors on all rates.
std::vector<ClaimCell> rate_cells(const ClaimCell& cell) {
  std::vector<ClaimCell> cells;
  for (const double factor : kStableRateFactors) {
    if (factor == 1.0) continue;
    ClaimCell& other = cells.emplace_back(cell);
    other.rate_factor = factor;
    other.label += " at " + std::to_string(static_cast<int>(factor)) + " times the rates";
  }
  return cells;
}

/// "attention D 128 H 6 T 16384 -> 65536, ...: time_ms"
std::string label_of(const core::OperationSpec& spec, const ClaimMeasure& measure) {
  std::string label = spec.op;
  const std::map<std::string, std::int64_t>& before = spec.arms.front().shapes;
  for (const auto& [shape, size] : spec.arms.back().shapes) {
    const auto found = before.find(shape);
    label += " " + shape + " ";
    if (found != before.end() && found->second != size) label += std::to_string(found->second) + " -> ";
    label += std::to_string(size);
  }
  return label + difference_of(measure) + ": " + spec.metric;
}

bool is_exact(const std::string& metric) {
  constexpr const char* kExact[] = {"bytes", "instructions", "mask_instructions", "cache_misses", "cache_miss_share"};
  return std::find(std::begin(kExact), std::end(kExact), metric) != std::end(kExact);
}

ClaimCell operation_cell(const ClaimMeasure& measure, const AlsoMeasured& also) {
  core::OperationSpec spec;
  spec.op = measure.op;
  spec.metric = also.metric;
  if (measure.before) spec.arms.push_back(operation_arm("before", *measure.before, also));
  if (measure.after) spec.arms.push_back(operation_arm("after", *measure.after, also));
  ClaimCell cell{.label = label_of(spec, measure)};
  cell.is_exact = is_exact(also.metric);
  cell.operation = std::move(spec);
  return cell;
}

/// The machine's fastest matrix products.
ClaimCell peak_cell() {
  core::OperationArm arm;
  arm.name = "after";
  arm.shapes = {{"rows", kPeakSide}, {"columns", kPeakSide}};
  core::OperationSpec spec;
  spec.op = "matrix_product";
  spec.metric = "gflops";
  spec.arms.push_back(std::move(arm));
  ClaimCell cell{.label = "matrix_product " + std::to_string(kPeakSide) + ": gflops"};
  cell.operation = std::move(spec);
  return cell;
}

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

/// Whether a setting is `stated`. A group may have settings that the claim does not speak of.
bool is_as_stated(const core::Json& setting, const core::Json& stated) {
  if (!stated.is_object() || !setting.is_object()) return setting == stated;
  for (const auto& [key, value] : stated.items()) {
    if (!setting.contains(key) || !is_as_stated(setting.at(key), value)) return false;
  }
  return true;
}

/// The setting that the claim names. Null if it is of another type of optimiser or schedule, which is not written.
core::Json setting_of(const core::Json& config, const Claim& claim) {
  const core::Json::json_pointer pointer(claim.measure.pointer);
  return config.contains(pointer) ? config.at(pointer) : core::Json();
}

core::Json official_json(const Catalogue& catalogue, const std::string& record, const FeatureSettings& settings) {
  return core::to_plain_json(resolve(catalogue, {.record = record, .settings = settings}).config);
}

std::optional<double> setting_value(const Catalogue& catalogue, const MeasureArm& arm, const Claim& claim) {
  const core::Json setting = setting_of(official_json(catalogue, arm.record, arm.features), claim);
  if (claim.measure.equals) return is_as_stated(setting, *claim.measure.equals) ? 1.0 : 0.0;
  if (setting.is_boolean()) return setting.get<bool>() ? 1.0 : 0.0;
  if (setting.is_number()) return setting.get<double>();
  return std::nullopt;
}

std::optional<double> arm_value(const Catalogue& catalogue, const std::optional<MeasureArm>& arm, const Claim& claim) {
  if (!arm) return 0.0;  // the rule's form does not use it
  if (claim.measure.kind == MeasureKind::kConfig) return setting_value(catalogue, *arm, claim);
  if (!arm->features.empty() || arm->kernels) return std::nullopt;  // nobody published that
  return published_figure(catalogue.record(arm->record).published, claim.rule->metric);
}

}  // namespace

bool needs_runs(const Claim& claim) {
  const MeasureKind kind = claim.measure.kind;
  return kind == MeasureKind::kCells || kind == MeasureKind::kBenchmark ||
         (kind == MeasureKind::kCounter && claim.rule->metric == "rank_parameter_difference");
}

ClaimCells cells_of(const Catalogue& catalogue, const Claim& claim) {
  ClaimCells cells;
  if (!needs_runs(claim)) return cells;
  if (claim.measure.kind == MeasureKind::kBenchmark) {
    cells.operation = operation_cell(claim.measure, {.shapes = {}, .metric = claim.rule->metric});
    for (const AlsoMeasured& also : claim.measure.also) cells.also.push_back(operation_cell(claim.measure, also));
    return cells;
  }
  const std::optional<std::int64_t> processes = processes_of(catalogue, claim);
  if (claim.measure.before) cells.before = training_cell(*claim.measure.before, processes);
  if (claim.measure.after) cells.after = training_cell(*claim.measure.after, processes);
  for (std::optional<ClaimCell>* cell : {&cells.before, &cells.after}) {
    if (!*cell) continue;
    (*cell)->measures_health = claim.rule->metric == "gradient_flow";
    if (claim.rule->metric == "stable_rate")
      (cell == &cells.before ? cells.before_rates : cells.after_rates) = rate_cells(**cell);
  }
  if (claim.measure.whole) cells.whole = training_cell(*claim.measure.whole, processes);
  if (claim.rule->metric == "share_of_peak") cells.operation = peak_cell();
  return cells;
}

void require_difference(const core::TrainConfig& before, const core::TrainConfig& after) {
  if (before.digest() != after.digest()) return;
  throw core::Refusal(core::ErrorCode::kUnavailable, core::Reason::kSameValue,
                      "both sides are the same configuration there");
}

bool compares_kernels(const ClaimCells& cells) {
  return cells.before && cells.after && cells.before->kernels != cells.after->kernels;
}

namespace {

bool is_supported_by(const Claim& claim, const std::optional<double>& value) {
  return value && evaluate(*claim.rule, *value) == ClaimVerdict::kSupported;
}

/// Whether a record with this setting has what is claimed: the stated value; one that supports a claim about the value
/// alone; or, of a supported claim about a change, the value that came of it.
bool has_claimed(const Claim& claim, const core::Json& setting, const core::Json& present, bool is_supported) {
  if (claim.measure.equals) return is_as_stated(setting, *claim.measure.equals);
  if (claim.rule->form == RuleForm::kAfter && setting.is_number()) return is_supported_by(claim, setting.get<double>());
  return is_supported && !present.is_null() && is_as_stated(setting, present);
}

}  // namespace

std::optional<std::int64_t> first_record_of(const Catalogue& catalogue, const Claim& claim) {
  const std::optional<MeasureArm>& arm = claim.measure.after ? claim.measure.after : claim.measure.before;
  if (claim.measure.kind != MeasureKind::kConfig || !arm->features.empty()) return std::nullopt;
  const core::Json present = setting_of(record_json(catalogue, arm->record), claim);
  const bool is_supported = is_supported_by(claim, known_value(catalogue, claim));
  for (const Record* record : catalogue.records()) {
    if (has_claimed(claim, setting_of(record_json(catalogue, record->id), claim), present, is_supported))
      return record->number;
  }
  return std::nullopt;
}

std::vector<ClaimCell> all_cells(const ClaimCells& cells) {
  std::vector<ClaimCell> all;
  for (const std::optional<ClaimCell>* cell : {&cells.before, &cells.after, &cells.whole, &cells.operation}) {
    if (*cell) all.push_back(**cell);
  }
  for (const std::vector<ClaimCell>* rates : {&cells.before_rates, &cells.after_rates, &cells.also})
    all.insert(all.end(), rates->begin(), rates->end());
  return all;
}

core::Json rate_patch(const ClaimCell& cell) {
  if (cell.rate_factor == 1.0) return core::Json::object();
  return {{"schedule", {{"rate_factor", cell.rate_factor}}}};
}

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

#include "ablations/claim.h"

#include <algorithm>
#include <utility>

#include "ablations/patch.h"
#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/config/settings_reference.h"
#include "core/protocol/operation_spec.h"

namespace nanobench::ablations {

namespace {

using core::Json;
using core::JsonObject;
using core::Reason;
using Verdict = PublishedEvidence::Verdict;
using Change = ClaimQuantity::Change;

constexpr double kMaxPublished = 1e18;

/// Sizes that a benchmark may name: tokens, heads, head width, model width, vocabulary, matrix, window, documents.
constexpr const char* kSizes[] = {"T", "H", "D", "C", "V", "rows", "columns", "window_tokens", "document_tokens"};

std::string sentence(JsonObject& object, const std::string& key) {
  std::string text = object.string(key);
  if (text.size() < 10 || text.back() != '.')
    object.fail(key, Reason::kNoSentence, "expected a sentence that ends with a full stop");
  return text;
}

ClaimQuantity read_quantity(JsonObject object) {
  ClaimQuantity quantity;
  quantity.unit = object.string("unit");
  if (quantity.unit.empty())
    object.fail("unit", Reason::kEmpty, "is empty; a number needs a unit, such as \"percent\" or \"times\"");
  quantity.change = object.enumeration<Change>("change");
  const Json& value = object.at("value");
  const bool is_pair = value.is_array() && value.size() == 2 && value[0].is_number() && value[1].is_number();
  if (quantity.change == Change::kFromTo ? !is_pair : !value.is_number()) {
    object.fail("value", Reason::kWrongType,
                quantity.change == Change::kFromTo ? "expected [before, after]" : "expected a number");
  }
  quantity.first = is_pair ? value[0].get<double>() : value.get<double>();
  quantity.second = is_pair ? value[1].get<double>() : value.get<double>();
  object.finish();
  return quantity;
}

std::string required_name(JsonObject& object, const std::string& key) {
  std::string name = object.string(key);
  if (name.empty()) object.fail(key, Reason::kEmpty, "is empty");
  return name;
}

MeasureArm read_cell_arm(JsonObject object, bool has_features, bool is_trained) {
  MeasureArm arm;
  arm.record = required_name(object, "record");
  if (has_features) arm.features = object.named_strings_or_empty("features");
  if (is_trained && object.find("kernels") != nullptr) arm.kernels = object.enumeration<core::KernelChoice>("kernels");
  object.finish();
  return arm;
}

std::map<std::string, std::int64_t> read_shapes(JsonObject& object) {
  std::map<std::string, std::int64_t> sizes;
  JsonObject shapes = object.object("shapes");
  for (const auto& [name, unused] : object.at("shapes").items()) {
    if (std::none_of(std::begin(kSizes), std::end(kSizes), [&](const char* size) { return name == size; })) {
      shapes.fail(name, Reason::kUnknownName, "expected one of " + joined(kSizes));
    }
    sizes[name] = shapes.integer(name, 1, std::int64_t{1} << 26);
  }
  return sizes;
}

MeasureArm read_benchmark_arm(JsonObject object) {
  MeasureArm arm;
  arm.shapes = read_shapes(object);
  if (arm.shapes.empty()) object.fail("shapes", Reason::kEmpty, "is empty; name the sizes of the operation");
  if (const Json* patch = object.find("patch")) {
    check_patch(*patch, object.source(), object.pointer_to("patch"));
    arm.patch = *patch;
  }
  object.finish();
  return arm;
}

std::optional<MeasureArm> read_arm(JsonObject& object, const std::string& key, MeasureKind kind) {
  if (object.find(key) == nullptr) return std::nullopt;
  JsonObject arm = object.object(key);
  if (kind == MeasureKind::kBenchmark) return read_benchmark_arm(std::move(arm));
  return read_cell_arm(std::move(arm), kind != MeasureKind::kPublishedLog, kind == MeasureKind::kCells);
}

/// A setting of TrainConfig, or a group of them.
void check_pointer(const JsonObject& object, const std::string& pointer) {
  const std::vector<std::string>& known = core::train_config_pointers();
  const auto is_here = [&](const std::string& setting) {
    return setting == pointer || setting.rfind(pointer + "/", 0) == 0;
  };
  if (std::none_of(known.begin(), known.end(), is_here)) {
    object.fail("pointer", Reason::kUnknownName,
                "there is no setting \"" + pointer + "\"" + core::suggestion(pointer, known));
  }
}

std::vector<AlsoMeasured> read_also(JsonObject& measure, const ClaimMetric* (*find)(const std::string&)) {
  std::vector<AlsoMeasured> also;
  const Json* list = measure.find("also");
  if (list == nullptr) return also;
  if (!list->is_array()) measure.fail("also", Reason::kWrongType, "expected a list");
  for (std::size_t i = 0; i < list->size(); ++i) {
    JsonObject object((*list)[i], measure.source(), measure.pointer_to("also") + "/" + std::to_string(i));
    AlsoMeasured& each = also.emplace_back();
    if (object.find("shapes") != nullptr) each.shapes = read_shapes(object);
    each.metric = object.string("metric");
    if (find(each.metric) == nullptr)
      object.fail("metric", Reason::kUnknownName, "benchmark has no metric \"" + each.metric + "\"");
    object.finish();
  }
  return also;
}

ClaimMeasure read_measure(JsonObject object) {
  ClaimMeasure measure;
  measure.kind = object.enumeration<MeasureKind>("kind");
  if (measure.kind == MeasureKind::kNone) {
    measure.why = sentence(object, "why");
    object.finish();
    return measure;
  }
  if (measure.kind == MeasureKind::kBenchmark) {
    measure.op = object.string("op");
    const std::vector<std::string>& ops = core::operation_names();
    if (std::find(ops.begin(), ops.end(), measure.op) == ops.end())
      object.fail("op", Reason::kUnknownName, "expected one of " + joined(ops) + "; got \"" + measure.op + "\"");
    measure.also =
        read_also(object, [](const std::string& name) { return find_claim_metric(MeasureKind::kBenchmark, name); });
  }
  if (measure.kind == MeasureKind::kConfig) {
    measure.pointer = object.string("pointer");
    check_pointer(object, measure.pointer);
    if (const Json* equals = object.find("equals")) measure.equals = *equals;
  }
  measure.before = read_arm(object, "before", measure.kind);
  measure.after = read_arm(object, "after", measure.kind);
  if (measure.kind == MeasureKind::kCells) measure.whole = read_arm(object, "whole", measure.kind);
  object.finish();
  return measure;
}

/// Checks that exactly the arms that the rule combines are present, that the measure's kind has its metric, and that
/// both agree on whether the metric compares the arms.
void check_rule(JsonObject& claim, const ClaimMeasure& measure, const ClaimRule& rule) {
  const auto fail = [&](const std::string& pointer, Reason reason, const std::string& message) {
    throw core::Refusal(core::ErrorCode::kInvalidArgument, reason,
                        core::json_location(claim.source(), pointer) + ": " + message, pointer);
  };
  const ClaimMetric* metric = find_claim_metric(measure.kind, rule.metric);
  if (metric == nullptr) {
    std::vector<std::string> known;
    for (const ClaimMetric& candidate : claim_metrics()) {
      if (candidate.kind == measure.kind) known.emplace_back(candidate.name);
    }
    fail("/rule/metric", Reason::kUnknownName,
         enum_name(measure.kind) + " has no metric \"" + rule.metric + "\"" + core::suggestion(rule.metric, known));
  }
  if (metric->is_of_pair != (rule.form == RuleForm::kPair)) {
    fail("/rule/of", Reason::kExcluded,
         metric->is_of_pair ? rule.metric + " compares the two arms itself; expected \"pair\""
                            : "\"pair\" is for metrics that compare the two arms themselves");
  }
  const auto check_arm = [&](const char* key, bool is_there, bool is_used) {
    if (is_there == is_used) return;
    fail(is_used ? "/measure" : std::string("/measure/") + key, is_used ? Reason::kMissingKey : Reason::kInactive,
         std::string("the rule's form \"") + enum_name(rule.form) +
             (is_used ? "\" needs the arm \"" + std::string(key) + "\"" : "\" does not use this arm; remove it"));
  };
  check_arm("before", measure.before.has_value(), rule.needs_before());
  check_arm("after", measure.after.has_value(), rule.needs_after());
  const auto check_member = [&](const char* key, bool is_there, const char* only_metric) {
    if (is_there == (rule.metric == only_metric)) return;
    fail("/measure", is_there ? Reason::kInactive : Reason::kMissingKey,
         std::string("\"") + key + "\" belongs to the metric \"" + only_metric + "\", and only to it");
  };
  check_member("equals", measure.equals.has_value(), "equals");
  check_member("whole", measure.whole.has_value(), "share_of_saved_time");
  for (const ClaimVerdict verdict : {ClaimVerdict::kSupported, ClaimVerdict::kContradicted}) {
    if (!example_value(rule, metric->range, verdict)) {
      fail("/rule/within", Reason::kOneSided,
           "no possible measurement is " + enum_name(verdict) + " by this; a rule must be able to hold and to fail");
    }
  }
}

PublishedEvidence read_evidence(JsonObject object) {
  PublishedEvidence published;
  published.verdict = object.enumeration<Verdict>("verdict");
  const bool is_silent = published.verdict == Verdict::kSilent;
  if (!is_silent || object.find("text") != nullptr) published.text = sentence(object, "text");
  if (!is_silent || object.find("source") != nullptr) published.source = required_name(object, "source");
  if (object.find("value") != nullptr) published.value = object.number("value", -kMaxPublished, kMaxPublished);
  object.finish();
  return published;
}

std::string read_analysis(JsonObject& object) {
  const std::string analysis = object.string("analysis");
  constexpr const char* kAnalyses[] = {"000", "001", "002", "003", "004"};
  if (std::none_of(std::begin(kAnalyses), std::end(kAnalyses), [&](const char* known) { return analysis == known; })) {
    object.fail("analysis", Reason::kUnknownName,
                "expected one of " + joined(kAnalyses) + "; got \"" + analysis + "\"");
  }
  return analysis;
}

constexpr auto kPositive = MetricRange::kPositive;
constexpr auto kFraction = MetricRange::kFraction;
constexpr auto kCells = MeasureKind::kCells;
constexpr auto kBenchmark = MeasureKind::kBenchmark;
constexpr auto kCounter = MeasureKind::kCounter;
constexpr auto kConfig = MeasureKind::kConfig;
constexpr auto kLog = MeasureKind::kPublishedLog;
constexpr auto kOther = MetricBasis::kOther;
constexpr auto kMeanLoss = MetricBasis::kMeanLoss;
constexpr auto kTime = MetricBasis::kTime;
constexpr auto kMachine = MetricBasis::kMachine;

// The metrics that claims can use; README.md of this folder repeats this table for people.
constexpr ClaimMetric kMetrics[] = {
    {kCells, "step_ms", "ms", kPositive, "training clock over timed steps", kTime},
    {kCells, "phase_data_ms", "ms", kPositive, "the step's time for getting its tokens", kTime},
    {kCells, "phase_communication_ms", "ms", kPositive, "the step's time for waiting on other processes", kTime},
    {kCells, "all_gather_ms", "ms", kPositive,
     "a step's all-gathers, each from the moment it is carried out to its result, in the first process", kTime},
    {kCells, "tokens_per_second", "tokens/s", kPositive, "trained tokens over training-clock time", kTime},
    {kCells, "final_val_loss", "nats/token", kPositive, "last validation loss, mean over the seeds", kMeanLoss},
    {kCells, "final_val_loss_sd", "nats/token", kPositive, "its standard deviation over the seeds"},
    {kCells, "loss_at_long_positions", "nats/token", kPositive,
     "last validation loss of the quarter of the tokens that are furthest into their documents", kMeanLoss},
    {kCells, "time_to_target_s", "s", kPositive, "training clock when the validation loss first reaches the target",
     kTime},
    {kCells, "peak_bytes", "bytes", kPositive, "peak memory of the process"},
    {kCells, "gradient_flow", "1", kFraction,
     "gradient per weight of the layer where it is smallest over the largest, mean over the run's samples"},
    {kCells, "stable_rate", "1", kPositive,
     "largest factor on all learning rates, of 1 to 128, up to which a seed does not diverge"},
    {kCells, "share_of_peak", "1", kFraction,
     "the model's arithmetic per second over the machine's fastest matrix products", kTime, false, true},
    {kCells, "different_losses", "steps", kPositive,
     "steps whose training loss differs in any bit, same seed, over all seeds", kOther, true},
    {kCells, "share_of_saved_time", "1", kPositive,
     "of the logarithm of the step time that the change from `whole` to `after` saves, the part from `before`", kTime,
     true},
    {kCells, "reserved_over_allocated", "1", kPositive,
     "peak of the memory that the GPU's allocator holds over the peak of what tensors hold", kOther, false, true},
    {kCells, "gpu_launches", "1", kPositive, "kernels and graphs that a step launches", kOther, false, true},
    {kCells, "gpu_utilization_percent", "percent", kPositive,
     "share of the time in which a kernel ran, median over the training", kMachine, false, true},
    {kCells, "gpu_pcie_mb_per_s", "MB/s", kPositive, "received over the bus, median over the training", kMachine, false,
     true},

    {kBenchmark, "time_ms", "ms", kPositive, "forward and backward, or one update"},
    {kBenchmark, "bytes", "bytes", kPositive, "largest memory held beyond inputs and outputs"},
    {kBenchmark, "error", "1", kPositive, "relative distance of the result from the same in float64"},
    {kBenchmark, "distance_to_polar", "1", kPositive,
     "relative distance of the orthogonalised matrix from U V^T, where the matrix is U S V^T"},
    {kBenchmark, "instructions", "1", kPositive, "of one call with one thread, counted by valgrind"},
    {kBenchmark, "mask_instructions", "1", kPositive, "of them those of attention's element mask"},
    {kBenchmark, "cache_misses", "1", kPositive,
     "of data in a simulated first-level cache of 32 KiB, one call with one thread, counted by valgrind"},
    {kBenchmark, "cache_miss_share", "1", kFraction, "of the accesses to data, those that miss in that cache"},

    {kCounter, "parameters", "1", kPositive, "of the whole model"},
    {kCounter, "value_table_parameters", "1", kPositive, "of the value embeddings"},
    {kCounter, "skip_parameters", "1", kPositive, "of the skip connections"},
    {kCounter, "effective_learning_rate", "1", kPositive,
     "rate of the hidden matrices times the schedule's factor, mean over the run's steps"},
    {kCounter, "gradient_bytes", "bytes", kPositive, "of all gradients of one process, in the type of each parameter"},
    {kCounter, "rotary_table_bytes", "bytes", kPositive, "of all cosine and sine tables"},
    {kCounter, "flops_per_token", "1", kPositive, "of forward and backward, attention over the visible pairs"},
    {kCounter, "visited_blocks", "blocks", kPositive,
     "pairs of query and key block that attention visits, mean over steps"},
    {kCounter, "full_blocks", "blocks", kPositive, "visited blocks that skip the element mask, mean over steps"},
    {kCounter, "full_block_share", "1", kFraction, "full over visited blocks, mean over steps"},
    {kCounter, "mask_evaluations", "pairs", kPositive, "pairs of tokens whose mask is computed, mean over steps"},
    {kCounter, "visible_pairs", "pairs", kPositive, "pairs of query and key that the mask allows, mean over steps"},
    {kCounter, "cross_document_pairs", "pairs", kPositive, "of them those in two documents"},
    {kCounter, "document_pairs_share", "1", kFraction,
     "visible pairs over causal pairs inside one document, mean over steps"},
    {kCounter, "unaligned_documents", "documents", kPositive, "documents that begin inside an attention block"},
    {kCounter, "unaligned_sequences", "sequences", kPositive, "of a step, those that end inside an attention block"},
    {kCounter, "cut_documents", "documents", kPositive, "documents that a training sequence begins or ends inside of"},
    {kCounter, "micro_steps_per_rank", "1", kPositive, "sequences of a step over ranks and sequences per read"},
    {kCounter, "busiest_rank_share", "1", kPositive,
     "arithmetic of the rank that orthogonalises most over the mean, 8 ranks"},
    {kCounter, "rank_parameter_difference", "1", kPositive,
     "largest difference of a parameter between two processes after a run, at any scale"},

    {kConfig, "value", "1", kPositive, "the setting as a number; true is 1"},
    {kConfig, "equals", "1", MetricRange::kIndicator, "1 when the setting is what `equals` says, else 0"},

    {kLog, "minutes", "min", kPositive, "official time of the record table"},
    {kLog, "train_seconds", "s", kPositive, "training clock of the logs, mean"},
    {kLog, "steps", "steps", kPositive, "training steps"},
    {kLog, "step_ms", "ms", kPositive, "training clock over timed steps"},
    {kLog, "tokens_per_second", "tokens/s", kPositive, "tokens of a step over its time, all ranks"},
    {kLog, "final_val_loss", "nats/token", kPositive, "last validation loss, mean of the logs"},
    {kLog, "final_val_loss_sd", "nats/token", kPositive, "its standard deviation over the logs"},
    {kLog, "peak_bytes", "bytes", kPositive, "peak memory allocated on one GPU"},
};

}  // namespace

Claim read_claim(const Json& json, const std::string& source) {
  JsonObject object(json, source);
  Claim claim;
  claim.json = json;
  claim.source = source;
  claim.id = required_name(object, "id");
  claim.analysis = read_analysis(object);
  claim.place = required_name(object, "place");
  claim.record = object.integer("record", 1, 10000);
  claim.statement = sentence(object, "statement");
  if (object.find("quantity") != nullptr) claim.quantity = read_quantity(object.object("quantity"));
  claim.features = object.strings_or_empty("features");
  claim.measure = read_measure(object.object("measure"));
  const bool is_measurable = claim.measure.kind != MeasureKind::kNone;
  if (is_measurable) {
    claim.rule = read_claim_rule(object.object("rule"));
    check_rule(object, claim.measure, *claim.rule);
  } else if (object.find("rule") != nullptr) {
    object.fail("rule", Reason::kInactive,
                "there is nothing to judge where nothing is measured; remove it or the measure's kind \"none\"");
  }
  claim.published = read_evidence(object.object("published"));
  object.finish();
  if (claim.published.value &&
      !(is_measurable && evaluate(*claim.rule, *claim.published.value) != ClaimVerdict::kInconclusive)) {
    throw core::Refusal(core::ErrorCode::kInvalidArgument, Reason::kOneSided,
                        core::json_location(source, "/published/value") + ": the rule gives no verdict on this number",
                        "/published/value");
  }
  return claim;
}

bool is_of_machine(MetricBasis basis) {
  return basis == MetricBasis::kTime || basis == MetricBasis::kMachine;
}

std::span<const ClaimMetric> claim_metrics() {
  return kMetrics;
}

core::AskedMetrics asked_metrics(const Claim& claim) {
  if (claim.rule && claim.rule->metric == "loss_at_long_positions") return {core::AskedMetric::kLossAtPosition};
  return {};
}

const ClaimMetric* find_claim_metric(MeasureKind kind, const std::string& name) {
  for (const ClaimMetric& metric : claim_metrics()) {
    if (metric.kind == kind && metric.name == name) return &metric;
  }
  return nullptr;
}

}  // namespace nanobench::ablations

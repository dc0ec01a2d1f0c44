#include "results/metric.h"

namespace nanobench::results {

const std::vector<Metric>& known_metrics() {
  static const std::vector<Metric> metrics = {
      {kTrainLoss, "nats/token", Better::kLower, "mean loss of the step's batch, before its update"},
      {kStepMs, "ms", Better::kLower, "wall time of the step"},
      {kClockMs, "ms", Better::kLower, "training clock after the step, from the first timed step on"},
      {kWindow, "tokens", Better::kNeither, "attention window; stored when it changes"},
      {kLearningRate, "1", Better::kNeither, "factor on all learning rates; stored when it changes"},
      {kValLoss, "nats/token", Better::kLower, "validation loss before the update of that step"},
      {kValClockMs, "ms", Better::kLower, "training clock at the validation"},
      {kPeakBytes, "bytes", Better::kLower, "peak resident memory of the process so far"}};
  return metrics;
}

std::optional<Metric> find_metric(std::string_view tag) {
  for (const Metric& metric : known_metrics()) {
    if (metric.tag == tag) return metric;
  }
  if (tag.starts_with(kPhasePrefix)) return Metric{std::string(tag), "ms", Better::kLower, "part of the step's time"};
  if (tag.starts_with(kCounterPrefix))
    return Metric{std::string(tag), "1", Better::kNeither, "a number that the engine reported"};
  return std::nullopt;
}

}  // namespace nanobench::results

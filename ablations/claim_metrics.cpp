// What claims can be measured by. README.md of this folder repeats this table for people.
#include "ablations/claim.h"

namespace nanobench::ablations {
namespace {

constexpr auto kPositive = MetricRange::kPositive;
constexpr auto kFraction = MetricRange::kFraction;

std::vector<ClaimMetric> make_metrics() {
  constexpr auto kCells = MeasureKind::kCells;
  constexpr auto kBenchmark = MeasureKind::kBenchmark;
  constexpr auto kCounter = MeasureKind::kCounter;
  constexpr auto kConfig = MeasureKind::kConfig;
  constexpr auto kLog = MeasureKind::kPublishedLog;
  return {
      {kCells, "step_ms", "ms", kPositive, "median time of the timed steps"},
      {kCells, "phase_data_ms", "ms", kPositive, "the step's time for getting its tokens"},
      {kCells, "phase_communication_ms", "ms", kPositive, "the step's time for waiting on other processes"},
      {kCells, "tokens_per_second", "tokens/s", kPositive, "trained tokens over training-clock time"},
      {kCells, "final_val_loss", "nats/token", kPositive, "last validation loss, mean over the seeds"},
      {kCells, "final_val_loss_sd", "nats/token", kPositive, "its standard deviation over the seeds"},
      {kCells, "time_to_target_s", "s", kPositive, "training clock when the validation loss first reaches the target"},
      {kCells, "peak_bytes", "bytes", kPositive, "peak memory of the process"},
      {kCells, "share_of_peak", "1", kFraction,
       "the model's arithmetic per second over the machine's fastest matrix products"},
      {kCells, "different_losses", "steps", kPositive,
       "steps whose training loss differs in any bit, same seed, over all seeds", true},

      {kBenchmark, "time_ms", "ms", kPositive, "forward and backward, or one update"},
      {kBenchmark, "bytes", "bytes", kPositive, "largest memory held beyond inputs and outputs"},
      {kBenchmark, "error", "1", kPositive, "relative distance of the result from the same in float64"},
      {kBenchmark, "distance_to_polar", "1", kPositive,
       "relative distance of the orthogonalised matrix from U V^T, where the matrix is U S V^T"},
      {kBenchmark, "instructions", "1", kPositive, "of one call with one thread, counted by valgrind"},
      {kBenchmark, "mask_instructions", "1", kPositive, "of them those of attention's element mask"},
      {kBenchmark, "cache_misses", "1", kPositive,
       "of data in a simulated first-level cache of 32 KiB, one call with one thread, counted by valgrind"},

      {kCounter, "parameters", "1", kPositive, "of the whole model"},
      {kCounter, "value_table_parameters", "1", kPositive, "of the value embeddings"},
      {kCounter, "gradient_bytes", "bytes", kPositive,
       "of all gradients of one process, in the type of each parameter"},
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
      {kCounter, "cut_documents", "documents", kPositive,
       "documents that a training sequence begins or ends inside of"},
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
}

}  // namespace

const std::vector<ClaimMetric>& claim_metrics() {
  static const std::vector<ClaimMetric> metrics = make_metrics();
  return metrics;
}

const ClaimMetric* find_claim_metric(MeasureKind kind, const std::string& name) {
  for (const ClaimMetric& metric : claim_metrics()) {
    if (metric.kind == kind && metric.name == name) return &metric;
  }
  return nullptr;
}

}  // namespace nanobench::ablations

// Profiles and costs of whole runs: what is written, what is counted, and that neither changes what is learned.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "core/config/cost_model.h"
#include "core/config/schedule.h"
#include "core/data/block_mask.h"
#include "engine/train/run_profile.h"
#include "tests/engine/distributed/tiny_run.h"
#include "tests/engine/training_support.h"

namespace nanobench::core::testing {
namespace {

/// A name for a file that is gone afterwards.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / (name + "_" + std::to_string(getpid()) + ".json")) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// All counters but those of the process's memory, which no configuration determines.
std::map<std::string, double> counters_of(const EventLog& log) {
  std::map<std::string, double> counters;
  for (const RunEvent& event : log.events) {
    const auto* counter = std::get_if<CounterEvent>(&event);
    if (counter == nullptr) continue;
    const std::string& name = counter->name;
    const bool is_resident = name == "memory/before_model_bytes" || name == "memory/training_bytes";
    if (!is_resident) counters[name] = counter->value;
  }
  return counters;
}

const OpProfile* find_op(const StepProfile& profile, const std::string& phase, const std::string& op) {
  for (const OpProfile& row : profile.ops) {
    if (row.phase == phase && row.op == op) return &row;
  }
  return nullptr;
}

/// FLOPs of the blocks' matrix products, by whichever ops they go through.
double product_flops(const StepProfile& profile, const std::string& phase) {
  double flops = 0;
  for (const char* op : {"linear", "qkv", "mlp"}) {
    if (const OpProfile* row = find_op(profile, phase, op)) flops += row->flops;
  }
  return flops;
}

struct Profiled {
  Json trace;
  StepProfile summary;
  EventLog log;
};

Profiled profile_of(RunSpec spec) {
  const TemporaryFile file("nanobench_profile");
  spec.profile_file = file.path().string();
  Profiled profiled{.trace = {}, .summary = {}, .log = train_to_the_end(spec)};
  profiled.trace = read_json_file(file.path());
  profiled.summary = read_step_profile(profiled.trace.at("nanobench"), "profile");
  return profiled;
}

TEST(Profile, HasTheTimedStepsByPhaseAndOp) {
  const TinyRun run;
  const Profiled profiled = profile_of(run.spec(1));
  const StepProfile& profile = profiled.summary;
  EXPECT_EQ(profile.steps, 3) << "four, the first untimed";
  EXPECT_GT(profile.sgemm_gflops.value_or(0), 0);
  for (const auto& [phase, op] : std::vector<std::pair<std::string, std::string>>{{"data", "fetch"},
                                                                                  {"data", "block_mask"},
                                                                                  {"forward", "embedding"},
                                                                                  {"forward", "attention"},
                                                                                  {"forward", "head"},
                                                                                  {"backward", "attention"},
                                                                                  {"backward", "gradient_accumulation"},
                                                                                  {"optimizer", "muon"},
                                                                                  {"optimizer", "adam"}}) {
    const OpProfile* row = find_op(profile, phase, op);
    ASSERT_NE(row, nullptr) << phase << " " << op;
    EXPECT_GT(row->calls, 0);
    EXPECT_GT(row->total_ms, 0);
  }
  double ms = profile.unaccounted_ms();
  for (const OpProfile& op : profile.ops) ms += op.self_ms;
  EXPECT_NEAR(ms, profile.steps_ms, 1e-6 * profile.steps_ms);
  EXPECT_LT(profile.unaccounted_ms(), 0.6 * profile.steps_ms);
}

void expect_counted_products(const RunSpec& spec) {
  const StepProfile profile = profile_of(spec).summary;
  const StepCost cost = training_cost(spec.config, AttentionCounts(), profile.steps);
  const double linear = cost.at(OpFamily::kLinear, CostPhase::kForward).flops;
  EXPECT_DOUBLE_EQ(product_flops(profile, "forward"), linear);
  EXPECT_DOUBLE_EQ(product_flops(profile, "backward"), 2 * linear);
  EXPECT_GT(find_op(profile, "forward", "attention")->flops, 0);
}

TEST(Profile, CountsTheProductsThatAreDone) {
  const TinyRun run;
  RunSpec spec = run.spec(1);
  expect_counted_products(spec);
  spec.dtype = Dtype::kFloat64;  // one tensor operation after the other
  expect_counted_products(spec);
  const StepProfile profile = profile_of(spec).summary;
  const OpProfile* linear = find_op(profile, "forward", "linear");
  ASSERT_NE(linear, nullptr);
  const double bytes =
      training_cost(spec.config, AttentionCounts(), profile.steps, 8).at(OpFamily::kLinear, CostPhase::kForward).bytes;
  EXPECT_NEAR(linear->bytes, bytes, 0.01 * bytes) << "inputs, weights and outputs, once each";
}

TEST(Profile, ChangesNoBitOfTheRunAndLeavesNothingBehind) {
  const TinyRun run;
  const RunSpec spec = run.spec(1);
  const std::vector<double> plain = step_losses(spec);
  const Profiled profiled = profile_of(spec);
  EXPECT_EQ(profiler(), nullptr);
  std::vector<double> losses;
  for (const RunEvent& event : profiled.log.events) {
    if (const auto* step = std::get_if<StepEvent>(&event)) losses.push_back(step->loss);
  }
  EXPECT_EQ(losses, plain);
  const std::map<std::string, double> counters = counters_of(profiled.log);
  EXPECT_TRUE(counters.contains("profile/sgemm_gflops"));
  EXPECT_TRUE(counters.contains("profile/unaccounted_ms"));
}

TEST(Profile, OfARunOfProcessesIsTheFirstOnes) {
  const TinyRun run;
  EXPECT_EQ(profile_of(run.spec(2)).summary.steps, 3);
}

TEST(Profile, StopsAtTheMostSteps) {
  RunProfile profile(1, nullptr);
  for (std::int64_t step = 0; step < kMaxProfiledSteps + 5; ++step) const RunProfile::Step scope(profile, step);
  EXPECT_EQ(profile.summary().steps, kMaxProfiledSteps);
}

TEST(Cost, IsReportedByEveryRunAndTheSameEachTime) {
  const TinyRun run;
  const std::map<std::string, double> first = counters_of(train_to_the_end(run.spec(1)));
  EXPECT_EQ(counters_of(train_to_the_end(run.spec(1))), first);
  for (const char* name : {"cost/flops", "cost/flops_per_step", "cost/bytes", "cost/bytes_per_step",
                           "cost/visited_blocks", "cost/visited_blocks_per_step", "cost/visible_pairs_per_step",
                           "cost/flops_per_step/attention", "cost/bytes_per_step/backward"}) {
    ASSERT_TRUE(first.contains(name)) << name;
    EXPECT_GT(first.at(name), 0) << name;
  }
  EXPECT_EQ(first.at("cost/flops_per_step") * 4, first.at("cost/flops"));
  double families = 0;
  for (std::size_t i = 0; i < kOpFamilies; ++i)
    families += first.at("cost/flops_per_step/" + enum_name(static_cast<OpFamily>(i)));
  EXPECT_NEAR(families, first.at("cost/flops_per_step"), 1e-9 * families);
}

TEST(Cost, OfProcessesCountsAllOfTheirSequences) {
  const TinyRun run;
  const std::map<std::string, double> one = counters_of(train_to_the_end(run.spec(1)));
  const std::map<std::string, double> two = counters_of(train_to_the_end(run.spec(2)));
  EXPECT_EQ(two.at("cost/visited_blocks"), one.at("cost/visited_blocks"));
  EXPECT_EQ(two.at("cost/flops_per_step/attention"), one.at("cost/flops_per_step/attention"));
  EXPECT_EQ(two.at("cost/flops_per_step/adam"), 2 * one.at("cost/flops_per_step/adam"));
}

TEST(Cost, WarmupIterationsDoNotCount) {
  const TinyRun run;
  RunSpec spec = run.spec(1);
  const std::map<std::string, double> plain = counters_of(train_to_the_end(spec));
  spec.config.run.warmup_iterations = 2;
  EXPECT_EQ(counters_of(train_to_the_end(spec)), plain);
}

TEST(Cost, DocumentsOnlyMakeItLess) {
  const TinyRun run;
  RunSpec spec = run.spec(1);
  const double counted = counters_of(train_to_the_end(spec)).at("cost/visible_pairs");
  double bound = 0;
  for (std::int64_t step = 0; step < spec.config.run.stop_after; ++step) {
    const auto window = window_tokens(spec.config.attention.window.schedule, step, spec.config.schedule.num_steps);
    const AttentionCounts counts = counts_without_documents(spec.config, window, std::nullopt);
    bound += static_cast<double>(training_cost(spec.config, counts).visible_pairs);
  }
  EXPECT_LT(counted, bound);
  spec.config.attention.document_mask = false;
  EXPECT_EQ(counters_of(train_to_the_end(spec)).at("cost/visible_pairs"), bound);
}

std::int64_t listed(const BlockList& list) {
  std::int64_t count = 0;
  for (const std::int32_t of_row : list.counts) count += of_row;
  return count;
}

TEST(CountMask, IsWhatTheBlockListsHold) {
  std::uint32_t state = 7;
  for (int round = 0; round < 60; ++round) {
    std::vector<std::uint16_t> tokens;
    for (int i = 0; i < 96; ++i) {
      state = state * 1664525U + 1013904223U;
      tokens.push_back((state >> 24) % 32 < 2 ? 0 : 1);
    }
    for (const WindowGranularity granularity :
         {WindowGranularity::kToken, WindowGranularity::kTokenBlockClipped, WindowGranularity::kBlock}) {
      for (const std::int64_t block : {1, 4, 16}) {
        for (const std::optional<std::int64_t> window : {std::optional<std::int64_t>(), {16}, {48}}) {
          const BlockMask mask(
              tokens,
              {.block_size = block, .document_separator = 0, .granularity = granularity, .window_tokens = window});
          const MaskCounts counts = count_mask(mask.first_key(), block, granularity);
          EXPECT_EQ(counts.full_blocks, listed(mask.full_blocks()));
          EXPECT_EQ(counts.visited_blocks, listed(mask.full_blocks()) + listed(mask.partial_blocks()));
          EXPECT_EQ(counts.visible_pairs, mask.allowed_pairs());
        }
      }
    }
  }
}

}  // namespace
}  // namespace nanobench::core::testing

/// Whole runs on an emulated GPU.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/train/trainer.h"
#include "tests/engine/cuda_plugin/emulated_plugin.h"
#include "tests/engine/distributed/tiny_run.h"
#include "tests/engine/training_support.h"

namespace nanobench::core::testing {

/// Four layers of two heads of 16 numbers, in bfloat16, whose window grows in every step.
inline RunSpec spec_of(const TinyRun& run, const std::string& patch = "{}") {
  RunSpec spec = run.spec(1);
  Json json(to_json(spec.config));
  json.merge_patch(parse_json(R"({
    "model": {"rope": {"max_seq_len": 128}},
    "attention": {"window": {"schedule": {"start_tokens": 16, "end_tokens": 96}}},
    "data": {"sequence_length": 128, "sequences_per_step": 2, "ranks": 1, "val_sequences": 1},
    "schedule": {"num_steps": 3}, "run": {"stop_after": 3, "val_every": 3},
    "precision": {"activations": "bfloat16"}})",
                              "patch"));
  json.merge_patch(parse_json(patch, "patch"));
  spec.config = read_train_config(json, "patched");
  spec.threads = 1;
  return spec;
}

struct Trained {
  std::vector<double> losses;
  std::map<std::string, std::string> environment;
  std::vector<std::string> warnings;
  bool has_replayed = false;
  std::map<std::string, double> counters;
  std::set<std::int64_t> peak_bytes;  ///< of all events that say one
  std::string told;
};

inline Trained train(const RunSpec& spec) {
  const EmulatedPlugin plugin;
  const RunDevice device = plugin.open(spec.config.gpu);
  EventLog log;
  SingleProcess alone;
  EXPECT_EQ(Trainer(spec, log, kNeverStop, alone, device).run(), RunOutcome::kCompleted);
  Trained trained;
  trained.told = plugin.told.text();
  for (const RunEvent& event : log.events) {
    if (const auto* hello = std::get_if<HelloEvent>(&event)) trained.environment = hello->environment;
    if (const auto* warning = std::get_if<WarningEvent>(&event)) trained.warnings.push_back(warning->message);
    if (const auto* counter = std::get_if<CounterEvent>(&event)) trained.counters[counter->name] = counter->value;
    if (const auto* memory = std::get_if<MemoryEvent>(&event)) trained.peak_bytes.insert(memory->peak_bytes);
    if (const auto* finished = std::get_if<FinishedEvent>(&event)) trained.peak_bytes.insert(finished->peak_bytes);
    if (const auto* eval = std::get_if<EvalEvent>(&event)) trained.losses.push_back(eval->loss);
    if (const auto* step = std::get_if<StepEvent>(&event)) {
      trained.losses.push_back(step->loss);
      trained.has_replayed |= step->phases_ms.contains("replay");
    }
  }
  return trained;
}

}  // namespace nanobench::core::testing

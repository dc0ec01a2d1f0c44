#include "engine/train/evaluation_run.h"

#include <ATen/Parallel.h>

#include "core/base/build_info.h"
#include "core/base/input_file.h"
#include "core/config/schedule.h"
#include "core/data/safetensors_header.h"
#include "core/hardware/processors.h"
#include "core/process/resource_limits.h"
#include "engine/distributed/communicator.h"
#include "engine/kernels/engine_context.h"
#include "engine/train/checkpoint.h"
#include "engine/train/choice_evaluation.h"
#include "engine/train/engine_facts.h"

namespace nanobench::core {
namespace {

/// Steps that the file's model was trained for.
std::int64_t trained_steps(const RunSpec& spec) {
  const InputFile in(*spec.init_file);
  const auto header = checkpoint_header(read_safetensors_metadata(in, *spec.init_file), *spec.init_file);
  return header ? header->step : spec.config.run.stop_after;
}

}  // namespace

RunOutcome run_evaluations(const RunSpec& spec, MetricSink& sink, const std::atomic<bool>& stop,
                           const RunDevice& device) {
  GPT model(spec.config, spec.dtype == Dtype::kFloat64 ? at::kDouble : at::kFloat, device.device());
  const int threads = spec.threads > 0 ? spec.threads : available_processors();
  EngineContext::current().set_threads(threads, spec.pin_threads ? std::optional<int>(0) : std::nullopt);
  at::set_num_threads(model.fuses_blocks(Pass::kValidation) ? 1 : threads);
  const std::int64_t step = trained_steps(spec);
  model.parameters().assign(read_parameters(*spec.init_file), *spec.init_file);
  if (window_changes_attention(spec.config.model))
    model.follow_windows(window_history(spec.config.attention, spec.config.schedule, step));
  HelloEvent hello{.engine = "nanobench-train", .engine_version = version_text(), .environment = engine_facts(spec)};
  for (const auto& [name, value] : device.facts()) hello.environment[name] = value;
  hello.threads = threads;
  hello.parameters = model.parameters().count();
  sink.report(hello);
  SingleProcess alone;
  if (!answer_evaluations(spec.evaluations, model, spec.config, step, alone, sink, [&] { return stop.load(); })) {
    sink.report(FailedEvent{RunOutcome::kInterrupted, "stopped while it was evaluated"});
    return RunOutcome::kInterrupted;
  }
  const std::optional<DeviceMemory> memory = device.memory();
  sink.report(FinishedEvent{.steps = 0,
                            .timed_steps = 0,
                            .train_ms = {},
                            .final_val_loss = {},
                            .peak_bytes = memory ? memory->peak_allocated_bytes : peak_memory_bytes()});
  return RunOutcome::kCompleted;
}

}  // namespace nanobench::core

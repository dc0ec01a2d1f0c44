/// Summarises the spans of training steps by phase and op, and writes them as a Chrome trace. Pure functions and plain
/// values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/base/op_timer.h"

namespace nanobench::core {

/// All spans of one op in one phase.
struct OpProfile {
  std::string phase;  ///< "": in a step, outside its phases
  std::string op;
  std::int64_t calls = 0;
  double total_ms = 0;
  double self_ms = 0;  ///< without the ops inside it
  double flops = 0;    ///< own FLOPs
  double bytes = 0;
};

struct PhaseProfile {
  std::string phase;
  double total_ms = 0;
  double self_ms = 0;  ///< time not covered by any op
  double flops = 0;    ///< FLOPs of its ops
  double bytes = 0;
};

/// Time of some steps on the training thread. The work of other threads appears only in the trace.
struct StepProfile {
  std::int64_t steps = 0;
  double steps_ms = 0;                 ///< total time of all steps
  double other_ms = 0;                 ///< time outside phases that no op covers
  std::vector<PhaseProfile> phases;    ///< in the order in which they began
  std::vector<OpProfile> ops;          ///< longest self time first
  std::optional<double> sgemm_gflops;  ///< rate of float32 products in the same process, if measured
  std::optional<double> gpu_gflops;    ///< that of the GPU's products, in the type of the run's, in its place

  /// Time that no op covers, inside and outside phases.
  double unaccounted_ms() const;
  double flops() const;
};

/// Summarises the steps, phases and ops of one thread (Span::thread).
StepProfile summarize_spans(std::span<const Span> spans, int thread);

/// {"schema_version", "steps", "steps_ms", "other_ms", "unaccounted_ms", "flops", "gflops", "sgemm_gflops",
/// ["gpu_gflops",] "phases", "ops"}; rows have "share" (self time, or the total time of a phase, relative to the steps)
/// and "gflops" (per second of self time).
Json to_json(const StepProfile& profile);
/// Throws Error{kDataLoss} naming `source` for anything that to_json did not write.
StepProfile read_step_profile(const Json& value, const std::string& source);

/// Trace Event Format (chrome://tracing, Perfetto) as one JSON text: complete events with microseconds since the first
/// span, names of the process and its threads, and `summary` under the key "nanobench".
std::string chrome_trace(std::span<const Span> spans, std::span<const std::string> threads, std::string_view process,
                         const StepProfile& summary);

inline constexpr int kProfileSchemaVersion = 1;

}  // namespace nanobench::core

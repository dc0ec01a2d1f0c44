/// Spans of training steps, summed up by phase and op, and as a Chrome trace. Pure functions and plain values.
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
  std::string phase;  ///< "": in a step, outside of its phases
  std::string op;
  std::int64_t calls = 0;
  double total_ms = 0;
  double self_ms = 0;  ///< without the ops inside it
  double flops = 0;    ///< of itself
  double bytes = 0;
};

struct PhaseProfile {
  std::string phase;
  double total_ms = 0;
  double self_ms = 0;  ///< what no op accounts for
  double flops = 0;    ///< of its ops
  double bytes = 0;
};

/// What some steps spent on the thread that trains. What other threads did meanwhile is in the trace alone.
struct StepProfile {
  std::int64_t steps = 0;
  double steps_ms = 0;                 ///< of all of them
  double other_ms = 0;                 ///< outside of phases, what no op accounts for
  std::vector<PhaseProfile> phases;    ///< in the order in which they began
  std::vector<OpProfile> ops;          ///< longest self time first
  std::optional<double> sgemm_gflops;  ///< float32 products of the same process, where they were measured

  /// What no op accounts for, in phases and outside.
  double unaccounted_ms() const;
  double flops() const;
};

/// Sums up the steps, phases and ops of one thread (Span::thread).
StepProfile summarize_spans(std::span<const Span> spans, int thread);

/// {"schema_version", "steps", "steps_ms", "other_ms", "unaccounted_ms", "flops", "gflops", "sgemm_gflops", "phases",
/// "ops"}; rows have "share" (of self time in the steps, of phases the total) and "gflops" (per second of self time).
Json to_json(const StepProfile& profile);
/// Throws Error{kDataLoss} naming `source` for anything that to_json did not write.
StepProfile read_step_profile(const Json& value, const std::string& source);

/// Trace Event Format (chrome://tracing, Perfetto) as one JSON text: complete events with microseconds from the first
/// span on, names of process and threads, and `summary` under the key "nanobench".
std::string chrome_trace(std::span<const Span> spans, std::span<const std::string> threads, std::string_view process,
                         const StepProfile& summary);

inline constexpr int kProfileSchemaVersion = 1;

}  // namespace nanobench::core

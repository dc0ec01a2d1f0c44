/// A run that measures one operation instead of training. Arms alternate, so that machine drift cancels out.
#pragma once

#include <atomic>

#include "core/protocol/run_spec.h"
#include "engine/train/run_counters.h"

namespace nanobench::core {

/// Reports a hello, the counter operation_counter(arm, metric) of each arm once per repetition, and the end. Metrics,
/// for one call:
///   time_ms, gflops      the arms alternate after one call each; the order reverses with each repetition
///   bytes                max memory held by tensors and kernels beyond inputs and results, in the second call
///   error                relative distance from the float64 result
///   distance_to_polar    relative distance of the orthogonalised matrix from U V^T
///   instructions, mask_instructions, cache_misses, cache_miss_share    under valgrind (operation_cost.h)
///   call                 makes one call and reports nothing
/// Throws Error{kInvalidArgument} for a metric that the operation lacks, Error{kUnavailable} without valgrind.
RunOutcome run_operation(const RunSpec& spec, MetricSink& sink, const std::atomic<bool>& stop);

}  // namespace nanobench::core

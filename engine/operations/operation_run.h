/// A run that measures one operation instead of training: the arms in turn, so that machine drift cancels out.
#pragma once

#include <atomic>

#include "core/protocol/run_spec.h"
#include "engine/train/run_counters.h"

namespace nanobench::core {

/// Reports a hello, the counter operation_counter(arm, metric) of each arm once for each repetition, and the end. The
/// metrics, of one call:
///   time_ms, gflops      the arms in turn after one call each; the order turns round with each repetition
///   bytes                largest memory that tensors and kernels held beyond inputs and results, in the second call
///   error                relative distance from the same in float64
///   distance_to_polar    of the orthogonalised from U V^T, relative
///   instructions, mask_instructions, cache_misses    under valgrind (valgrind_count.h)
///   call                 makes one call and reports nothing
/// Throws Error{kInvalidArgument} for what the operation does not have, Error{kUnavailable} without valgrind.
RunOutcome run_operation(const RunSpec& spec, MetricSink& sink, const std::atomic<bool>& stop);

}  // namespace nanobench::core

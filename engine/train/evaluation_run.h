/// A run that only answers evaluations, with the parameters of a file.
#pragma once

#include <atomic>

#include "core/protocol/run_spec.h"
#include "engine/train/run_counters.h"
#include "engine/train/run_device.h"

namespace nanobench::core {

/// Reports a hello, the items and results of spec.evaluations, and the end. One process, whatever
/// distributed.processes says; reads no shards. A checkpoint (engine/train/checkpoint.h) says for how many steps its
/// model was trained; other parameters count as those of the last step. Throws Error for files that cannot be read or
/// do not fit together.
RunOutcome run_evaluations(const RunSpec& spec, MetricSink& sink, const std::atomic<bool>& stop,
                           const RunDevice& device);

}  // namespace nanobench::core

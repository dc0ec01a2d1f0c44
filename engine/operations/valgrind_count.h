/// Counts what one call of an operation takes, in a process of its own under valgrind: instructions, those of
/// attention's mask, misses of a simulated cache. Nearly free of noise, and of the processor that valgrind emulates
/// (AVX2 at most).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/protocol/run_spec.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// Whether the metric is counted this way.
bool is_counted_by_valgrind(const std::string& metric);

/// Makes the one call that is counted; the name of this function is what valgrind waits for.
void make_counted_call(const std::function<std::vector<at::Tensor>()>& call);

/// The metric of the specification's only arm. This program starts again under valgrind with one thread, which takes
/// about a minute. Throws Error{kUnavailable} when valgrind is missing or reports nothing.
double count_by_valgrind(const RunSpec& spec);

/// The numbers after "Collected :" of what callgrind logs, in the order of "Events    :"; empty when there are none.
std::map<std::string, double> callgrind_totals(const std::string& log);

}  // namespace nanobench::core

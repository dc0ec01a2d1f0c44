/// What an operation costs beside its time: the memory of its tensors, and the instructions that valgrind counts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/protocol/run_spec.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// The largest number of bytes that tensors of this thread held at once, beyond those that were there before. Not
/// thread-safe; one at a time.
class AllocationMeter {
 public:
  /// Counts from here until it goes away.
  AllocationMeter();
  ~AllocationMeter();
  AllocationMeter(const AllocationMeter&) = delete;
  AllocationMeter& operator=(const AllocationMeter&) = delete;

  std::int64_t peak_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

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

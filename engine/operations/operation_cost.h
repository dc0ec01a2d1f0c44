/// Costs of an operation other than time: the memory of its tensors, and the instructions counted by valgrind.
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

/// Max bytes held at once by tensors of this thread, excluding tensors that existed before. Not thread-safe; one at a
/// time.
class AllocationMeter {
 public:
  /// Counts from construction until destruction.
  AllocationMeter();
  ~AllocationMeter();
  AllocationMeter(const AllocationMeter&) = delete;
  AllocationMeter& operator=(const AllocationMeter&) = delete;

  std::int64_t peak_bytes() const;
  /// What is held now.
  std::int64_t held_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether valgrind counts this metric.
bool is_counted_by_valgrind(const std::string& metric);

/// Makes the one counted call; valgrind starts counting at this function's name.
void make_counted_call(const std::function<std::vector<at::Tensor>()>& call);

/// Returns the metric of the specification's only arm. Restarts this program under valgrind with one thread, which
/// takes about a minute. Throws Error{kUnavailable} when valgrind is missing or reports nothing.
double count_by_valgrind(const RunSpec& spec);

/// The numbers after "Collected :" in a callgrind log, by name from "Events    :"; empty if there are none.
std::map<std::string, double> callgrind_totals(const std::string& log);

}  // namespace nanobench::core

/// Whose processes are on a GPU: those of one run, or others'. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace nanobench::core {

/// Whether the process is `root`, or was started by it or by one that was. False for one that is gone.
bool is_of_family(std::int64_t pid, std::int64_t root);

/// Whether this process sees all processes under the numbers that a driver gives them: not in a container.
bool counts_as_driver();

/// Told which processes are on a GPU, again and again, it says who was there besides `root` and its descendants.
class GpuProcessWatch {
 public:
  GpuProcessWatch(std::int64_t root, bool counts_as_driver) : root_(root), is_sure_(counts_as_driver) {}

  void see(const std::vector<std::int64_t>& pids);

  /// Ascending. nullopt where it cannot be told: nothing was ever seen, or the driver counts processes otherwise than
  /// we do, as it may in a container, and none of ours was among them.
  std::optional<std::vector<std::int64_t>> others() const;

 private:
  std::int64_t root_;
  bool is_sure_;  ///< numbers mean the same here and to the driver
  bool has_seen_ = false;
  std::set<std::int64_t> own_;
  std::set<std::int64_t> others_;
};

}  // namespace nanobench::core

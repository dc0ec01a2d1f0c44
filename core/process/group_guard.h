/// Kills process groups when this process ends, however it ends. The kernel's own signal (child_process.h) reaches the
/// first process of a group alone, so that the others of a paused group would stay, and stay paused. Linux.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "core/process/streams.h"

namespace nanobench::core {

/// A process of its own, which waits for the end of this one. Not thread-safe.
class GroupGuard {
 public:
  static constexpr std::size_t kMaxGroups = 64;  ///< at a time

  /// Throws Error{kUnavailable}.
  GroupGuard();
  /// Groups that are still watched are killed.
  ~GroupGuard();
  GroupGuard(const GroupGuard&) = delete;
  GroupGuard& operator=(const GroupGuard&) = delete;

  void watch(pid_t group) const;
  /// Call before the group's number can be another's: before its first process is waited for, or at once after.
  void forget(pid_t group) const;

 private:
  pid_t pid_ = -1;
  Fd orders_;
};

}  // namespace nanobench::core

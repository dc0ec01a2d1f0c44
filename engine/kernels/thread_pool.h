/// The threads that kernels run on. Plain C++.
///
/// Work is divided into items that any thread may take next, so a core used by another program delays only the items it
/// holds. The result of an item must not depend on which thread takes it.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace nanobench::core {

/// A fixed set of threads that wait between calls: first spinning (about 50 us), then asleep. A call made while another
/// one runs (from an item, or from another thread) runs its items in the calling thread.
class ThreadPool {
 public:
  /// `threads`: at least 1, including the calling thread. With `first_processor`, thread i is pinned to processor
  /// first_processor + i of those that this process may use (the calling thread, which must destroy the pool, to the
  /// first). The option is ignored if there are too few processors.
  explicit ThreadPool(int threads, std::optional<int> first_processor = std::nullopt);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls body(i) for every i in [0, count), in any order and on any thread, and returns when all calls are done.
  /// `body` must not throw.
  template <class Body>
  void parallel_for(std::int64_t count, Body&& body) {
    run(
        count, [](void* context, std::int64_t i) { (*static_cast<std::remove_reference_t<Body>*>(context))(i); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  using Item = void (*)(void* context, std::int64_t i);

  void run(std::int64_t count, Item item, void* context);
  void share(std::int64_t count, Item item, void* context);
  void work();
  void take_items(std::uint32_t round);
  std::uint32_t wait_for_round(std::uint32_t last);

  // Upper half: round; lower half: next item. An item is taken only from the round it was looked up for.
  std::atomic<std::uint64_t> ticket_{0};
  std::atomic<std::uint32_t> round_{0};  ///< what sleeping threads wait on
  std::atomic<std::int64_t> done_{0};
  std::atomic<std::int64_t> count_{0};
  std::atomic<Item> item_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::atomic<bool> is_ending_{false};
  std::atomic_flag is_busy_;
  std::optional<cpu_set_t> mask_before_;  ///< previous mask of the calling thread, if pinned
  std::vector<std::thread> workers_;
};

/// The threads of the current EngineContext (engine/kernels/engine_context.h).
ThreadPool& kernel_threads();

}  // namespace nanobench::core

/// Functions carried out one after the other on a thread of its own. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

namespace nanobench::core {

/// The thread starts with the first function.
class WorkQueue {
 public:
  WorkQueue() = default;
  /// Carries out what is left.
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  std::future<void> submit(std::function<void()> function);
  /// Nothing waits and nothing runs.
  bool is_idle();

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> tasks_;
  bool is_busy_ = false;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace nanobench::core

/// The Communicator of processes on one host: through shared memory, chunk by chunk, so that any tensor passes through
/// bounded memory.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "core/distributed/communicator.h"
#include "core/distributed/shared_segment.h"

namespace nanobench::core {

/// Carries out functions one after the other on a thread of its own, which starts with the first of them.
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

/// Blocking collectives run in the calling thread when nothing else is under way. The segment must outlive it.
class SharedMemoryCommunicator final : public Communicator {
 public:
  SharedMemoryCommunicator(SharedSegment& segment, int rank);

  int rank() const override { return rank_; }
  int size() const override { return segment_.size(); }
  double waited_ms() const override { return waited_ms_; }

 protected:
  void run(const Collective& collective) override;
  WorkHandle start(const Collective& collective) override;

 private:
  void carry_out(const Collective& collective);
  void all_reduce(const at::Tensor& tensor);
  template <class T>
  void all_reduce_as(T* data, std::int64_t count);
  void all_gather(const std::byte* input, const std::vector<at::Tensor>& outputs, std::size_t bytes);
  void broadcast(std::byte* data, std::size_t bytes, int root);
  void meet(Collective::Kind kind, std::size_t bytes);

  SharedSegment& segment_;
  int rank_;
  double waited_ms_ = 0.0;
  WorkQueue queue_;
};

}  // namespace nanobench::core

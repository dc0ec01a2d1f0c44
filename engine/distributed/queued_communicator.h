/// The Communicator over a Transport: asynchronous collectives run on a dedicated thread, in the order of issue.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/distributed/communicator.h"
#include "engine/distributed/transport.h"

namespace nanobench::core {

/// Runs functions one at a time on its own thread, which starts with the first function. Thread-safe.
class WorkQueue {
 public:
  WorkQueue() = default;
  /// Runs the remaining functions.
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  std::future<void> submit(std::function<void()> function);
  /// Whether no function is queued or running.
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

/// Blocking collectives run in the calling thread if no other collective is in progress.
class QueuedCommunicator final : public Communicator {
 public:
  /// All processes on one host.
  explicit QueuedCommunicator(std::unique_ptr<Transport> transport)
      : transport_(std::move(transport)), host_share_{transport_->rank(), transport_->size()} {}
  QueuedCommunicator(std::unique_ptr<Transport> transport, const HostShare& host_share)
      : transport_(std::move(transport)), host_share_(host_share) {}

  int rank() const override { return transport_->rank(); }
  int size() const override { return transport_->size(); }
  std::string name() const override { return transport_->name(); }
  HostShare host_share() const override { return host_share_; }
  double waited_ms() const override { return waited_ms_; }
  std::optional<CollectiveTimes> times() const override;

 protected:
  void run(const Collective& collective) override;
  WorkHandle start(const Collective& collective) override;

 private:
  static constexpr std::size_t kKinds = 5;  ///< of Collective::Kind

  /// In either thread.
  void carry_out(const Collective& collective);

  std::unique_ptr<Transport> transport_;
  HostShare host_share_;
  double waited_ms_ = 0.0;
  mutable std::mutex times_mutex_;
  std::array<double, kKinds> kind_ms_{};
  WorkQueue queue_;  ///< declared last: its thread uses the transport
};

}  // namespace nanobench::core

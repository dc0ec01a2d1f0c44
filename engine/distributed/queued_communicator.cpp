#include "engine/distributed/queued_communicator.h"

#include <chrono>

namespace nanobench::core {

WorkQueue::~WorkQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::future<void> WorkQueue::submit(std::function<void()> function) {
  std::packaged_task<void()> task(std::move(function));
  std::future<void> done = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  }
  changed_.notify_one();
  return done;
}

bool WorkQueue::is_idle() {
  const std::lock_guard lock(mutex_);
  return tasks_.empty() && !is_busy_;
}

void WorkQueue::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::packaged_task<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    is_busy_ = true;
    lock.unlock();
    task();
    task = {};  // lets go of the tensors before anybody is told that nothing runs
    lock.lock();
    is_busy_ = false;
  }
}

namespace {

using SteadyClock = std::chrono::steady_clock;

/// Adds the milliseconds of its scope.
class WaitTimer {
 public:
  explicit WaitTimer(double& total_ms) : total_ms_(total_ms), start_(SteadyClock::now()) {}
  ~WaitTimer() { total_ms_ += std::chrono::duration<double, std::milli>(SteadyClock::now() - start_).count(); }
  WaitTimer(const WaitTimer&) = delete;
  WaitTimer& operator=(const WaitTimer&) = delete;

 private:
  double& total_ms_;
  SteadyClock::time_point start_;
};

class QueuedWork final : public Work {
 public:
  QueuedWork(std::future<void> done, double& waited_ms) : done_(std::move(done)), waited_ms_(waited_ms) {}
  void wait() override {
    if (!done_.valid()) return;
    const WaitTimer timer(waited_ms_);
    done_.get();
  }

 private:
  std::future<void> done_;
  double& waited_ms_;
};

}  // namespace

void QueuedCommunicator::run(const Collective& collective) {
  const WaitTimer timer(waited_ms_);
  if (queue_.is_idle()) {
    carry_out(collective);
  } else {
    queue_.submit([this, collective] { carry_out(collective); }).get();
  }
}

WorkHandle QueuedCommunicator::start(const Collective& collective) {
  return std::make_shared<QueuedWork>(queue_.submit([this, collective] { carry_out(collective); }), waited_ms_);
}

void QueuedCommunicator::carry_out(const Collective& collective) {
  double ms = 0.0;
  {
    const WaitTimer timer(ms);
    transport_->carry_out(collective);
  }
  const std::lock_guard lock(times_mutex_);
  kind_ms_[static_cast<std::size_t>(collective.kind)] += ms;
}

std::optional<CollectiveTimes> QueuedCommunicator::times() const {
  using Kind = Collective::Kind;
  const std::lock_guard lock(times_mutex_);
  const auto of = [this](Kind kind) { return kind_ms_[static_cast<std::size_t>(kind)]; };
  return CollectiveTimes{.all_reduce_ms = of(Kind::kAllReduceSum),
                         .all_gather_ms = of(Kind::kAllGather),
                         .broadcast_ms = of(Kind::kBroadcast),
                         .reduce_scatter_ms = of(Kind::kReduceScatterSum)};
}

}  // namespace nanobench::core

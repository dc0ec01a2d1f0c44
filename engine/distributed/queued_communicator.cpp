#include "engine/distributed/queued_communicator.h"

#include <chrono>

namespace nanobench::core {
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
    transport_->carry_out(collective);
  } else {
    queue_.submit([this, collective] { transport_->carry_out(collective); }).get();
  }
}

WorkHandle QueuedCommunicator::start(const Collective& collective) {
  return std::make_shared<QueuedWork>(queue_.submit([this, collective] { transport_->carry_out(collective); }),
                                      waited_ms_);
}

}  // namespace nanobench::core

#include "engine/distributed/work_queue.h"

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

}  // namespace nanobench::core

#include "engine/kernels/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>

namespace nanobench::core {
namespace {

constexpr std::uint64_t kItemBits = 32;
constexpr std::uint64_t kItemMask = (std::uint64_t{1} << kItemBits) - 1;
constexpr auto kLookingTime = std::chrono::microseconds(50);

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// Spins until is_ready() or the time is over; returns whether it is ready.
template <class Ready>
bool look_for(Ready&& is_ready) {
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 64; ++i) {
      if (is_ready()) return true;
      pause_briefly();
    }
  } while (std::chrono::steady_clock::now() - start < kLookingTime);
  return is_ready();
}

/// Pins the thread to the place-th processor of `allowed`.
void pin(pthread_t thread, const cpu_set_t& allowed, int place) {
  cpu_set_t one;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || place-- > 0) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(thread, sizeof(one), &one);
    return;
  }
}

}  // namespace

ThreadPool::ThreadPool(int threads, std::optional<int> first_processor) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  cpu_set_t allowed;
  if (!first_processor || sched_getaffinity(0, sizeof(allowed), &allowed) != 0 ||
      *first_processor + threads > CPU_COUNT(&allowed))
    return;
  mask_before_ = allowed;
  pin(pthread_self(), allowed, *first_processor);
  for (std::size_t i = 0; i < workers_.size(); ++i)
    pin(workers_[i].native_handle(), allowed, *first_processor + static_cast<int>(i) + 1);
}

ThreadPool::~ThreadPool() {
  is_ending_ = true;
  round_.fetch_add(1);
  round_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  if (mask_before_) pthread_setaffinity_np(pthread_self(), sizeof(*mask_before_), &*mask_before_);
}

void ThreadPool::run(std::int64_t count, Item item, void* context) {
  if (workers_.empty() || count <= 1 || is_busy_.test_and_set(std::memory_order_acquire)) {
    for (std::int64_t i = 0; i < count; ++i) item(context, i);
    return;
  }
  share(count, item, context);
  is_busy_.clear(std::memory_order_release);
}

void ThreadPool::share(std::int64_t count, Item item, void* context) {
  const std::uint32_t round = round_.load(std::memory_order_relaxed) + 1;
  // First make items unavailable: a thread with the last round's ticket would mistake one of these items for its own.
  ticket_.store(std::uint64_t{round} << kItemBits | kItemMask, std::memory_order_relaxed);
  item_.store(item, std::memory_order_relaxed);
  context_.store(context, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  count_.store(count, std::memory_order_release);  // who sees it sees that the last round is closed
  ticket_.store(std::uint64_t{round} << kItemBits, std::memory_order_release);
  round_.store(round, std::memory_order_seq_cst);
  round_.notify_all();
  take_items(round);
  if (look_for([&] { return done_.load(std::memory_order_acquire) == count; })) return;
  for (std::int64_t done = done_.load(std::memory_order_acquire); done != count;
       done = done_.load(std::memory_order_acquire))
    done_.wait(done, std::memory_order_acquire);
}

void ThreadPool::take_items(std::uint32_t round) {
  std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while (ticket >> kItemBits == round) {
    const std::int64_t count = count_.load(std::memory_order_acquire);
    const auto i = static_cast<std::int64_t>(ticket & kItemMask);
    if (i >= count) break;
    const Item item = item_.load(std::memory_order_relaxed);
    void* const context = context_.load(std::memory_order_relaxed);
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel)) continue;
    item(context, i);
    if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) done_.notify_one();
    ticket = ticket_.load(std::memory_order_acquire);
  }
}

std::uint32_t ThreadPool::wait_for_round(std::uint32_t last) {
  if (!look_for([&] { return round_.load(std::memory_order_acquire) != last; }))
    round_.wait(last, std::memory_order_acquire);
  return round_.load(std::memory_order_acquire);
}

void ThreadPool::work() {
  for (std::uint32_t round = 0;;) {
    round = wait_for_round(round);
    if (is_ending_) return;
    take_items(round);
  }
}

}  // namespace nanobench::core

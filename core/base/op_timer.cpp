#include "core/base/op_timer.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace nanobench::core {
namespace {

thread_local OpTimer* innermost_scope = nullptr;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::int64_t system_thread_id() {
  thread_local const std::int64_t id = syscall(SYS_gettid);
  return id;
}

}  // namespace

int Profiler::thread_index() {
  const std::int64_t id = system_thread_id();
  const auto found = std::find(thread_ids_.begin(), thread_ids_.end(), id);
  if (found != thread_ids_.end()) return static_cast<int>(found - thread_ids_.begin());
  thread_ids_.push_back(id);
  return static_cast<int>(thread_ids_.size()) - 1;
}

int Profiler::this_thread() {
  const std::lock_guard lock(mutex_);
  return thread_index();
}

void Profiler::add(Span span) {
  const std::lock_guard lock(mutex_);
  span.thread = thread_index();
  spans_.push_back(span);
}

std::vector<Span> Profiler::spans() const {
  const std::lock_guard lock(mutex_);
  return spans_;
}

std::vector<std::string> Profiler::threads() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const std::int64_t id : thread_ids_)
    names.push_back(id == getpid() ? "main" : "thread " + std::to_string(names.size()));
  return names;
}

OpTimer* OpTimer::innermost() {
  return innermost_scope;
}

void OpTimer::begin(Profiler& profiler, SpanKind kind, const char* name) {
  profiler_ = &profiler;
  kind_ = kind;
  name_ = name;
  phase_ = profiler.phase();
  if (kind == SpanKind::kPhase) profiler.set_phase(name);
  outer_ = innermost_scope;
  innermost_scope = this;
  start_ns_ = now_ns();
}

void OpTimer::end() {
  const std::int64_t end_ns = now_ns();
  const std::int64_t total_ns = end_ns - start_ns_;
  innermost_scope = outer_;
  if (outer_ != nullptr) outer_->inner_ns_ += total_ns;
  const bool is_phase = kind_ == SpanKind::kPhase;
  if (is_phase) profiler_->set_phase(phase_);
  profiler_->add({.name = name_,
                  .phase = is_phase ? name_ : phase_,
                  .kind = kind_,
                  .thread = 0,
                  .start_ns = start_ns_,
                  .end_ns = end_ns,
                  .self_ns = total_ns - inner_ns_,
                  .flops = flops_,
                  .bytes = bytes_});
}

}  // namespace nanobench::core

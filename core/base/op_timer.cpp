#include "core/base/op_timer.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <span>

namespace nanobench::core {
namespace {

constexpr double kNsPerMs = 1e6;

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

int Profiler::mark() {
  if (!marks_) return -1;
  const std::lock_guard lock(mutex_);
  return marks_->mark();
}

void Profiler::settle() {
  if (!marks_) return;
  const std::lock_guard lock(mutex_);
  const std::span<Span> spans = std::span(spans_).subspan(settled_);
  settled_ = spans_.size();
  if (spans.empty()) return;
  // Marks are numbered in the stream's order, so spans nest by their numbers.
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start_mark < b.start_mark; });
  const std::int64_t origin_ns = spans.front().start_ns;
  const int first = spans.front().start_mark, thread = thread_index();
  const auto time_of = [&](int mark) {
    return origin_ns + static_cast<std::int64_t>(marks_->elapsed_ms(first, mark) * kNsPerMs);
  };
  std::vector<Span*> open;
  for (Span& span : spans) {
    while (!open.empty() && open.back()->end_mark < span.start_mark) open.pop_back();
    span.start_ns = time_of(span.start_mark);
    span.end_ns = time_of(span.end_mark);
    span.self_ns = span.end_ns - span.start_ns;
    span.thread = thread;
    if (!open.empty()) open.back()->self_ns -= span.self_ns;
    open.push_back(&span);
  }
  marks_->reset();
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
  start_mark_ = profiler.mark();
}

void OpTimer::end() {
  const int end_mark = profiler_->mark();
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
                  .bytes = bytes_,
                  .start_mark = start_mark_,
                  .end_mark = end_mark});
}

}  // namespace nanobench::core

#include "suites/bench/timed_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/process/resource_limits.h"

namespace nanobench::suites {
namespace {

constexpr std::chrono::duration<double> kTimedTick{0.1};
constexpr std::chrono::duration<double> kWithoutWatch{0.001};
constexpr int kMaxReadsAtOnce = 16;  ///< so that the end of a program that prints endlessly is noticed
constexpr std::size_t kMaxLastWords = 300;
constexpr std::int64_t kSmallCopyBytes = std::int64_t{8} << 20;
constexpr std::int64_t kTouchedBytes = std::int64_t{4} << 20;  ///< of our program, on the way to the other one

/// What a program's peak may hold of us. The only look at a short program comes before it has any memory to speak of,
/// so where the copy of us is small, the system's figure counts: at least the copy, and the same in every run.
std::int64_t copied_bytes() {
  const std::int64_t bytes = core::forked_memory_bytes();
  return bytes <= kSmallCopyBytes ? 1 : bytes + kTouchedBytes;
}

core::ChildSetup setup_of(const TimedCommand& command, int nowhere) {
  core::ChildSetup setup;
  setup.command = command.words;
  setup.input = command.input;
  setup.group = core::ChildGroup::kOwn;
  setup.forked_bytes = copied_bytes();
  if (command.keeps_output) {
    setup.pipes = {{STDERR_FILENO}, {STDOUT_FILENO}};
  } else if (!command.shows_output) {
    setup.pipes = {{STDERR_FILENO}};
    setup.files = {{nowhere, STDOUT_FILENO}};
  }
  return setup;
}

}  // namespace

TimedRun::TimedRun(const TimedCommand& command, InterruptGuard& interrupts, const core::GroupGuard* guard,
                   int earlier_signals)
    : command_(command),
      interrupts_(interrupts),
      guard_(guard),
      earlier_signals_(earlier_signals),
      nowhere_(open("/dev/null", O_WRONLY | O_CLOEXEC)),
      child_(setup_of(command, nowhere_.get())),
      watch_(child_.exit_watch()) {
  result_.start_error = child_.start_error();
  if (result_.start_error != 0) return;
  time_.begin(child_.started());
  if (guard_ != nullptr) guard_->watch(child_.group());
}

TimedRun::~TimedRun() {
  if (guard_ == nullptr || result_.start_error != 0 || has_ended_) return;
  child_.signal(SIGKILL);
  guard_->forget(child_.group());
}

bool TimedRun::run(const std::function<void()>& on_tick, const std::optional<std::chrono::duration<double>>& turn) {
  if (result_.start_error != 0 || has_ended_) return true;
  const Clock::time_point began = resume();
  while (true) {
    core::wait_readable(descriptors(), time_to_wait(began, turn));
    const Clock::time_point now = Clock::now();  // before anything else is done
    if (const std::optional<core::ProcessExit> exit = child_.poll_exit()) {
      finish(*exit, now);
      return true;
    }
    read_some();
    check_stop(now);
    if (now - ticked_ >= kTimedTick) {
      ticked_ = now;
      on_tick();
    }
    if (turn && now - began >= *turn && result_.stop == TimedStop::kNone) {
      child_.pause();
      time_.end(Clock::now());
      return false;
    }
  }
}

/// Continues a program that is paused. Returns when its turn began.
TimedRun::Clock::time_point TimedRun::resume() {
  if (time_.is_running()) return child_.started();
  const Clock::time_point now = Clock::now();
  time_.begin(now);
  child_.resume();
  return now;
}

std::chrono::duration<double> TimedRun::time_to_wait(Clock::time_point began,
                                                     const std::optional<std::chrono::duration<double>>& turn) const {
  const std::chrono::duration<double> look = watch_.is_open() ? kTimedTick : kWithoutWatch;
  return turn ? std::min<std::chrono::duration<double>>(look, *turn - (Clock::now() - began)) : look;
}

void TimedRun::finish(const core::ProcessExit& exit, Clock::time_point now) {
  has_ended_ = true;
  if (guard_ != nullptr) guard_->forget(child_.group());
  time_.end(now);
  result_.exit = exit;
  result_.wall_ms = std::chrono::duration<double, std::milli>(time_.until(now)).count();
  result_.turns = time_.turns();
  while (read_some()) {
  }
  result_.out = out_.text();
  result_.err = err_.text();
}

void TimedRun::end_on_interrupt() {
  if (result_.start_error != 0 || has_ended_) return;
  resume();
  check_stop(Clock::now());
}

bool TimedRun::has_pipes() const {
  return command_.keeps_output || !command_.shows_output;
}

std::vector<int> TimedRun::descriptors() {
  std::vector<int> fds = {watch_.get(), interrupts_.fd()};
  if (has_pipes()) fds.push_back(child_.pipe(0).get());
  if (command_.keeps_output) fds.push_back(child_.pipe(1).get());
  return fds;
}

/// Whether there was something.
bool TimedRun::read_some() {
  bool has_read = false;
  for (int i = 0; has_pipes() && i < kMaxReadsAtOnce; ++i) {
    const bool has_err = read_from(child_.pipe(0), err_, STDERR_FILENO);
    const bool has_out = command_.keeps_output && read_from(child_.pipe(1), out_, STDOUT_FILENO);
    if (!has_err && !has_out) break;
    has_read = true;
  }
  return has_read;
}

bool TimedRun::read_from(core::Fd& pipe, core::TextTail& kept, int ours) const {
  const std::string_view bytes = core::read_available(pipe);
  kept.add(bytes);
  if (command_.shows_output) core::write_all(ours, bytes);
  return !bytes.empty();
}

void TimedRun::check_stop(Clock::time_point now) {
  interrupts_.drain();
  const int signals = interrupts_.count() - earlier_signals_;
  if (signals > 0) stop(TimedStop::kInterrupt, SIGINT, now);
  const std::chrono::duration<double> timeout(command_.timeout_s);
  if (command_.timeout_s > 0.0 && time_.until(now) > timeout) stop(TimedStop::kTimeout, SIGTERM, now);
  if (result_.stop != TimedStop::kNone && (now >= kill_at_ || signals > 1)) child_.signal(SIGKILL);
}

void TimedRun::stop(TimedStop reason, int signal, Clock::time_point now) {
  if (result_.stop != TimedStop::kNone) return;
  result_.stop = reason;
  child_.signal(signal);
  kill_at_ = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kEndGraceSeconds));
}

TimedResult run_timed(const TimedCommand& command, InterruptGuard& interrupts, const std::function<void()>& on_tick,
                      int earlier_signals) {
  TimedRun run(command, interrupts, nullptr, earlier_signals);
  run.run(on_tick);
  return run.result();
}

std::string failure_of(const TimedCommand& command, const TimedResult& result) {
  if (result.start_error != 0) {
    const bool is_input = !command.input.empty() && access(command.input.c_str(), R_OK) != 0;
    const std::string what = is_input ? "read its input " + command.input : "start " + command.words.front();
    return "cannot " + what + ": " + std::strerror(result.start_error);
  }
  const std::string seconds = format_significant(command.timeout_s, 3);
  std::string text = result.stop == TimedStop::kInterrupt ? "stopped by the user"
                     : result.stop == TimedStop::kTimeout
                         ? "it took longer than " + seconds + " seconds (--timeout) and was ended"
                     : result.exit.is_success() ? ""
                                                : result.exit.text();
  if (text.empty() || result.stop == TimedStop::kInterrupt) return text;
  std::string words = last_line(result.err);
  if (words.empty()) words = last_line(result.out);
  words = on_one_line(printable(core::as_utf8(words)), kMaxLastWords);
  return words.empty() ? text : text + "; its last words: " + words;
}

}  // namespace nanobench::suites

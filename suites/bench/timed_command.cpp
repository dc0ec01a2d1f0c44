#include "suites/bench/timed_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/process/resource_limits.h"

namespace nanobench::suites {
namespace {

using Clock = std::chrono::steady_clock;

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

class TimedProcess {
 public:
  TimedProcess(const TimedCommand& command, InterruptGuard& interrupts, int earlier_signals)
      : command_(command),
        interrupts_(interrupts),
        earlier_signals_(earlier_signals),
        nowhere_(open("/dev/null", O_WRONLY | O_CLOEXEC)),
        child_(setup()),
        watch_(child_.exit_watch()) {}

  TimedResult run(const std::function<void()>& on_tick) {
    result_.start_error = child_.start_error();
    if (result_.start_error != 0) return result_;
    Clock::time_point ended;
    while (true) {
      core::wait_readable(descriptors(), watch_.is_open() ? kTimedTick : kWithoutWatch);
      ended = Clock::now();  // before anything else is done
      if (const std::optional<core::ProcessExit> exit = child_.poll_exit()) {
        result_.exit = *exit;
        break;
      }
      read_some();
      check_stop(ended);
      if (ended - ticked_ >= kTimedTick) {
        ticked_ = ended;
        on_tick();
      }
    }
    result_.wall_ms = std::chrono::duration<double, std::milli>(ended - child_.started()).count();
    while (read_some()) {
    }
    result_.out = out_.text();
    result_.err = err_.text();
    return result_;
  }

 private:
  core::ChildSetup setup() const {
    core::ChildSetup setup;
    setup.command = command_.words;
    setup.input = command_.input;
    setup.group = core::ChildGroup::kOwn;
    setup.forked_bytes = copied_bytes();
    if (command_.keeps_output) {
      setup.pipes = {{STDERR_FILENO}, {STDOUT_FILENO}};
    } else if (!command_.shows_output) {
      setup.pipes = {{STDERR_FILENO}};
      setup.files = {{nowhere_.get(), STDOUT_FILENO}};
    }
    return setup;
  }

  bool has_pipes() const { return command_.keeps_output || !command_.shows_output; }

  std::vector<int> descriptors() {
    std::vector<int> fds = {watch_.get(), interrupts_.fd()};
    if (has_pipes()) fds.push_back(child_.pipe(0).get());
    if (command_.keeps_output) fds.push_back(child_.pipe(1).get());
    return fds;
  }

  /// Whether there was something.
  bool read_some() {
    bool has_read = false;
    for (int i = 0; has_pipes() && i < kMaxReadsAtOnce; ++i) {
      const bool has_err = read_from(child_.pipe(0), err_, STDERR_FILENO);
      const bool has_out = command_.keeps_output && read_from(child_.pipe(1), out_, STDOUT_FILENO);
      if (!has_err && !has_out) break;
      has_read = true;
    }
    return has_read;
  }

  bool read_from(core::Fd& pipe, core::TextTail& kept, int ours) const {
    const std::string_view bytes = core::read_available(pipe);
    kept.add(bytes);
    if (command_.shows_output) core::write_all(ours, bytes);
    return !bytes.empty();
  }

  void check_stop(Clock::time_point now) {
    interrupts_.drain();
    const int signals = interrupts_.count() - earlier_signals_;
    if (signals > 0) stop(TimedStop::kInterrupt, SIGINT, now);
    const std::chrono::duration<double> timeout(command_.timeout_s);
    if (command_.timeout_s > 0.0 && now - child_.started() > timeout) stop(TimedStop::kTimeout, SIGTERM, now);
    if (result_.stop != TimedStop::kNone && (now >= kill_at_ || signals > 1)) child_.signal(SIGKILL);
  }

  void stop(TimedStop reason, int signal, Clock::time_point now) {
    if (result_.stop != TimedStop::kNone) return;
    result_.stop = reason;
    child_.signal(signal);
    kill_at_ = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kEndGraceSeconds));
  }

  const TimedCommand& command_;
  InterruptGuard& interrupts_;
  int earlier_signals_;
  core::Fd nowhere_;
  core::ChildProcess child_;
  core::Fd watch_;
  core::TextTail out_{kMaxKeptOutput / 2}, err_{kMaxKeptOutput / 2};
  TimedResult result_;
  Clock::time_point kill_at_;
  Clock::time_point ticked_ = Clock::now();
};

}  // namespace

TimedResult run_timed(const TimedCommand& command, InterruptGuard& interrupts, const std::function<void()>& on_tick,
                      int earlier_signals) {
  return TimedProcess(command, interrupts, earlier_signals).run(on_tick);
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

#include "tools/cli/foreground_run.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <optional>

#include "core/base/error.h"
#include "core/base/rethrow.h"
#include "suites/run/child_process.h"
#include "suites/run/interrupt.h"

namespace nanobench::tools {
namespace {

constexpr int kPollMs = 100;
constexpr std::size_t kOutputTail = 8192;

class Foreground {
 public:
  Foreground(const std::vector<std::string>& command, const core::RunSpec& spec, const ForegroundCallbacks& callbacks)
      : callbacks_(callbacks), child_(command, core::to_json(spec).dump()) {}

  ForegroundResult run() {
    std::optional<suites::ChildExit> exit;
    while (!exit) {
      wait();
      exit = child_.poll_exit();  // before reading: what the engine wrote is then all in the pipes
      read_output();
      read_events();
      check_interrupts();
      callbacks_.on_tick();
    }
    while (child_.events_fd() >= 0) read_events();
    while (child_.output_fd() >= 0) read_output();
    if (!output_line_.empty()) say(output_line_);
    end_.exit = *exit;
    end_.has_cut_line = !events_.empty() && end_.stop != suites::StopReason::kBrokenEvents;
    return {end_, suites::classify(end_)};
  }

 private:
  void wait() {
    std::array<pollfd, 3> fds = {
        {{child_.events_fd(), POLLIN, 0}, {child_.output_fd(), POLLIN, 0}, {interrupts_.fd(), POLLIN, 0}}};
    poll(fds.data(), fds.size(), kPollMs);
    interrupts_.drain();
  }

  /// Appends what is there; false at the end of the stream.
  static bool read_into(int fd, std::string& buffer) {
    std::array<char, 1 << 16> bytes{};
    const ssize_t count = read(fd, bytes.data(), bytes.size());
    if (count > 0) buffer.append(bytes.data(), static_cast<std::size_t>(count));
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
  }

  void read_events() {
    if (child_.events_fd() < 0) return;
    if (!read_into(child_.events_fd(), events_)) child_.close_events();
    std::size_t start = 0;
    for (std::size_t at = 0; (at = events_.find('\n', start)) != std::string::npos; start = at + 1) {
      if (end_.stop != suites::StopReason::kBrokenEvents)
        handle_line(std::string_view(events_).substr(start, at - start));
    }
    events_.erase(0, start);
  }

  void handle_line(std::string_view line) {
    try {
      const core::RunEvent event = core::parse_event_line(line);
      if (const auto* finished = std::get_if<core::FinishedEvent>(&event)) end_.finished = *finished;
      if (const auto* failed = std::get_if<core::FailedEvent>(&event)) end_.failed = *failed;
      note_not_finite(event);
      callbacks_.on_event(event);
    } catch (const core::Error& error) {
      rethrow_internal(error);
      end_.stop = suites::StopReason::kBrokenEvents;
      end_.stop_message = std::string("an event line is unusable: ") + error.what();
      child_.signal_group(SIGKILL);
    }
  }

  void note_not_finite(const core::RunEvent& event) {
    if (end_.not_finite) return;
    const auto* step = std::get_if<core::StepEvent>(&event);
    const auto* eval = std::get_if<core::EvalEvent>(&event);
    if (step != nullptr && !std::isfinite(step->loss)) {
      end_.not_finite = "step " + std::to_string(step->step) + ": the training loss is not finite";
    } else if (eval != nullptr && !std::isfinite(eval->loss)) {
      end_.not_finite = "step " + std::to_string(eval->step) + ": the validation loss is not finite";
    }
  }

  void read_output() {
    if (child_.output_fd() < 0) return;
    const std::size_t before = output_line_.size();
    if (!read_into(child_.output_fd(), output_line_)) child_.close_output();
    end_.output_tail += output_line_.substr(before);
    if (end_.output_tail.size() > 2 * kOutputTail) end_.output_tail.erase(0, end_.output_tail.size() - kOutputTail);
    std::size_t start = 0;
    for (std::size_t at = 0; (at = output_line_.find('\n', start)) != std::string::npos; start = at + 1) {
      say(output_line_.substr(start, at - start));
    }
    output_line_.erase(0, start);
  }

  void say(const std::string& line) const { callbacks_.on_output(line); }

  void check_interrupts() {
    const int count = interrupts_.count();
    if (count > signals_ && count >= 1) {
      if (end_.stop == suites::StopReason::kNone) {
        end_.stop = suites::StopReason::kInterrupted;
        end_.stop_message = "stopped by the user";
      }
      child_.signal_group(count == 1 ? SIGINT : SIGKILL);
    }
    signals_ = count;
  }

  const ForegroundCallbacks& callbacks_;
  suites::InterruptGuard interrupts_;
  suites::ChildProcess child_;
  suites::RunEnd end_;
  std::string events_;       ///< of an unfinished line
  std::string output_line_;  ///< likewise
  int signals_ = 0;
};

}  // namespace

ForegroundResult run_in_foreground(const std::vector<std::string>& command, const core::RunSpec& spec,
                                   const ForegroundCallbacks& callbacks) {
  return Foreground(command, spec, callbacks).run();
}

}  // namespace nanobench::tools

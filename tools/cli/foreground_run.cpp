#include "tools/cli/foreground_run.h"

#include <cmath>
#include <csignal>
#include <optional>

#include "core/base/error.h"
#include "core/base/rethrow.h"
#include "suites/run/engine_process.h"
#include "suites/run/interrupt.h"

namespace nanobench::tools {
namespace {

class Foreground {
 public:
  Foreground(const std::vector<std::string>& command, const core::RunSpec& spec, const ForegroundCallbacks& callbacks)
      : callbacks_(callbacks), engine_(command, core::to_json(spec).dump()) {}

  ForegroundResult run() {
    std::optional<core::ProcessExit> exit;
    while (!exit) {
      engine_.wait(interrupts_.fd());
      interrupts_.drain();
      exit = engine_.poll_exit();  // before reading: what the engine wrote is then all in the pipes
      read_output();
      read_events();
      check_interrupts();
      callbacks_.on_tick();
    }
    while (read_events() || read_output()) {
    }
    if (const std::string rest = output_lines_.take_rest(); !rest.empty()) say(rest);
    end_.exit = *exit;
    end_.output_tail = output_.text();
    end_.has_cut_line = !events_.rest().empty() && end_.stop != suites::StopReason::kBrokenEvents;
    return {end_, suites::classify(end_)};
  }

 private:
  /// One piece each; false when nothing is there now.
  bool read_events() {
    const std::string_view bytes = core::read_available(engine_.events());
    events_.add(bytes, [this](std::string_view line) {
      if (end_.stop != suites::StopReason::kBrokenEvents) handle_line(line);
    });
    return !bytes.empty();
  }

  bool read_output() {
    const std::string_view bytes = core::read_available(engine_.output());
    output_.add(bytes);
    output_lines_.add(bytes, [this](std::string_view line) { say(std::string(line)); });
    return !bytes.empty();
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
      engine_.signal(SIGKILL);
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

  void say(const std::string& line) const { callbacks_.on_output(line); }

  void check_interrupts() {
    const int count = interrupts_.count();
    if (count > signals_ && count >= 1) {
      if (end_.stop == suites::StopReason::kNone) {
        end_.stop = suites::StopReason::kInterrupted;
        end_.stop_message = "stopped by the user";
      }
      engine_.signal(count == 1 ? SIGINT : SIGKILL);
    }
    signals_ = count;
  }

  const ForegroundCallbacks& callbacks_;
  suites::InterruptGuard interrupts_;
  suites::EngineProcess engine_;
  suites::RunEnd end_;
  core::LineCutter events_, output_lines_;
  core::TextTail output_;
  int signals_ = 0;
};

}  // namespace

ForegroundResult run_in_foreground(const std::vector<std::string>& command, const core::RunSpec& spec,
                                   const ForegroundCallbacks& callbacks) {
  return Foreground(command, spec, callbacks).run();
}

}  // namespace nanobench::tools

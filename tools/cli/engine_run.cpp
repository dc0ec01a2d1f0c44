#include "tools/cli/engine_run.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>

#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/stats/summary.h"
#include "suites/design/data_source.h"
#include "suites/design/run_data.h"
#include "suites/run/engine_process.h"
#include "suites/run/interrupt.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;

constexpr double kPlainLineSeconds = 10.0;

/// One call of run_in_foreground.
class Foreground {
 public:
  Foreground(const std::vector<std::string>& command, const core::RunSpec& spec, const ForegroundCallbacks& callbacks)
      : callbacks_(callbacks), engine_(command, core::to_json(spec).dump()) {}

  ForegroundResult run() {
    std::optional<core::ProcessExit> exit;
    while (!exit) {
      engine_.wait(interrupts_.fd());
      interrupts_.drain();
      exit = engine_.poll_exit();  // before reading: everything that the engine wrote is then in the pipes
      read_output();
      read_events();
      check_interrupts();
      callbacks_.on_tick();
    }
    while (read_events() || read_output()) {
    }
    for (core::LineCutter& lines : output_lines_) {
      if (const std::string rest = lines.take_rest(); !rest.empty()) say(rest);
    }
    end_.exit = *exit;
    end_.output_tail = output_.text();
    end_.has_cut_line = !events_.rest().empty() && end_.stop != suites::StopReason::kBrokenEvents;
    return {end_, suites::classify(end_)};
  }

 private:
  /// Each reads one piece; false if nothing is available now.
  bool read_events() {
    const std::string_view bytes = core::read_available(engine_.events());
    events_.add(bytes, [this](std::string_view line) {
      if (end_.stop != suites::StopReason::kBrokenEvents) handle_line(line);
    });
    return !bytes.empty();
  }

  bool read_output() {
    bool has_read = false;
    for (std::size_t i = 0; i < output_lines_.size(); ++i) {
      const std::string_view bytes = core::read_available(i == 0 ? engine_.output() : engine_.errors());
      output_.add(bytes);
      output_lines_[i].add(bytes, [this](std::string_view line) { say(std::string(line)); });
      has_read = has_read || !bytes.empty();
    }
    return has_read;
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
  core::LineCutter events_;
  std::array<core::LineCutter, 2> output_lines_;  ///< of standard output and standard error
  core::TextTail output_;
  int signals_ = 0;
};

int exit_code_of(const ForegroundResult& result) {
  switch (result.classification.outcome) {
    case core::RunOutcome::kCompleted: return core::kExitSuccess;
    case core::RunOutcome::kInterrupted: return core::kExitInterrupted;
    case core::RunOutcome::kUnsupported: return core::kExitUsage;
    default: return core::kExitIncomplete;
  }
}

}  // namespace

void EngineOptions::apply(core::RunSpec& spec) const {
  spec.threads = threads;
  spec.pin_threads = pins_threads;
  spec.kernels = kernels.value_or(spec.kernels);
  spec.device = device.value_or(spec.device);
}

void add_engine_options(CLI::App& command, EngineOptions& options) {
  command.add_option("--threads", options.threads, "Threads of the run; 0: all cores")
      ->type_name("N")
      ->check(CLI::Range(0, 4096).description(""))
      ->capture_default_str();
  command.add_flag("--pin", options.pins_threads, "Keep each thread on one processor");
  add_kernels_option(command, options.kernels);
  add_device_option(command, options.device);
}

std::string full_path(const fs::path& file) {
  return fs::absolute(file).lexically_normal().string();
}

std::string writable_file(const std::string& option, const std::string& name) {
  const std::string file = full_path(name);
  const fs::path folder = fs::path(file).parent_path();
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored) || access(folder.c_str(), W_OK) != 0 || fs::is_directory(file, ignored)) {
    throw Error(ErrorCode::kIo, option + " " + name + ": cannot write into " + folder.string() +
                                    "; name a file in an existing folder that you may write to");
  }
  return file;
}

void use_generated_data(core::RunSpec& spec, const std::string& remedy) {
  const core::TrainConfig& config = spec.config;
  if (config.model.vocab_size < 257) {
    throw Error(ErrorCode::kInvalidArgument, "the generated corpus has 257 tokens, but /model/vocab_size is " +
                                                 std::to_string(config.model.vocab_size) + "; " + remedy);
  }
  const core::DataSet data = suites::open_data({}, suites::need_of(config), cache_folder());
  spec.config.attention.document_separator = data.separator;
  suites::use_data(spec, data);
}

TrainView::TrainView(const core::TrainConfig& config, DisplayHost host, bool is_quiet)
    : host_(std::move(host)),
      is_quiet_(is_quiet),
      lines_(host_.write, host_.is_live && !is_quiet),
      progress_(config, host_.now_s()),
      name_(printable(config.name)),
      last_plain_s_(host_.now_s()) {}

void TrainView::on_event(const core::RunEvent& event) {
  progress_.on_event(event, host_.now_s());
  if (const auto* step = std::get_if<core::StepEvent>(&event)) {
    if (step->train_ms) timed_step_ms_.push_back(step->step_ms);
  } else if (const auto* eval = std::get_if<core::EvalEvent>(&event)) {
    evals_.push_back(*eval);
    say("step " + std::to_string(eval->step) + "  val loss " + format_fixed(eval->loss, 4));
  } else if (const auto* checkpoint = std::get_if<core::CheckpointEvent>(&event)) {
    std::erase_if(checkpoints_, [&](const auto& one) { return one.second == checkpoint->file; });
    checkpoints_[checkpoint->step] = checkpoint->file;
  } else if (const auto* warning = std::get_if<core::WarningEvent>(&event)) {
    say("warning: " + printable(warning->message));
  } else if (const auto* hello = std::get_if<core::HelloEvent>(&event)) {
    say(name_ + ": " + format_count(hello->parameters) + " parameters, " + std::to_string(hello->threads) +
        (hello->threads == 1 ? " thread" : " threads"));
  }
}

void TrainView::on_tick() {
  if (is_quiet_) return;
  const double now = host_.now_s();
  const bool is_plain_due = !lines_.is_live() && now - last_plain_s_ >= kPlainLineSeconds;
  if (!lines_.is_live() && !is_plain_due) return;
  const double done = static_cast<double>(progress_.step());
  const double all = static_cast<double>(std::max<std::int64_t>(progress_.total_steps(), 1));
  std::string rest = progress_.text();
  if (const auto left = progress_.remaining_s(now)) rest += "  " + format_duration(*left) + " left";
  if (lines_.is_live()) {
    lines_.show({with_bar(name_, done / all, rest, host_.width())}, host_.width());
  } else {
    last_plain_s_ = now;
    lines_.print(rest);
  }
}

std::optional<double> TrainView::median_step_ms() const {
  return reports::median(timed_step_ms_);
}

ForegroundResult run_in_foreground(const std::vector<std::string>& command, const core::RunSpec& spec,
                                   const ForegroundCallbacks& callbacks) {
  return Foreground(command, spec, callbacks).run();
}

ForegroundResult run_with_view(const suites::Engine& engine, const core::RunSpec& spec, TrainView& view,
                               const std::function<void(const core::RunEvent&)>& on_event) {
  const ForegroundCallbacks callbacks{.on_event =
                                          [&](const core::RunEvent& event) {
                                            view.on_event(event);
                                            if (on_event) on_event(event);
                                          },
                                      .on_tick = [&] { view.on_tick(); },
                                      .on_output = [&](const std::string& line) { view.say(printable(line)); }};
  const ForegroundResult result = run_in_foreground(engine.command, spec, callbacks);
  view.finish();
  return result;
}

int report_end(const ForegroundResult& result) {
  const int code = exit_code_of(result);
  if (code != core::kExitSuccess) {
    tell_on_stderr("nanobench: the run ended as " + enum_name(result.classification.outcome) + ": " +
                   printable(result.classification.message));
  }
  return code;
}

}  // namespace nanobench::tools

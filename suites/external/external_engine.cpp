#include "suites/external/external_engine.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>

#include "core/base/build_info.h"
#include "core/base/text.h"
#include "results/records.h"
#include "suites/external/quoted_source.h"
#include "suites/run/engine_main.h"
#include "suites/run/log_follower.h"
#include "suites/run/trainer_process.h"
#include "suites/source/scratch_tree.h"

namespace nanobench::suites {

namespace {

using core::RunEvent;
using results::SpeedrunLine;

/// Clocks are printed in whole milliseconds, which is a thousandth of an interval of this length.
constexpr double kStretchMs = 1000;
constexpr double kMaxMib = 1e12;  ///< larger or absent figures are ignored

std::string with_last_words(const std::string& message, const std::string& last_words) {
  return last_words.empty() ? message : message + "; its last words: " + last_words;
}

}  // namespace

std::vector<std::string_view> lines_in(std::string_view text) {
  const auto is_end_of_text = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view(".)]=").find(c) != std::string_view::npos;
  };
  std::vector<std::string_view> lines;
  std::size_t begin = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (!(rest.starts_with("step:") || rest.starts_with("peak memory ")) || !is_end_of_text(text[i - 1])) continue;
    if (!results::parse_speedrun_line(rest)) continue;
    lines.push_back(text.substr(begin, i - begin));
    begin = i;
  }
  lines.push_back(text.substr(begin));
  return lines;
}

std::vector<RunEvent> SpeedrunEvents::on_line(std::string_view text) {
  const std::optional<SpeedrunLine> line = results::parse_speedrun_line(text);
  std::vector<RunEvent> events;
  if (!line) return events;
  if (line->kind == SpeedrunLine::Kind::kMemory) {
    const double mib = line->allocated_mib.value_or(0);
    peak_bytes_ = mib < kMaxMib ? static_cast<std::int64_t>(mib * 1024 * 1024) : 0;
    if (peak_bytes_ > 0) events.emplace_back(core::MemoryEvent{std::max<std::int64_t>(last_step_, 0), peak_bytes_});
    return events;
  }
  if (line->planned_steps) planned_steps_ = line->planned_steps;
  if (line->step_avg_ms) step_avg_ms_ = line->step_avg_ms;
  if (line->clock_ms) last_clock_ms_ = line->clock_ms;
  if (const std::optional<RunEvent> step = on_step(*line)) events.push_back(*step);
  if (line->kind == SpeedrunLine::Kind::kValidation) {
    if (const std::optional<RunEvent> validation = on_validation(*line)) events.push_back(*validation);
  }
  return events;
}

std::optional<double> SpeedrunEvents::close_stretch(std::int64_t step, const std::optional<double>& clock_ms,
                                                    double least_ms) {
  if (!clock_ms) return std::nullopt;
  const bool is_usable = stretch_step_ && step > *stretch_step_ && *clock_ms > stretch_ms_;
  if (is_usable && *clock_ms - stretch_ms_ < least_ms) return std::nullopt;
  const std::optional<double> mean =
      is_usable ? std::optional((*clock_ms - stretch_ms_) / static_cast<double>(step - *stretch_step_)) : std::nullopt;
  if (is_usable || !stretch_step_ || *clock_ms < stretch_ms_) {  // a clock that goes backwards was restarted
    stretch_step_ = step;
    stretch_ms_ = *clock_ms;
  }
  return mean;
}

std::optional<RunEvent> SpeedrunEvents::on_step(const SpeedrunLine& line) {
  const bool is_validation = line.kind == SpeedrunLine::Kind::kValidation;
  if (!is_validation) {
    if (line.step <= last_step_) return std::nullopt;
    last_step_ = line.step;
  }
  const std::optional<double> mean = close_stretch(line.step, line.clock_ms, is_validation ? 0 : kStretchMs);
  const bool has_loss = !is_validation && line.loss.has_value();
  if ((!mean && !has_loss) || line.step <= told_step_) return std::nullopt;
  told_step_ = line.step;
  core::StepEvent event;
  event.step = line.step;
  event.has_loss = has_loss;
  event.loss = line.loss.value_or(std::numeric_limits<double>::quiet_NaN());
  event.step_ms = mean.value_or(std::numeric_limits<double>::quiet_NaN());
  event.train_ms = line.clock_ms;
  return event;
}

std::optional<RunEvent> SpeedrunEvents::on_validation(const SpeedrunLine& line) {
  if (line.step <= last_validation_ || !line.loss) return std::nullopt;
  last_validation_ = line.step;
  last_loss_ = line.loss;
  return core::EvalEvent{.step = line.step, .loss = *line.loss, .train_ms = line.clock_ms};
}

RunEvent SpeedrunEvents::end(std::int64_t peak_bytes, const std::string& last_words) const {
  const auto failed = [&](const std::string& message) {
    return core::FailedEvent{core::RunOutcome::kCrashed, with_last_words(message, last_words)};
  };
  if (last_step_ < 0 && last_validation_ < 0) {
    return failed("the trainer ended without any line of a speedrun log (step:N/M val_loss:X train_time:Yms ...)");
  }
  if (!last_loss_) return failed("the trainer ended without a validation loss");
  const std::int64_t last = planned_steps_.value_or(std::max(last_step_, last_validation_));
  if (last_validation_ < last) {
    return failed("the trainer ended early: its last validation is at step " + std::to_string(last_validation_) +
                  " of " + std::to_string(last));
  }
  core::FinishedEvent event;
  event.steps = last;
  event.timed_steps = last;
  if (last_clock_ms_ && step_avg_ms_ && *step_avg_ms_ > 0)
    event.timed_steps = std::llround(std::min(*last_clock_ms_ / *step_avg_ms_, 1e15));
  event.train_ms = last_clock_ms_;
  event.final_val_loss = last_loss_;
  event.peak_bytes = peak_bytes_ > 0 ? peak_bytes_ : peak_bytes;
  return event;
}

namespace {

/// Converts lines of the log to events for the runner.
class EventWriter : public LogReader {
 public:
  /// `is_shared`: several processes write into the log at once, as they do on standard output.
  EventWriter(int events_fd, const std::vector<std::filesystem::path>& sources, bool is_shared)
      : events_fd_(events_fd), is_shared_(is_shared), quoted_(sources) {}

  void say(const core::RunEvent& event) const { core::write_all(events_fd_, core::to_line(event) + "\n"); }
  void on_bytes(std::string_view bytes) override {
    lines_.add(bytes, [this](std::string_view line) { take_line(line); });
  }
  /// A last line without a newline counts if it is complete.
  void on_end() override {
    const std::string rest = lines_.take_rest();
    const std::optional<results::SpeedrunLine> line = results::parse_speedrun_line(rest);
    if (line && line->is_whole) take_line(rest);
  }
  const SpeedrunEvents& events() const { return events_; }

 private:
  void take_line(std::string_view line) {
    if (quoted_.contains(line)) return;
    for (const std::string_view one : is_shared_ ? lines_in(line) : std::vector{line}) {
      for (const core::RunEvent& event : events_.on_line(one)) say(event);
    }
  }

  int events_fd_;
  bool is_shared_;
  QuotedSource quoted_;
  core::LineCutter lines_;
  SpeedrunEvents events_;
};

std::vector<std::filesystem::path> sources_of(const TrainerSettings& settings) {
  std::vector<std::filesystem::path> files;
  for (const std::string& name : settings.files) {
    if (name != settings.log_file) files.push_back(std::filesystem::path(settings.folder) / name);
  }
  return files;
}

core::HelloEvent hello_of(const TrainerSettings& settings) {
  core::HelloEvent hello{.engine = results::kExternalEngine, .engine_version = core::version_text(), .environment = {}};
  hello.environment = settings.identity;
  hello.environment["command"] = joined(settings.command, " ");
  return hello;
}

core::RunEvent last_event(const EventWriter& writer, const std::optional<LogFollower>& log,
                          const core::ProcessExit& exit, const std::string& words) {
  const std::string problem = log ? log->problem() : "";
  if (problem.empty()) return writer.events().end(exit.max_rss_bytes, words);
  return core::FailedEvent{core::RunOutcome::kCrashed, "the trainer ended well, but " + problem +
                                                           (words.empty() ? "" : "; its last words: " + words)};
}

}  // namespace

int run_external_engine(const core::RunSpec& spec, int events_fd) {
  const TrainerSettings settings = read_trainer_settings(spec.external);
  set_adapter_signals();
  std::optional<ScratchTree> tree;
  if (!settings.source.is_null()) tree.emplace(settings.source);
  std::optional<LogFollower> log;
  if (!settings.log_file.empty()) log.emplace(std::filesystem::path(settings.folder) / settings.log_file);
  TrainerProcess trainer(settings);
  EventWriter writer(events_fd, sources_of(settings), /*is_shared=*/!log);
  writer.say(hello_of(settings));
  if (trainer.start_error() != 0) {
    writer.say(core::FailedEvent{core::RunOutcome::kUnsupported,
                                 "cannot start " + settings.command.front() + " in " + settings.folder + ": " +
                                     std::strerror(trainer.start_error()) +
                                     "; name a program of $PATH or a file as seen from that folder"});
    return 0;
  }
  const core::ProcessExit exit = trainer.wait(log ? nullptr : &writer, /*prints_on=*/true, [&](bool is_last) {
    if (log) log->read(writer, is_last);
    if (log && is_last) writer.on_end();
  });
  if (exit.is_success()) writer.say(last_event(writer, log, exit, trainer.last_words()));
  return end_like(exit);
}

int external_engine_main(const std::vector<std::string>& arguments) {
  return engine_main("external engine", arguments, run_external_engine);
}

}  // namespace nanobench::suites

#include "suites/external/external_engine.h"

#include <sys/resource.h>

#include <cstring>
#include <filesystem>
#include <optional>

#include "core/base/build_info.h"
#include "core/base/text.h"
#include "suites/external/speedrun_events.h"
#include "suites/run/engine_main.h"
#include "suites/run/log_follower.h"
#include "suites/run/trainer_process.h"

namespace nanobench::suites {
namespace {

/// Lines of the log to events for the runner.
class EventWriter : public LogReader {
 public:
  explicit EventWriter(int events_fd) : events_fd_(events_fd) {}

  void say(const core::RunEvent& event) const { core::write_all(events_fd_, core::to_line(event) + "\n"); }
  void on_bytes(std::string_view bytes) override {
    lines_.add(bytes, [this](std::string_view line) { take_line(line); });
  }
  /// A last line without its newline counts when it is whole.
  void on_end() override {
    const std::string rest = lines_.take_rest();
    const std::optional<results::SpeedrunLine> line = results::parse_speedrun_line(rest);
    if (line && line->is_whole) take_line(rest);
  }
  const SpeedrunEvents& events() const { return events_; }

 private:
  void take_line(std::string_view line) {
    for (const core::RunEvent& event : events_.on_line(line)) say(event);
  }

  int events_fd_;
  core::LineCutter lines_;
  SpeedrunEvents events_;
};

core::HelloEvent hello_of(const TrainerSettings& settings) {
  core::HelloEvent hello{.engine = "external", .engine_version = core::version_text(), .environment = {}};
  hello.environment = settings.identity;
  hello.environment["command"] = joined(settings.command, " ");
  return hello;
}

std::int64_t peak_of_children() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

core::RunEvent last_event(const EventWriter& writer, const std::optional<LogFollower>& log, const std::string& words) {
  const std::string problem = log ? log->problem() : "";
  if (problem.empty()) return writer.events().end(peak_of_children(), words);
  return core::FailedEvent{core::RunOutcome::kCrashed, "the trainer ended well, but " + problem +
                                                           (words.empty() ? "" : "; its last words: " + words)};
}

}  // namespace

int run_external_engine(const core::RunSpec& spec, int events_fd) {
  const TrainerSettings settings = read_trainer_settings(spec.external);
  set_adapter_signals();
  std::optional<LogFollower> log;
  if (!settings.log_file.empty()) log.emplace(std::filesystem::path(settings.folder) / settings.log_file);
  TrainerProcess trainer(settings);
  EventWriter writer(events_fd);
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
  if (exit.is_success()) writer.say(last_event(writer, log, trainer.last_words()));
  return end_like(exit);
}

int external_engine_main(const std::vector<std::string>& arguments) {
  return engine_main("external engine", arguments, run_external_engine);
}

}  // namespace nanobench::suites

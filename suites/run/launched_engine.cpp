#include "suites/run/launched_engine.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/secret_file.h"
#include "core/protocol/run_event.h"
#include "core/protocol/run_spec.h"
#include "suites/run/marked_processes.h"
#include "suites/run/trainer_process.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;

constexpr const char* kProcesses = "{processes}";

/// Handles what the launcher prints: events of the first process go to the runner, everything else to our output.
class EventRelay final : public LogReader {
 public:
  explicit EventRelay(int events_fd) : events_fd_(events_fd) {}

  void on_bytes(std::string_view bytes) override {
    lines_.add(bytes, [this](std::string_view line) { take(line); });
  }
  void on_end() override { take(lines_.take_rest()); }
  bool has_ended() const { return has_ended_; }

 private:
  void take(std::string_view line) {
    if (line.empty()) return;
    const std::string text = std::string(line) + "\n";
    const bool is_event = is_event_line(line);
    core::write_all(is_event ? events_fd_ : STDOUT_FILENO, text);
  }

  bool is_event_line(std::string_view line) {
    if (line.front() != '{') return false;
    try {
      const core::RunEvent event = core::parse_event_line(line);
      has_ended_ =
          std::holds_alternative<core::FinishedEvent>(event) || std::holds_alternative<core::FailedEvent>(event);
      return true;
    } catch (const Error& error) {
      rethrow_internal(error);
      return false;
    }
  }

  int events_fd_;
  core::LineCutter lines_;
  bool has_ended_ = false;
};

std::string scratch_folder() {
  const char* folder = std::getenv("NANOBENCH_SCRATCH");
  if (folder == nullptr) folder = std::getenv("TMPDIR");
  return folder == nullptr ? "/tmp" : folder;
}

/// Everything on a command line up to `--spec FILE --events-fd N`.
struct LaunchArguments {
  std::vector<std::string> launcher;
  std::string engine, spec_file, events_fd;
};

LaunchArguments parse(const std::vector<std::string>& arguments) {
  if (arguments.size() != 6 || arguments[2] != "--spec" || arguments[4] != "--events-fd")
    throw Error(ErrorCode::kInvalidArgument, "expected LAUNCHER ENGINE --spec FILE --events-fd N");
  return {words_of(arguments[0]), arguments[1], arguments[3], arguments[5]};
}

std::vector<std::string> launch_command(const LaunchArguments& arguments, std::int64_t processes,
                                        const std::string& spec, const std::string& secret) {
  std::vector<std::string> command = arguments.launcher;
  for (std::string& word : command) {
    for (std::size_t at = word.find(kProcesses); at != std::string::npos; at = word.find(kProcesses))
      word.replace(at, std::strlen(kProcesses), std::to_string(processes));
  }
  command.insert(command.end(), {arguments.engine, "--spec", spec, "--events-fd", "1", "--secret-file", secret});
  return command;
}

[[noreturn]] void become_engine(const LaunchArguments& arguments) {
  execl(arguments.engine.c_str(), arguments.engine.c_str(), "--spec", arguments.spec_file.c_str(), "--events-fd",
        arguments.events_fd.c_str(), nullptr);
  throw Error(ErrorCode::kUnavailable, "cannot start " + arguments.engine + ": " + std::strerror(errno));
}

int run(const LaunchArguments& arguments) {
  const core::RunSpec spec = core::read_run_spec(core::read_json_file(arguments.spec_file), arguments.spec_file);
  if (spec.config.distributed.processes == 1) become_engine(arguments);
  // All processes of the run read it, including those on other hosts if the folder is shared.
  const core::TemporaryFolder folder("run", scratch_folder(),
                                     "name a folder that all hosts share: NANOBENCH_SCRATCH=DIR");
  const std::string spec_file = (folder.path() / "run.json").string();
  const std::string text = core::to_json(spec).dump();
  core::write_file_atomically(spec_file, std::array{std::string_view(text)});
  const std::string secret_file = (folder.path() / "secret").string();
  core::create_secret_file(secret_file);
  TrainerSettings settings;
  settings.command = launch_command(arguments, spec.config.distributed.processes, spec_file, secret_file);
  settings.mark = new_trainer_mark();
  set_adapter_signals();
  TrainerProcess launcher(settings);
  const int events_fd = std::atoi(arguments.events_fd.c_str());
  const auto say = [&](core::RunOutcome outcome, const std::string& message) {
    core::write_all(events_fd, core::to_line(core::FailedEvent{outcome, message}) + "\n");
  };
  if (launcher.start_error() != 0) {
    say(core::RunOutcome::kUnsupported,
        "cannot start the launcher " + settings.command.front() + ": " + std::strerror(launcher.start_error()));
    return 0;
  }
  EventRelay relay(events_fd);
  const core::ProcessExit exit = launcher.wait(&relay, /*prints_on=*/false, [](bool) {});
  if (!relay.has_ended() && exit.signal == 0 && !exit.is_success()) {
    say(core::RunOutcome::kCrashed, "the launcher " + settings.command.front() + " ended with " + exit.text() +
                                        "; its last words: " + launcher.last_words());
  }
  return end_like(exit);
}

}  // namespace

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  bool is_inside = false;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
      if (c != quote && quote != 0) words.back() += c;
    } else if (c == ' ' || c == '\t') {
      is_inside = false;
    } else {
      if (!is_inside) words.emplace_back();
      is_inside = true;
      if (c == '\'' || c == '"') {
        quote = c;
      } else {
        words.back() += c;
      }
    }
  }
  if (quote != 0) throw Error(ErrorCode::kInvalidArgument, "a quote without an end: " + text);
  return words;
}

Engine launched_engine(const Engine& engine, const std::string& launcher, std::vector<std::string> command) {
  const std::vector<std::string> words = words_of(launcher);
  if (words.empty())
    throw Error(ErrorCode::kInvalidArgument, "--launcher: expected a command, as in 'mpirun -n {processes}'");
  if (launcher.find(kProcesses) == std::string::npos) {
    throw Error(ErrorCode::kInvalidArgument,
                "--launcher: nothing in \"" + launcher +
                    "\" says how many processes to start; write {processes} there, as in 'mpirun -n {processes}'");
  }
  command.insert(command.end(), {launcher, engine.command.front()});
  const std::string by = " by " + std::filesystem::path(words.front()).filename().string();
  Engine launched{std::move(command), engine.name, engine.version + by};
  if (engine.version_of_run) {
    launched.version_of_run = [engine, by](const std::string&) {  // the launcher is what this machine executes
      return engine.version_of_run(engine.command.front()) + by;
    };
  }
  return launched;
}

int launched_engine_main(const std::vector<std::string>& arguments) {
  try {
    return run(parse(arguments));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "launched engine: %s\n", error.what());
    return core::exit_code_of(error);
  }
}

}  // namespace nanobench::suites

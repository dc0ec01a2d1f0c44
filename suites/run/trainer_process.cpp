#include "suites/run/trainer_process.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "core/base/error.h"
#include "core/base/text.h"
#include "suites/run/marked_processes.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;
using Variables = std::map<std::string, std::string>;

constexpr std::chrono::duration<double> kTrainerLook{0.1};
constexpr int kMaxReads = 64;  ///< at a time: a trainer that prints endlessly must not block the loop
constexpr std::size_t kMaxWords = 300;

volatile std::sig_atomic_t runner_is_gone = 0;

void on_ignored_stop(int /*number*/) {}

void on_runner_death(int /*number*/) {
  runner_is_gone = 1;
}

/// `hook`: a folder of the runner's that nobody else would remove now; may be empty.
void end_with_the_runner(const std::string& mark, const std::filesystem::path& hook) {
  kill_marked(mark);
  std::error_code ignored;
  if (hook.filename().string().starts_with("nanobench-")) std::filesystem::remove_all(hook, ignored);
  kill(0, SIGKILL);
}

Variables environment_of(const TrainerSettings& settings) {
  Variables variables;
  if (settings.inherit) {
    for (const std::string& name : *settings.inherit) {
      if (const char* value = std::getenv(name.c_str())) variables[name] = value;
    }
  } else {
    variables = core::process_environment();
  }
  variables.try_emplace("PYTHONUNBUFFERED", "1");  // or Python keeps its lines back when no terminal reads them
  for (const auto& [name, value] : settings.env) variables[name] = value;
  variables[kTrainerMark] = settings.mark;
  if (!settings.python_hook.empty()) {
    std::string& path = variables["PYTHONPATH"];
    path = path.empty() ? settings.python_hook : settings.python_hook + ":" + path;
  }
  return variables;
}

/// Searches as execvp() does, from the trainer's folder.
bool is_in_path(const std::string& program, const Variables& variables, const std::filesystem::path& folder) {
  const auto found = variables.find("PATH");
  const std::string path = found == variables.end() ? "/bin:/usr/bin" : found->second;
  const std::vector<std::string_view> places = split_at(path, ':');
  return std::any_of(places.begin(), places.end(),
                     [&](std::string_view place) { return access((folder / place / program).c_str(), X_OK) == 0; });
}

core::ChildSetup setup_of(const TrainerSettings& settings) {
  core::ChildSetup setup;
  setup.command = settings.command;
  setup.environment = environment_of(settings);
  setup.folder = settings.folder;
  setup.pipes = {{STDOUT_FILENO}};
  setup.group = core::ChildGroup::kOurs;
  return setup;
}

}  // namespace

TrainerSettings read_trainer_settings(const Json& json) {
  try {
    TrainerSettings settings;
    settings.command = json.at("command").get<std::vector<std::string>>();
    settings.env = json.at("env").get<std::map<std::string, std::string>>();
    settings.folder = json.at("folder").get<std::string>();
    if (json.contains("inherit")) settings.inherit = json.at("inherit").get<std::vector<std::string>>();
    settings.log_file = json.value("log_file", "");
    const Json files = json.value("files", Json::object());
    for (const auto& [name, digest] : files.items()) settings.files.push_back(name);
    settings.mark = json.value("mark", "");
    if (settings.mark.empty()) settings.mark = new_trainer_mark();
    settings.python_hook = json.value("python_hook", "");
    for (const char* key : {"revision", "seat", "tree"}) {
      if (json.contains(key)) settings.identity[key] = json.at(key).get<std::string>();
    }
    if (json.contains("source")) settings.source = json.at("source");
    if (settings.command.empty()) throw Error(ErrorCode::kInvalidArgument, "/external/command: no program");
    return settings;
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::kInvalidArgument, "/external: " + core::words_of(error));
  }
}

std::string missing_word(const TrainerSettings& settings) {
  const std::filesystem::path folder = settings.folder;
  const std::string& program = settings.command.front();
  const bool has_own_tree = !settings.source.is_null();
  if (program.find('/') == std::string::npos) {
    if (!is_in_path(program, environment_of(settings), folder)) return program;
  } else if (!has_own_tree && access((folder / program).c_str(), X_OK) != 0) {
    return program;
  }
  const bool is_python = std::filesystem::path(program).filename().string().starts_with("python");
  if (!is_python || has_own_tree || settings.command.size() < 2) return "";
  const std::string& script = settings.command[1];
  const bool is_script = script.ends_with(".py") && !script.starts_with('-');
  return is_script && access((folder / script).c_str(), R_OK) != 0 ? script : "";
}

void set_adapter_signals() {
  struct sigaction action = {};
  action.sa_handler = on_ignored_stop;
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) sigaction(number, &action, nullptr);
  if (getpgrp() != getpid()) return;  // without our own process group there is no runner
  action.sa_handler = on_runner_death;
  sigaction(SIGUSR1, &action, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGUSR1);  // replaces SIGKILL, which the runner set: one of the two is always set
}

TrainerProcess::TrainerProcess(const TrainerSettings& settings)
    : mark_(settings.mark), hook_(settings.python_hook), child_(setup_of(settings)) {}

core::ProcessExit TrainerProcess::wait(LogReader* reader, bool prints_on,
                                       const std::function<void(bool is_last)>& on_tick) {
  std::optional<core::ProcessExit> exit;
  while (!exit) {
    core::wait_readable({child_.pipe(0).get()}, kTrainerLook);
    if (runner_is_gone != 0) end_with_the_runner(mark_, hook_);
    exit = child_.poll_exit();  // before reading: everything that it wrote is then in the pipe
    read_some(reader, prints_on);
    if (!exit) on_tick(/*is_last=*/false);
  }
  kill_marked(mark_);  // its leftover processes must not run beside the next run
  read_some(reader, prints_on);
  on_tick(/*is_last=*/true);
  if (reader != nullptr) reader->on_end();
  return *exit;
}

void TrainerProcess::read_some(LogReader* reader, bool prints_on) {
  for (int i = 0; i < kMaxReads; ++i) {
    const std::string_view bytes = core::read_available(child_.pipe(0));
    if (bytes.empty()) return;
    if (prints_on) core::write_all(STDOUT_FILENO, bytes);  // if the runner has ended, this process ends soon
    if (reader != nullptr) reader->on_bytes(bytes);
    lines_.add(bytes, [this](std::string_view line) {
      if (!trimmed(line).empty()) last_words_ = line.substr(0, kMaxWords);
    });
  }
}

int end_like(const core::ProcessExit& exit) {
  if (exit.signal == 0) return exit.exit_code;
  signal(exit.signal, SIG_DFL);
  kill(getpid(), exit.signal);
  return 128 + exit.signal;
}

}  // namespace nanobench::suites

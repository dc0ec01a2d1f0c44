#include "suites/run/trainer_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "core/base/error.h"
#include "suites/run/marked_processes.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;

std::pair<Fd, Fd> make_pipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error(ErrorCode::kIo, std::string("cannot make a pipe: ") + std::strerror(errno));
  return {Fd(ends[0]), Fd(ends[1])};
}

void keep_only(const std::vector<std::string>& names) {
  std::map<std::string, std::string> kept;
  for (const std::string& name : names) {
    if (const char* value = getenv(name.c_str())) kept[name] = value;
  }
  clearenv();
  for (const auto& [name, value] : kept) setenv(name.c_str(), value.c_str(), 1);
}

/// In the forked child, which has one thread.
[[noreturn]] void become_trainer(char* const* argv, const TrainerSettings& settings, int output, int report,
                                 pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGPIPE}) signal(number, SIG_DFL);
  if (settings.inherit) keep_only(*settings.inherit);
  setenv("PYTHONUNBUFFERED", "1", 0);  // or Python keeps its lines back while nobody looks at a terminal
  for (const auto& [name, value] : settings.env) setenv(name.c_str(), value.c_str(), 1);
  setenv(kTrainerMark, settings.mark.c_str(), 1);
  dup2(output, STDOUT_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);  // the runner's pipes are not for the trainer
  if (settings.folder.empty() || chdir(settings.folder.c_str()) == 0) execvp(argv[0], argv);
  const int error = errno;
  [[maybe_unused]] const ssize_t ignored = write(report, &error, sizeof error);
  _exit(127);
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
    settings.mark = json.value("mark", "");
    if (settings.mark.empty()) settings.mark = new_trainer_mark();
    for (const char* key : {"revision", "tree"}) {
      if (json.contains(key)) settings.identity[key] = json.at(key).get<std::string>();
    }
    if (settings.command.empty()) throw Error(ErrorCode::kInvalidArgument, "/external/command: no program");
    return settings;
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::kInvalidArgument, std::string("/external: ") + error.what());
  }
}

TrainerProcess::TrainerProcess(const TrainerSettings& settings) {
  std::vector<std::string> words = settings.command;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  auto [output_read, output_write] = make_pipe();
  auto [report_read, report_write] = make_pipe();
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw Error(ErrorCode::kIo, std::string("cannot start a process: ") + std::strerror(errno));
  if (pid_ == 0) become_trainer(argv.data(), settings, output_write.get(), report_write.get(), parent);
  output_ = std::move(output_read);
  fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  report_write.reset();
  ssize_t count = 0;
  do count = read(report_read.get(), &start_error_, sizeof start_error_);
  while (count < 0 && errno == EINTR);
  if (count != static_cast<ssize_t>(sizeof start_error_)) start_error_ = 0;
}

TrainerProcess::~TrainerProcess() {
  if (status_) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<int> TrainerProcess::poll_status() {
  int status = 0;
  if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_;
}

}  // namespace nanobench::suites

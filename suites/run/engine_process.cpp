#include "suites/run/engine_process.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;

constexpr int kEventsFd = 3;
constexpr int kSpecFd = 4;
constexpr std::chrono::duration<double> kLook{0.1};

core::Fd make_spec_file(const std::string& text) {
  core::Fd file(memfd_create("run.json", MFD_CLOEXEC));
  if (!file.is_open() || !core::write_all(file.get(), text)) {
    throw Error(ErrorCode::kUnavailable, std::string("cannot write the run's specification: ") + std::strerror(errno) +
                                             "; close other programs and run again");
  }
  return file;
}

core::ChildSetup setup_of(std::vector<std::string> command, int spec_fd) {
  command.insert(command.end(),
                 {"--spec", "/proc/self/fd/" + std::to_string(kSpecFd), "--events-fd", std::to_string(kEventsFd)});
  core::ChildSetup setup;
  setup.command = std::move(command);
  setup.pipes = {{STDOUT_FILENO, STDERR_FILENO}, {kEventsFd}};
  setup.files = {{spec_fd, kSpecFd}};
  return setup;
}

}  // namespace

EngineProcess::EngineProcess(const std::vector<std::string>& command, const std::string& spec_text)
    : child_(setup_of(command, make_spec_file(spec_text).get())) {
  if (child_.start_error() == 0) return;
  throw Error(ErrorCode::kUnavailable, "cannot start the engine " + command.front() + ": " +
                                           std::strerror(child_.start_error()) + "; build it again");
}

void EngineProcess::wait(int other_fd) {
  core::wait_readable({events().get(), output().get(), other_fd}, kLook);
}

}  // namespace nanobench::suites

#include "core/process/resource_limits.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "core/base/error.h"
#include "core/base/input_file.h"

namespace nanobench::core {
namespace {

constexpr std::size_t kMaxStatusBytes = 65536;

/// "VmHWM:	    1234 kB", in bytes; 0 without such a line.
std::int64_t bytes_after(const std::string& status, const char* key) {
  const std::size_t at = status.find(key);
  if (at == std::string::npos) return 0;
  return std::int64_t{1024} * std::strtoll(status.c_str() + at + std::char_traits<char>::length(key), nullptr, 10);
}

std::terminate_handler former_handler = nullptr;

[[noreturn]] void end_without_memory() {
  constexpr std::size_t kSmall = std::size_t{1} << 17;  // about what the library tried in vain
  const bool has_exception = std::current_exception() != nullptr;
  void* const memory = has_exception ? nullptr : std::malloc(kSmall);
  if (has_exception || memory != nullptr) {
    former_handler();
    std::abort();
  }
  constexpr std::string_view kText = "nanobench: out of memory\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText.data(), kText.size());
  _exit(kExitUsage);
}

std::string status_of(const std::string& process) {
  return read_beginning("/proc/" + process + "/status", kMaxStatusBytes).value_or("");
}

}  // namespace

std::int64_t peak_memory_bytes() {
  const std::int64_t peak = bytes_after(status_of("self"), "\nVmHWM:");
  if (peak > 0) return peak;
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

std::int64_t peak_memory_bytes(pid_t process) {
  return bytes_after(status_of(std::to_string(process)), "\nVmHWM:");
}

std::int64_t resident_memory_bytes() {
  return bytes_after(status_of("self"), "\nVmRSS:");
}

std::string remedy_for(int error, const std::string& otherwise) {
  return error == EMFILE ? "raise the limit of open files (ulimit -n)" : otherwise;
}

std::int64_t forked_memory_bytes() {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  if (pid < 0) return 0;
  rusage usage = {};
  while (wait4(pid, nullptr, 0, &usage) < 0) {
    if (errno != EINTR) return 0;
  }
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

void end_plainly_without_memory() {
  former_handler = std::set_terminate(end_without_memory);
}

std::optional<std::uint64_t> max_file_bytes() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

void ignore_file_size_signal() {
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace nanobench::core

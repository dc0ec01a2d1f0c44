#include "results/provenance.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <sstream>

#include "core/base/build_info.h"
#include "core/base/input_file.h"
#include "core/hardware/processors.h"

namespace nanobench::results {
namespace {

std::string cpu_model() {
  std::istringstream in(core::read_beginning("/proc/cpuinfo").value_or(""));
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(':');
    const std::size_t start = colon == std::string::npos ? colon : line.find_first_not_of(' ', colon + 1);
    if (start != std::string::npos) return line.substr(start);
  }
  return "unknown CPU";
}

std::string namespace_of_pids() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
}

/// Field 22 of /proc/PID/stat; 0 when there is no such process. The name (field 2) may hold spaces and parentheses.
std::int64_t start_ticks(std::int64_t pid) {
  const std::string line = core::first_line_of("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t close = line.rfind(')');
  if (close == std::string::npos) return 0;
  std::istringstream rest(line.substr(close + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) rest >> field;
  return rest ? std::strtoll(field.c_str(), nullptr, 10) : 0;
}

/// 'Z' is a process that has ended but waits for its parent.
bool is_zombie(std::int64_t pid) {
  const std::string line = core::first_line_of("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t close = line.rfind(')');
  return close != std::string::npos && line.size() > close + 2 && line[close + 2] == 'Z';
}

}  // namespace

MachineInfo machine_info() {
  MachineInfo machine;
  utsname names = {};
  uname(&names);
  machine.host = names.nodename;
  machine.architecture = names.machine;
  machine.kernel = std::string(names.sysname) + " " + names.release;
  machine.cpu_model = cpu_model();
  machine.cores = core::available_processors();
  machine.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  return machine;
}

std::string hardware_class(const MachineInfo& machine) {
  std::string text = machine.architecture + " | " + machine.cpu_model + " | " + std::to_string(machine.cores) +
                     (machine.cores == 1 ? " core" : " cores");
  if (!machine.gpu) return text;
  text += " | " + machine.gpu->name;
  return machine.gpu->driver.empty() ? text : text + ", driver " + machine.gpu->driver;
}

Owner this_process() {
  Owner owner;
  owner.host = machine_info().host;
  owner.boot_id = core::first_line_of("/proc/sys/kernel/random/boot_id");
  owner.pid_namespace = namespace_of_pids();
  owner.pid = getpid();
  owner.pid_started = start_ticks(owner.pid);
  return owner;
}

std::optional<bool> is_alive(const Owner& owner) {
  const bool is_in_sight = owner.boot_id == core::first_line_of("/proc/sys/kernel/random/boot_id") &&
                           owner.pid_namespace == namespace_of_pids();
  if (!is_in_sight) return std::nullopt;
  return start_ticks(owner.pid) == owner.pid_started && !is_zombie(owner.pid);
}

std::map<std::string, std::string> provenance_facts() {
  const core::BuildInfo& build = core::build_info();
  const MachineInfo machine = machine_info();
  return {{"nanobench_version", build.version},
          {"git_revision", build.git_revision},
          {"git_dirty", build.is_dirty ? "true" : "false"},
          {"compiler", build.compiler},
          {"build_type", build.build_type},
          {"host", machine.host},
          {"cpu_model", machine.cpu_model},
          {"architecture", machine.architecture},
          {"cores", std::to_string(machine.cores)},
          {"memory_bytes", std::to_string(machine.memory_bytes)},
          {"kernel", machine.kernel}};
}

std::string utc_now() {
  const auto now = std::chrono::system_clock::now();
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  char text[40];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%03dZ", static_cast<int>(milliseconds));
  return std::string(text, length) + fraction;
}

std::optional<double> seconds_since_epoch(const std::string& utc) {
  std::tm parts = {};
  double seconds = 0;
  if (std::sscanf(utc.c_str(), "%d-%d-%dT%d:%d:%lfZ", &parts.tm_year, &parts.tm_mon, &parts.tm_mday, &parts.tm_hour,
                  &parts.tm_min, &seconds) != 6)
    return std::nullopt;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return static_cast<double>(timegm(&parts)) + seconds;
}

}  // namespace nanobench::results

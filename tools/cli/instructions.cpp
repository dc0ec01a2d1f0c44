#include "tools/cli/instructions.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <sstream>

#include "core/base/error.h"
#include "core/base/valgrind.h"
#include "suites/run/child_process.h"
#include "tools/cli/capture.h"

namespace nanobench::tools {
namespace {

constexpr double kVersionSeconds = 20.0;
constexpr std::int64_t kSteps = 2;
constexpr int kPollMs = 100;
constexpr std::size_t kMaxOutput = 64 * 1024;  // the total stands at the end

/// Takes what is there; false at the end of the stream.
bool drain(int fd, std::string* kept) {
  std::array<char, 16384> bytes{};
  while (true) {
    const ssize_t count = read(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    if (kept == nullptr) continue;
    kept->append(bytes.data(), static_cast<std::size_t>(count));
    if (kept->size() > 2 * kMaxOutput) kept->erase(0, kept->size() - kMaxOutput);
  }
}

/// Until the process has ended and both of its streams are read.
suites::ChildExit wait_for(suites::ChildProcess& child, std::string& output) {
  std::optional<suites::ChildExit> exit;
  bool has_events = true, has_output = true;
  while (!exit || has_output) {
    // A stream that has ended is left out: poll passes over negative descriptors.
    std::array<pollfd, 2> waiting = {
        {{has_events ? child.events_fd() : -1, POLLIN, 0}, {has_output ? child.output_fd() : -1, POLLIN, 0}}};
    poll(waiting.data(), waiting.size(), kPollMs);
    if (has_events) has_events = drain(child.events_fd(), nullptr);
    if (has_output) has_output = drain(child.output_fd(), &output);
    if (!exit) exit = child.poll_exit();
  }
  return *exit;
}

std::string last_line(const std::string& text) {
  std::string last;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace

bool has_valgrind() {
  const Captured captured = capture({"/usr/bin/env", "valgrind", "--version"}, kVersionSeconds);
  return captured.has_started && !captured.is_timed_out && captured.exit_code == 0;
}

std::vector<std::string> counting_command(const std::vector<std::string>& engine) {
  return core::valgrind_command({"--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"}, engine);
}

core::RunSpec counting_spec(const suites::Plan& plan) {
  const suites::PlannedRun* first = nullptr;
  for (const suites::PlannedRun& run : plan.runs) {
    if (run.cell == 0 && (first == nullptr || run.seed < first->seed)) first = &run;
  }
  if (first == nullptr) throw core::Error(core::ErrorCode::kInvalidArgument, "the suite has no runs");
  core::RunSpec spec = first->spec;
  if (spec.config.distributed.processes > 1) {
    throw core::Error(core::ErrorCode::kInvalidArgument,
                      "--instructions counts one process, but the suite's first cell trains in " +
                          std::to_string(spec.config.distributed.processes) + "; leave --instructions out");
  }
  spec.run_id = "instructions";
  spec.threads = 1;
  spec.config.run.stop_after = std::min(spec.config.run.stop_after, kSteps);
  return spec;
}

std::optional<double> instructions_in(const std::string& output) {
  std::istringstream in(output);
  std::optional<double> found;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string process, letter, name, number;
    words >> process >> letter >> name >> number;
    if (process.rfind("==", 0) != 0 || letter != "I" || name != "refs:") continue;
    number.erase(std::remove(number.begin(), number.end(), ','), number.end());
    const bool is_number =
        !number.empty() && std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c); });
    if (is_number && number.size() < 19) found = static_cast<double>(std::stoll(number));
  }
  return found;
}

InstructionCount count_instructions(const suites::Plan& plan, const std::string& side) {
  const core::RunSpec spec = counting_spec(plan);
  suites::ChildProcess child(counting_command(plan.engine.command), core::to_json(spec).dump());
  std::string output;
  const suites::ChildExit exit = wait_for(child, output);
  if (exit.signal == 0 && exit.exit_code == 0) {
    if (const std::optional<double> count = instructions_in(output)) return {.count = count, .problem = ""};
    return {.count = std::nullopt, .problem = side + ": valgrind printed no count of instructions"};
  }
  const std::string how =
      exit.signal != 0 ? "signal " + std::to_string(exit.signal) : "exit code " + std::to_string(exit.exit_code);
  return {.count = std::nullopt,
          .problem = side + ": the run under valgrind ended with " + how + ": " + last_line(output)};
}

}  // namespace nanobench::tools

#include "suites/run/engine_process.h"

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/text.h"
#include "core/process/resource_limits.h"
#include "core/protocol/turn_gate.h"

namespace nanobench::suites {

namespace {

using core::Error;
using core::ErrorCode;

constexpr int kEventsFd = 3;
constexpr int kSpecFd = 4;
constexpr int kTurnsFd = 5;
constexpr std::chrono::duration<double> kLook{0.1};

core::Fd make_spec_file(const std::string& text) {
  core::Fd file(memfd_create("run.json", MFD_CLOEXEC));
  if (!file.is_open() || !core::write_all(file.get(), text)) {
    const int reason = errno;
    throw Error(ErrorCode::kUnavailable, std::string("cannot write the run's specification: ") + std::strerror(reason) +
                                             "; " + core::remedy_for(reason, "close other programs and run again"));
  }
  return file;
}

/// `turns`: read end of the pipe on which turns are granted, or null.
core::ChildSetup setup_of(std::vector<std::string> command, int spec_fd, const EnginePlace& place,
                          const core::Fd* turns) {
  command.insert(command.end(),
                 {"--spec", "/proc/self/fd/" + std::to_string(kSpecFd), "--events-fd", std::to_string(kEventsFd)});
  core::ChildSetup setup;
  setup.command = std::move(command);
  setup.pipes = {{STDOUT_FILENO}, {STDERR_FILENO}, {kEventsFd}};
  setup.files = {{spec_fd, kSpecFd}};
  setup.processors = place.processors;
  if (turns != nullptr) {
    setup.files.emplace_back(turns->get(), kTurnsFd);
    setup.environment = core::process_environment();
    (*setup.environment)[core::kTurnsFdVariable] = std::to_string(kTurnsFd);
  }
  return setup;
}

}  // namespace

EngineProcess::EngineProcess(const std::vector<std::string>& command, const std::string& spec_text,
                             const EnginePlace& place)
    : EngineProcess(command, spec_text, place, place.takes_turns ? std::optional(core::make_pipe()) : std::nullopt) {}

EngineProcess::EngineProcess(const std::vector<std::string>& command, const std::string& spec_text,
                             const EnginePlace& place, std::optional<core::Pipe> turns)
    : turns_(turns ? std::move(turns->write) : core::Fd()),
      child_(setup_of(command, make_spec_file(spec_text).get(), place, turns ? &turns->read : nullptr)) {
  if (child_.start_error() == 0) return;
  throw Error(ErrorCode::kUnavailable, "cannot start the engine " + command.front() + ": " +
                                           std::strerror(child_.start_error()) + "; " +
                                           core::remedy_for(child_.start_error(), "build it again"));
}

void EngineProcess::grant_turn(std::int64_t until) const {
  if (turns_.is_open()) core::write_all(turns_.get(), R"({"until":)" + std::to_string(until) + "}\n");
}

void EngineProcess::wait(int other_fd) {
  core::wait_readable({events().get(), output().get(), errors().get(), other_fd}, kLook);
}

namespace {

using core::RunOutcome;

bool speaks_of_memory(const std::string& output) {
  for (const char* phrase : {"std::bad_alloc", "out of memory", "Out of memory", "can't allocate memory",
                             "not enough memory", "Cannot allocate memory"}) {
    if (output.find(phrase) != std::string::npos) return true;
  }
  return false;
}

/// Whether it has letters of any language: bytes of UTF-8 beyond ASCII count.
bool has_letters(std::string_view line) {
  return std::any_of(line.begin(), line.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c >= 0x80; });
}

/// "torch.OutOfMemoryError: ...", also after "[rank7]: ".
bool names_error(std::string_view line) {
  const std::size_t prefix_end = line.starts_with("[rank") ? line.find("]: ") : std::string_view::npos;
  if (prefix_end != std::string_view::npos) line.remove_prefix(prefix_end + 3);
  const std::string_view name = line.substr(0, line.find(':'));
  return name.ends_with("Error") && name.find(' ') == std::string_view::npos;
}

/// The line that says why the program ended: the last one with letters. torchrun ends with an epilogue that names only
/// the rank which failed, and the error of that rank stands before it.
std::string last_words_of(const std::string& output) {
  constexpr std::string_view kEpilogue = "ChildFailedError:";
  std::string last, error;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    line = last_line(line);
    if (has_letters(line)) last = line;
    if (names_error(line) && line.find(kEpilogue) == std::string::npos) error = line;
  }
  const bool has_epilogue = output.find(kEpilogue) != std::string::npos;
  return has_epilogue && !error.empty() ? error : last;
}

std::string with_last_words(std::string message, const std::string& output) {
  const std::string words = last_words_of(output);
  if (!words.empty()) message += "; its last words: " + words;
  return message;
}

Classification of_exit(const RunEnd& end) {
  const std::string cut = end.has_cut_line ? std::string(", ") + words_of(EarlyEnd::kCutLine) : "";
  if (end.exit.signal != 0) {
    const bool is_memory = (end.exit.signal == SIGKILL && end.was_oom_killed) || speaks_of_memory(end.output_tail);
    return {is_memory ? RunOutcome::kOutOfMemory : RunOutcome::kCrashed,
            with_last_words("the engine was ended by " + end.exit.text() + cut +
                                (is_memory ? "; the machine had no memory left" : ""),
                            end.output_tail)};
  }
  if (end.finished && end.exit.is_success()) return {RunOutcome::kCompleted, ""};
  if (!end.has_hello && end.exit.exit_code == core::kExitUsage && !end.output_tail.empty())
    return {RunOutcome::kUnsupported, "the engine refused the run: " + last_line(end.output_tail)};
  const std::string code = end.exit.text();
  if (end.finished)
    return {RunOutcome::kCrashed, with_last_words(words_of(EarlyEnd::kAfterFinish) + code, end.output_tail)};
  // A launcher survives a rank that the kernel has killed, and names the signal.
  const bool is_memory =
      speaks_of_memory(end.output_tail) || (end.was_oom_killed && end.output_tail.find("SIGKILL") != std::string::npos);
  return {
      is_memory ? RunOutcome::kOutOfMemory : RunOutcome::kCrashed,
      with_last_words("the engine ended with " + code + " and " + words_of(EarlyEnd::kUnsaid) + cut, end.output_tail)};
}

std::optional<std::int64_t> counter_in(const char* file, const std::string& name) {
  std::istringstream in(core::read_beginning(file).value_or(""));
  std::string key;
  std::int64_t value = 0;
  while (in >> key >> value) {
    if (key == name) return value;
  }
  return std::nullopt;
}

}  // namespace

const char* words_of(EarlyEnd end) {
  switch (end) {
    case EarlyEnd::kUnsaid: return "without saying that it had finished";
    case EarlyEnd::kCutLine: return "in the middle of an event line";
    case EarlyEnd::kLongLine: return "is longer than a megabyte";
    case EarlyEnd::kUnusableLine: return "is unusable: ";
    case EarlyEnd::kAfterFinish: break;
  }
  return "the engine finished, but then ended with ";
}

Classification classify(const RunEnd& end) {
  const bool is_whole = end.finished && end.exit.is_success();
  switch (end.stop) {
    case StopReason::kTimeLimit:
    case StopReason::kSilence: return {RunOutcome::kTimedOut, with_last_words(end.stop_message, end.output_tail)};
    case StopReason::kBrokenEvents: return {RunOutcome::kCrashed, with_last_words(end.stop_message, end.output_tail)};
    case StopReason::kInterrupted:
      if (!is_whole) return {RunOutcome::kInterrupted, end.stop_message};
      break;
    case StopReason::kNotFinite:
    case StopReason::kNone: break;
  }
  if (end.not_finite) return {RunOutcome::kDiverged, *end.not_finite};
  if (end.failed) {
    const bool is_contradiction = end.failed->outcome == RunOutcome::kCompleted;
    return {is_contradiction ? RunOutcome::kCrashed : end.failed->outcome, end.failed->message};
  }
  return of_exit(end);
}

std::optional<std::int64_t> oom_kills() {
  if (const auto count = counter_in("/sys/fs/cgroup/memory.events", "oom_kill")) return count;
  return counter_in("/proc/vmstat", "oom_kill");
}

}  // namespace nanobench::suites

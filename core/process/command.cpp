#include "core/process/command.h"

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iterator>

#include "core/base/text.h"

namespace nanobench::core {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds kLook{0.1};       ///< how late an exit is seen whose pipes another process keeps open
constexpr Seconds kEndLook{0.002};  ///< the same when both pipes are closed, which is the end of most programs
constexpr int kMaxReads = 64;       ///< after the end: a pipe is smaller, but another process may go on writing
constexpr double kForever = 1e8;
constexpr std::size_t kMaxWords = 600;  ///< of a message

void read_into(std::string& text, Fd& fd, int max_reads, std::size_t max_bytes) {
  for (int i = 0; i < max_reads; ++i) {
    const std::string_view bytes = read_available(fd);
    if (bytes.empty()) return;
    if (text.size() < max_bytes) text += bytes;
  }
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& command, const CommandLimits& limits) {
  ChildProcess child({.command = command, .pipes = {{STDOUT_FILENO}, {STDERR_FILENO}}, .group = limits.group});
  CommandResult result;
  result.start_error = child.start_error();
  if (result.start_error != 0) return result;
  Fd &out = child.pipe(0), &err = child.pipe(1);
  const auto read_both = [&](int max_reads) {
    read_into(result.out, out, max_reads, limits.max_output);
    read_into(result.err, err, max_reads, limits.max_output);
  };
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(std::min(limits.seconds, kForever)));
  std::optional<ProcessExit> exit;
  while (!(exit = child.poll_exit())) {
    const Seconds left = deadline - Clock::now();
    if (left <= Seconds(0) && !result.is_timed_out) {
      result.is_timed_out = true;
      child.signal(SIGKILL);
    }
    const Seconds look = out.is_open() || err.is_open() ? kLook : kEndLook;
    wait_readable({out.get(), err.get()}, result.is_timed_out ? kEndLook : std::min(left, look));
    read_both(1);
  }
  read_both(kMaxReads);
  result.exit = *exit;
  return result;
}

std::vector<std::string> without_options(const std::vector<std::string>& words, const std::set<std::string>& with_value,
                                         const std::set<std::string>& flags) {
  const auto end = std::find(words.begin(), words.end(), "--");
  std::vector<std::string> kept;
  for (auto word = words.begin(); word != end; ++word) {
    const std::string name = word->substr(0, word->find('='));
    if (with_value.contains(name)) {
      if (name == *word && std::next(word) != end) ++word;
    } else if (!flags.contains(*word)) {
      kept.push_back(*word);
    }
  }
  kept.insert(kept.end(), end, words.end());
  return kept;
}

std::optional<std::string> option_value(const std::vector<std::string>& words, const std::string& option) {
  std::optional<std::string> value;
  const auto end = std::find(words.begin(), words.end(), "--");
  for (auto word = words.begin(); word != end; ++word) {
    if (word->starts_with(option + "=")) value = word->substr(option.size() + 1);
    if (*word == option && std::next(word) != end) value = *++word;
  }
  return value;
}

std::vector<std::string> pieces_of(const std::string& output) {
  std::vector<std::string> pieces;
  for (std::size_t begin = 0, end; (end = output.find('\0', begin)) != std::string::npos; begin = end + 1)
    pieces.push_back(output.substr(begin, end - begin));
  return pieces;
}

std::string failure_text(const std::vector<std::string>& command, const CommandResult& result) {
  const std::string& name = command.front();
  if (result.start_error != 0) return name + " could not be started: " + std::strerror(result.start_error);
  if (result.is_timed_out) return name + " gave no answer in time";
  const std::string words = on_one_line(result.err.empty() ? result.out : result.err, kMaxWords);
  if (!words.empty()) return words;
  return name + " ended with " + result.exit.text() + " and printed nothing";
}

std::vector<std::string> valgrind_command(const std::vector<std::string>& options,
                                          const std::vector<std::string>& program) {
  std::vector<std::string> command = {"env", "GOMP_SPINCOUNT=10000", "GLIBC_TUNABLES=glibc.malloc.hugetlb=0",
                                      "valgrind"};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

}  // namespace nanobench::core

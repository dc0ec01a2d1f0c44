/// Runs the built program as a person does, in a folder of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace nanobench::tools {

struct ProgramResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

/// What a command printed with --json.
inline core::Json json_of(const ProgramResult& result) {
  return core::parse_json(result.out, "stdout");
}

inline std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// A prefix that kills the program after so many seconds. Tests wait longer each time, because machines differ.
inline std::string killed_after(double seconds) {
  return "timeout -s KILL " + std::to_string(seconds);
}

/// A temporary folder with the caches and database of one test.
class CommandLine {
 public:
  explicit CommandLine(const std::string& name)
      : folder_(std::filesystem::temp_directory_path() / ("nanobench_cli_" + name + "_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "work");
  }
  ~CommandLine() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// The current folder of the commands.
  std::filesystem::path work() const { return folder_ / "work"; }
  std::filesystem::path database() const { return folder_ / "results.db"; }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(work() / name, std::ios::binary) << text;
    return work() / name;
  }

  /// `environment` like "NAME=value NAME2=value".
  ProgramResult run(const std::vector<std::string>& arguments, const std::string& environment = "") const {
    std::string command = "cd " + quoted(work().string()) + " && env -u NANOBENCH_ENGINE -u NO_COLOR -u COLUMNS" +
                          " NANOBENCH_ROOT=" + quoted(NANOBENCH_SOURCE_DIR) +
                          " NANOBENCH_DB=" + quoted(database().string()) +
                          " XDG_CACHE_HOME=" + quoted((folder_ / "cache").string()) + " " + environment + " " +
                          quoted(std::string(NANOBENCH_BIN_DIR) + "/nanobench");
    for (const std::string& argument : arguments) command += " " + quoted(argument);
    command += " >" + quoted((folder_ / "out").string()) + " 2>" + quoted((folder_ / "err").string()) + " </dev/null";
    const int status = std::system(command.c_str());
    ProgramResult result;
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.out = read_text(folder_ / "out");
    result.err = read_text(folder_ / "err");
    return result;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace nanobench::tools

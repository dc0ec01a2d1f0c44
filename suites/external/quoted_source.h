/// Tells a trainer's log lines from its own source: scripts write themselves into their log, and their comments may
/// show what such a line looks like. Not thread-safe.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nanobench::suites {

class QuotedSource {
 public:
  /// Reads the files; those that are missing, or too large for a script, have no lines.
  explicit QuotedSource(const std::vector<std::filesystem::path>& files);

  /// Whether this line of the log is one of a file: it looks like a log line there too, and the line before is the same
  /// in both. Call for every line, in order. A line that a file begins with is never one.
  bool contains(std::string_view line);

 private:
  std::set<std::pair<std::string, std::string>> pairs_;  ///< a line that looks like a log line, after the one before
  std::string before_;                                   ///< the last line that is not blank
  bool is_genuine_ = false;                              ///< that one was a log line, and no quotation
};

}  // namespace nanobench::suites

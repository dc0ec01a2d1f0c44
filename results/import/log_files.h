/// Finding and reading log files. Nothing is written; what cannot be read is a sentence, not an exception.
/// Thread-safe: no shared state.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nanobench::results {

struct LogFile {
  std::filesystem::path path;
  std::string folder;     ///< record folder or folder of the file, as people call it: "2025-01-04_SoftCap"
  std::string subdir;     ///< below `folder`; may be empty
  std::string name;       ///< of the file
  bool is_named = false;  ///< named by the user itself, not found in a folder
};

struct LogFiles {
  std::vector<LogFile> files;         ///< sorted by folder, sub-directory and name
  std::vector<std::string> problems;  ///< folders and files that could not be looked at, and why
};

/// Files named themselves, and all of *.txt, *.log, *.out and *.stdout below the folders. Links to folders are not
/// followed below a named one. The first part of a path that begins with a date (2025-01-04..., 20250104_...) is the
/// folder, what follows is the sub-directory. Throws Error{kNotFound} for a path that does not exist.
LogFiles find_log_files(const std::vector<std::filesystem::path>& paths);

/// The file's bytes into `buffer`, which is reused. Returns why it could not be read, or nullopt.
std::optional<std::string> read_log_file(const std::filesystem::path& file, std::string& buffer);

}  // namespace nanobench::results

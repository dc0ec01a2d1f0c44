/// Finds and reads log files. Writes nothing; unreadable files are reported as sentences, not exceptions. Thread-safe:
/// no shared state.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/input_file.h"
#include "results/import/speedrun_log.h"

namespace nanobench::results {

struct LogFile {
  std::filesystem::path path;
  std::string folder;     ///< record folder or folder of the file, by its common name: "2025-01-04_SoftCap"
  std::string subdir;     ///< below `folder`; may be empty
  std::string name;       ///< name of the file
  bool is_named = false;  ///< named by the user, not found in a folder
};

struct LogFiles {
  std::vector<LogFile> files;         ///< sorted by folder, sub-directory and name
  std::vector<std::string> problems;  ///< folders and files that could not be read, with the reason
  /// Folders with a README and without a log in or below them, sorted; of folders in each other the outermost.
  std::vector<std::filesystem::path> readme_only;
};

/// Whether it ends in .txt, .log, .out or .stdout, in any case.
bool is_log_name(const std::filesystem::path& file);

/// Files that are named explicitly, and all files with such a name below the named folders. Links to
/// folders below a named folder are not followed. The first part of a path that begins with a date (2025-01-04...,
/// 20250104_...) is the folder; the rest is the sub-directory. Throws Error{kNotFound} for a path that does not exist.
LogFiles find_log_files(const std::vector<std::filesystem::path>& paths);

/// Whether `path` begins with the parts of `folder`.
bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder);

/// What one file holds, or why it could not be read.
struct LogReading {
  SpeedrunLog log;
  std::optional<std::string> problem;         ///< in words: "is a named pipe, expected a file"
  std::optional<core::InputTrouble> trouble;  ///< of which kind; set where `problem` is
};

/// Reads a file a piece at a time: memory grows with the runs in it, not with its bytes.
LogReading read_log_file(const std::filesystem::path& file);

}  // namespace nanobench::results

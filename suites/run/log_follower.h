/// Follows a log file while another program writes it, even if it is truncated, replaced or rotated. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/process/streams.h"

namespace nanobench::suites {

/// Receives the bytes.
class LogReader {
 public:
  virtual ~LogReader() = default;
  virtual void on_bytes(std::string_view bytes) = 0;
  /// A file ended with the bytes so far. The next bytes start another file, or the same file from its beginning.
  virtual void on_end() = 0;
};

/// Why there was nothing to read.
enum class LogTrouble {
  kNone,
  kUnreadable,  ///< the operating system refuses
  kMissing,     ///< no file has the name
  kUntouched,   ///< a file was there before, and nothing was written into it
};

class LogFollower {
 public:
  /// `pattern` is a path whose last part may hold the wildcards * and ?. From existing files, only what is written from
  /// now on is read.
  explicit LogFollower(std::filesystem::path pattern);

  /// Passes on what was written since the last call. `is_last`: the writer has ended. If several files match, the
  /// newest is followed; a newer one later replaces it.
  void read(LogReader& reader, bool is_last);

  /// After the last read: why there was nothing to read.
  LogTrouble trouble() const;
  /// The same in words; "" if there was something.
  std::string problem() const;

 private:
  /// State of a file when the follower was created.
  struct Before {
    ino_t inode = 0;
    off_t size = 0;
    timespec changed = {};
    std::string tail;  ///< its last bytes, to tell an append from a rewrite
  };
  struct Found {
    std::filesystem::path path;
    ino_t inode = 0;
    timespec changed = {};
    off_t start = 0;
  };

  std::vector<std::filesystem::path> matches() const;
  /// The file and its starting offset, if the writer has written to it by now.
  std::optional<Found> ours(const std::filesystem::path& path, bool is_last) const;
  std::optional<Found> newest(bool is_last) const;
  void open_newest(LogReader& reader, bool is_last);
  void read_open(LogReader& reader);

  std::filesystem::path pattern_;
  bool has_wildcard_ = false;
  std::map<std::filesystem::path, Before> before_;
  std::set<std::filesystem::path> followed_;  ///< for a pattern: each file once
  core::Fd file_;
  ino_t inode_ = 0;
  off_t offset_ = 0;
  int calls_ = 0;
  std::string open_error_;
};

}  // namespace nanobench::suites

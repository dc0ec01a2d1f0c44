/// A log file that another program writes, read while it grows: also when it is cut short, replaced or rotated. Not
/// thread-safe.
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

/// Who gets the bytes.
class LogReader {
 public:
  virtual ~LogReader() = default;
  virtual void on_bytes(std::string_view bytes) = 0;
  /// The bytes so far were the end of a file; the next ones begin another, or the same one anew.
  virtual void on_end() = 0;
};

class LogFollower {
 public:
  /// `pattern` is a path, in whose last part * and ? stand for any characters. Of what is there already, only what is
  /// written from now on is read.
  explicit LogFollower(std::filesystem::path pattern);

  /// Passes on what was written since the last call. `is_last`: the writer has ended. Of several files that match, the
  /// newest is taken; one that comes later takes its place.
  void read(LogReader& reader, bool is_last);

  /// After the last read: why there is nothing to read, in words, or "".
  std::string problem() const;

 private:
  /// A file as it was when the follower was made.
  struct Before {
    ino_t inode = 0;
    off_t size = 0;
    timespec changed = {};
    std::string tail;  ///< its last bytes, to tell appending from writing anew
  };
  struct Found {
    std::filesystem::path path;
    ino_t inode = 0;
    timespec changed = {};
    off_t start = 0;
  };

  std::vector<std::filesystem::path> matches() const;
  /// The file if it is the writer's by now, and from where on.
  std::optional<Found> ours(const std::filesystem::path& path, bool is_last) const;
  std::optional<Found> newest(bool is_last) const;
  void open_newest(LogReader& reader, bool is_last);
  void read_open(LogReader& reader);

  std::filesystem::path pattern_;
  bool has_wildcard_ = false;
  std::map<std::filesystem::path, Before> before_;
  std::set<std::filesystem::path> followed_;  ///< of a pattern: each once
  core::Fd file_;
  ino_t inode_ = 0;
  off_t offset_ = 0;
  int calls_ = 0;
  std::string open_error_;
};

}  // namespace nanobench::suites

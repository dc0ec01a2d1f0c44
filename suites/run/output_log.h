/// Keeps what a run prints in a file while it runs. Private to suites/. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "core/process/streams.h"

namespace nanobench::suites {

/// One stream. The file appears with the first bytes. A disk that is full or read-only costs the log, never the run.
class OutputLog {
 public:
  /// This much of a longer stream's beginning is kept, and its end (TextTail).
  static constexpr std::int64_t kMaxBytes = std::int64_t{16} << 20;

  explicit OutputLog(std::filesystem::path file) : file_(std::move(file)) {}

  void add(std::string_view bytes);
  /// Completes the file. Returns whether there is one.
  bool keep();
  /// Removes the file, and its folder if that is then empty.
  void discard();

 private:
  bool open();

  std::filesystem::path file_;
  core::Fd fd_;
  bool is_given_up_ = false;
  std::int64_t written_ = 0;
  std::int64_t left_out_ = 0;
  core::TextTail tail_;  ///< of what was left out
};

}  // namespace nanobench::suites

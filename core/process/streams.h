/// File descriptors of pipes and files: ownership, reading, splitting into lines, writing, and waiting for several of
/// them. Nothing here is thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nanobench::core {

/// A file descriptor that closes itself; -1 is none.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_;
};

struct Pipe {
  Fd read;
  Fd write;
};

/// Whether the open file has this name, still: another one may have removed or replaced it.
bool is_same_file(int fd, const std::filesystem::path& file);

/// Both ends are close-on-exec: closed in programs that this process starts. Throws Error{kUnavailable}.
Pipe make_pipe();

/// Returns immediately with the bytes that have arrived; never waits. Returns an empty view when there are none; at the
/// end of the stream or on failure it also closes `fd`. The bytes stay valid until this thread's next call.
std::string_view read_available(Fd& fd);

/// Writes all bytes. Returns false when the reader has closed its end.
bool write_all(int fd, std::string_view bytes);

/// Waits until one of the descriptors can be read or has ended, a signal arrives, or the time is over. Negative
/// descriptors are skipped. Returns the index of the first one that is ready.
std::optional<std::size_t> wait_readable(const std::vector<int>& fds, std::chrono::duration<double> time);

/// Splits arriving bytes into lines.
class LineCutter {
 public:
  /// Longer lines are dropped.
  static constexpr std::size_t kMaxLine = std::size_t{1} << 20;

  /// Calls `take(line)` for each line that is now complete, without its newline.
  template <class Take>
  void add(std::string_view bytes, Take take) {
    rest_ += bytes;
    std::size_t start = 0;
    for (std::size_t end; (end = rest_.find('\n', start)) != std::string::npos; start = end + 1) {
      if (!is_dropping_) take(std::string_view(rest_).substr(start, end - start));
      is_dropping_ = false;
    }
    rest_.erase(0, start);
    if (is_dropping_ || rest_.size() > kMaxLine) {
      is_dropping_ = true;
      rest_.clear();
    }
  }

  /// Whether the current line is too long.
  bool is_dropping() const { return is_dropping_; }
  /// The bytes after the last newline.
  const std::string& rest() const { return rest_; }
  /// The same; the next bytes begin a new line.
  std::string take_rest() {
    is_dropping_ = false;
    return std::exchange(rest_, {});
  }

 private:
  std::string rest_;
  bool is_dropping_ = false;  ///< true until the end of an overlong line
};

/// The end of a stream of any length.
class TextTail {
 public:
  static constexpr std::size_t kMinBytes = 8192;

  /// Bytes kept: at least this many, at most twice as many.
  explicit TextTail(std::size_t min_bytes = kMinBytes) : min_bytes_(min_bytes) {}

  void add(std::string_view bytes);
  const std::string& text() const { return text_; }

 private:
  std::size_t min_bytes_;
  std::string text_;
};

}  // namespace nanobench::core

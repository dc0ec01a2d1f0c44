/// The only way in for files: regular files only, up to a limit of bytes, and every failure has a reason in words.
///
/// A named pipe would block its reader, a device has no end, and a file may grow while it is read; none of these harms
/// a reader here. Descriptors are close-on-exec. An InputFile is not thread-safe; the functions share no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/base/refusal.h"

namespace nanobench::core {

/// How large a file may be, and why not larger.
struct InputLimit {
  std::uint64_t max_bytes = 0;
  const char* reason = "";  ///< completes "expected at most 16 MiB: ": "no suite is larger"
};

/// For files that are streamed, or of which only parts are read: their size costs no memory.
inline constexpr InputLimit kAnySize{std::numeric_limits<std::uint64_t>::max(), ""};
/// For what the kernel reports in /proc and /sys; /proc/cpuinfo has 1.5 KiB per processor.
inline constexpr std::size_t kMaxSystemBytes = std::size_t{8} << 20;

enum class InputTrouble {
  kMissing,     ///< there is no such file
  kNoFile,      ///< a folder, a pipe, a device, a socket
  kTooLarge,    ///< larger than the limit
  kUnreadable,  ///< the operating system refused
};

/// Why a file cannot be read.
struct InputProblem {
  InputTrouble trouble = InputTrouble::kUnreadable;
  std::string text;  ///< completes a sentence that begins with the file's name: "is a folder, expected a file"

  /// kNotFound, kInvalidArgument or kIo.
  ErrorCode code() const;
};

/// The same as a reason: kMissingFile, kNotAFile, kTooLarge or kUnreadable.
Reason reason_of(InputTrouble trouble);

/// Throws Refusal "KIND SUBJECT PROBLEM; REMEDY" about the subject, which is the file; an empty kind, as in "token
/// shard", or remedy is left out.
[[noreturn]] void fail_to_read(const std::string& subject, const InputProblem& problem, const std::string& remedy = "",
                               const std::string& kind = "");

/// An open regular file.
class InputFile {
 public:
  /// No file yet.
  InputFile() = default;
  /// Opens a file; throws Error as fail_to_read(file, ...) does.
  explicit InputFile(const std::filesystem::path& file, const InputLimit& limit = kAnySize);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;

  /// Closes the former file and opens this one. Returns why it cannot be read, and is then closed.
  std::optional<InputProblem> open(const std::filesystem::path& file, const InputLimit& limit = kAnySize);
  void close();

  /// Bytes at the time of opening; 0 for files in /proc.
  std::uint64_t size() const { return size_; }
  /// Stays owned by this object.
  int descriptor() const { return descriptor_; }

  /// The next bytes, at most `bytes`; 0 at the end. Throws Error{kIo}, and Error{kInvalidArgument} once the file has
  /// grown beyond its limit.
  std::size_t read(char* data, std::size_t bytes);
  /// Exactly these bytes, wherever read() is; false if the file ends before or cannot be read.
  bool read_at(std::uint64_t offset, void* data, std::size_t bytes) const;

 private:
  std::filesystem::path path_;
  InputLimit limit_;
  std::uint64_t size_ = 0;
  std::uint64_t taken_ = 0;
  int descriptor_ = -1;
};

/// The whole file. Throws Error as InputFile does.
std::string read_input(const std::filesystem::path& file, const InputLimit& limit);
/// The whole file in `text`, whose memory is reused; returns why it cannot be read.
std::optional<InputProblem> read_input(const std::filesystem::path& file, const InputLimit& limit, std::string& text);

/// The first bytes, at most `max_bytes`; nullopt if it cannot be read. For /proc and /sys, for files of other programs,
/// and wherever a file is only looked at.
std::optional<std::string> read_beginning(const std::filesystem::path& file, std::size_t max_bytes = kMaxSystemBytes);
/// The first line without its end, at most `max_bytes` of it; "" if it cannot be read.
std::string first_line_of(const std::filesystem::path& file, std::size_t max_bytes = kMaxSystemBytes);

}  // namespace nanobench::core

#include "core/base/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/reason.h"
#include "core/base/text.h"

namespace nanobench::core {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 16;

InputProblem refused(int reason) {
  if (reason == ENOENT || reason == ENOTDIR) return {InputTrouble::kMissing, "does not exist"};
  return {InputTrouble::kUnreadable, std::string("cannot be read: ") + std::strerror(reason)};
}

/// "16 MiB" for whole ones, else the number of bytes.
std::string limit_text(std::uint64_t bytes) {
  for (const auto& [shift, unit] : {std::pair(30, " GiB"), std::pair(20, " MiB")}) {
    if (bytes >> shift << shift == bytes && bytes > 0) return std::to_string(bytes >> shift) + unit;
  }
  return format_count(static_cast<std::int64_t>(bytes)) + " bytes";
}

InputProblem too_large(const InputLimit& limit, const std::string& found) {
  return {InputTrouble::kTooLarge, found + ", expected at most " + limit_text(limit.max_bytes) + ": " + limit.reason};
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "folder";
  if (S_ISFIFO(mode)) return "named pipe";
  if (S_ISSOCK(mode)) return "socket";
  return "device";
}

std::optional<InputProblem> problem_of(const struct stat& facts, const InputLimit& limit) {
  if (!S_ISREG(facts.st_mode))
    return InputProblem{InputTrouble::kNoFile, std::string("is a ") + kind_of(facts.st_mode) + ", expected a file"};
  const auto bytes = static_cast<std::uint64_t>(facts.st_size);
  if (bytes > limit.max_bytes) return too_large(limit, "has " + limit_text(bytes));
  return std::nullopt;
}

ssize_t read_some(int descriptor, char* data, std::size_t bytes) {
  ssize_t count = -1;
  do count = ::read(descriptor, data, bytes);
  while (count < 0 && errno == EINTR);
  return count;
}

/// Reads at most `max_bytes` more; false on failure, with errno.
bool read_up_to(int descriptor, std::size_t max_bytes, std::size_t expected, std::string& text) {
  std::size_t size = 0;
  text.resize(std::min(max_bytes, std::max(expected + 1, kPiece)));  // one more byte: finds the end without growing
  while (size < max_bytes) {
    if (size == text.size()) text.resize(std::min(max_bytes, size * 2));
    const ssize_t count = read_some(descriptor, text.data() + size, text.size() - size);
    if (count < 0) return false;
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return true;
}

}  // namespace

ErrorCode InputProblem::code() const {
  switch (trouble) {
    case InputTrouble::kMissing: return ErrorCode::kNotFound;
    case InputTrouble::kNoFile:
    case InputTrouble::kTooLarge: return ErrorCode::kInvalidArgument;
    case InputTrouble::kUnreadable: break;
  }
  return ErrorCode::kIo;
}

Reason reason_of(InputTrouble trouble) {
  switch (trouble) {
    case InputTrouble::kMissing: return Reason::kMissingFile;
    case InputTrouble::kNoFile: return Reason::kNotAFile;
    case InputTrouble::kTooLarge: return Reason::kTooLarge;
    case InputTrouble::kUnreadable: break;
  }
  return Reason::kUnreadable;
}

void fail_to_read(const std::string& subject, const InputProblem& problem, const std::string& remedy,
                  const std::string& kind) {
  throw Refusal(problem.code(), reason_of(problem.trouble),
                (kind.empty() ? "" : kind + " ") + subject + " " + problem.text + (remedy.empty() ? "" : "; " + remedy),
                subject);
}

InputFile::InputFile(const std::filesystem::path& file, const InputLimit& limit) {
  if (const auto problem = open(file, limit)) fail_to_read(file.string(), *problem);
}

InputFile::~InputFile() {
  close();
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      limit_(other.limit_),
      size_(other.size_),
      taken_(other.taken_),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  if (this == &other) return *this;
  close();
  path_ = std::move(other.path_);
  limit_ = other.limit_;
  size_ = other.size_;
  taken_ = other.taken_;
  descriptor_ = std::exchange(other.descriptor_, -1);
  return *this;
}

std::optional<InputProblem> InputFile::open(const std::filesystem::path& file, const InputLimit& limit) {
  close();
  path_ = file;
  limit_ = limit;
  size_ = taken_ = 0;
  struct stat facts = {};
  // Looked at first: opening a device may already do something.
  if (::stat(file.c_str(), &facts) != 0) return refused(errno);
  if (auto problem = problem_of(facts, limit)) return problem;
  descriptor_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) return refused(errno);
  std::optional<InputProblem> problem;
  if (::fstat(descriptor_, &facts) != 0) {
    problem = refused(errno);
  } else {
    problem = problem_of(facts, limit);
  }
  if (problem) close();
  size_ = problem ? 0 : static_cast<std::uint64_t>(facts.st_size);
  return problem;
}

void InputFile::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

std::size_t InputFile::read(char* data, std::size_t bytes) {
  const ssize_t count = read_some(descriptor_, data, bytes);
  if (count < 0) fail_to_read(path_.string(), refused(errno));
  taken_ += static_cast<std::uint64_t>(count);
  if (taken_ > limit_.max_bytes) fail_to_read(path_.string(), too_large(limit_, "grows while it is read"));
  return static_cast<std::size_t>(count);
}

bool InputFile::read_at(std::uint64_t offset, void* data, std::size_t bytes) const {
  auto* to = static_cast<char*>(data);
  while (bytes > 0) {
    if (offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) return false;
    const ssize_t count = ::pread(descriptor_, to, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    to += count;
    offset += static_cast<std::uint64_t>(count);
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

std::optional<InputProblem> read_input(const std::filesystem::path& file, const InputLimit& limit, std::string& text) {
  text.clear();
  InputFile in;
  if (auto problem = in.open(file, limit)) return problem;
  const std::uint64_t enough = std::min<std::uint64_t>(limit.max_bytes, text.max_size() - 1) + 1;
  if (!read_up_to(in.descriptor(), static_cast<std::size_t>(enough), static_cast<std::size_t>(in.size()), text))
    return refused(errno);
  if (text.size() > limit.max_bytes) return too_large(limit, "grows while it is read");
  return std::nullopt;
}

std::string read_input(const std::filesystem::path& file, const InputLimit& limit) {
  std::string text;
  if (const auto problem = read_input(file, limit, text)) fail_to_read(file.string(), *problem);
  return text;
}

std::optional<std::string> read_beginning(const std::filesystem::path& file, std::size_t max_bytes) {
  InputFile in;
  std::string text;
  if (in.open(file)) return std::nullopt;
  const auto expected = static_cast<std::size_t>(std::min<std::uint64_t>(in.size(), max_bytes));
  if (!read_up_to(in.descriptor(), max_bytes, expected, text)) return std::nullopt;
  return text;
}

std::string first_line_of(const std::filesystem::path& file, std::size_t max_bytes) {
  std::string text = read_beginning(file, max_bytes).value_or("");
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

}  // namespace nanobench::core

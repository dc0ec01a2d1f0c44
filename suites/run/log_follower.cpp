#include "suites/run/log_follower.h"

#include "core/base/input_file.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;

constexpr off_t kTailBytes = 4096;
constexpr int kCallsPerScan = 10;  ///< a folder of many logs is not listed at every call

std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return status;
}

/// `size` bytes at `offset`; none if the file ends before or cannot be read.
std::string bytes_at(const fs::path& path, off_t offset, off_t size) {
  core::InputFile file;
  std::string bytes(static_cast<std::size_t>(size), '\0');
  const bool is_read = !file.open(path) && file.read_at(static_cast<std::uint64_t>(offset), bytes.data(), bytes.size());
  return is_read ? bytes : "";
}

bool is_before(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

}  // namespace

LogFollower::LogFollower(fs::path pattern)
    : pattern_(std::move(pattern)),
      has_wildcard_(pattern_.filename().string().find_first_of("*?") != std::string::npos) {
  for (const fs::path& path : matches()) {
    const auto status = status_of(path);
    if (!status) continue;
    const off_t tail = std::min(status->st_size, kTailBytes);
    before_[path] = {status->st_ino, status->st_size, status->st_mtim, bytes_at(path, status->st_size - tail, tail)};
  }
}

std::vector<fs::path> LogFollower::matches() const {
  if (!has_wildcard_) return {pattern_};
  std::vector<fs::path> paths;
  std::error_code error;
  const std::string name = pattern_.filename().string();
  for (auto entry = fs::directory_iterator(pattern_.parent_path(), error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (fnmatch(name.c_str(), entry->path().filename().c_str(), FNM_PERIOD) == 0) paths.push_back(entry->path());
  }
  return paths;
}

std::optional<LogFollower::Found> LogFollower::ours(const fs::path& path, bool is_last) const {
  const auto status = status_of(path);
  if (!status) return std::nullopt;
  Found found{path, status->st_ino, status->st_mtim, 0};
  const auto known = before_.find(path);
  if (known == before_.end() || known->second.inode != status->st_ino) return found;
  const Before& before = known->second;
  const bool is_touched = is_before(before.changed, status->st_mtim) || is_before(status->st_mtim, before.changed);
  if (!is_touched && status->st_size == before.size) return std::nullopt;
  const auto tail = static_cast<off_t>(before.tail.size());
  if (status->st_size < before.size || bytes_at(path, before.size - tail, tail) != before.tail) return found;
  // The old bytes are still there, so more may follow. At the end it means that the file was rewritten with the same
  // bytes.
  if (status->st_size == before.size) return is_last ? std::optional(found) : std::nullopt;
  found.start = before.size;
  return found;
}

std::optional<LogFollower::Found> LogFollower::newest(bool is_last) const {
  std::optional<Found> newest;
  for (const fs::path& path : matches()) {
    if (has_wildcard_ && followed_.contains(path)) continue;
    const std::optional<Found> found = ours(path, is_last);
    if (found && (!newest || is_before(newest->changed, found->changed))) newest = found;
  }
  return newest;
}

void LogFollower::open_newest(LogReader& reader, bool is_last) {
  const std::optional<Found> found = newest(is_last);
  if (!found || (file_.get() >= 0 && found->inode == inode_)) return;
  core::Fd file(open(found->path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    open_error_ = found->path.string() + ": " + std::strerror(errno);
    return;
  }
  if (file_.get() >= 0) {
    read_open(reader);  // what was appended to the old one since
    reader.on_end();
  }
  file_ = std::move(file);
  inode_ = found->inode;
  offset_ = found->start;
  followed_.insert(found->path);
}

void LogFollower::read_open(LogReader& reader) {
  struct stat status = {};
  if (fstat(file_.get(), &status) == 0 && status.st_size < offset_) {
    reader.on_end();
    offset_ = 0;
  }
  std::array<char, 65536> bytes{};
  ssize_t count = 0;
  while ((count = pread(file_.get(), bytes.data(), bytes.size(), offset_)) > 0) {
    offset_ += count;
    reader.on_bytes({bytes.data(), static_cast<std::size_t>(count)});
  }
}

void LogFollower::read(LogReader& reader, bool is_last) {
  if (file_.get() >= 0) read_open(reader);
  const bool is_scan_due = !has_wildcard_ || is_last || file_.get() < 0 || calls_ % kCallsPerScan == 0;
  ++calls_;
  if (is_scan_due) open_newest(reader, is_last);
  if (file_.get() >= 0) read_open(reader);
}

LogTrouble LogFollower::trouble() const {
  if (file_.get() >= 0) return LogTrouble::kNone;
  if (!open_error_.empty()) return LogTrouble::kUnreadable;
  return before_.empty() ? LogTrouble::kMissing : LogTrouble::kUntouched;
}

std::string LogFollower::problem() const {
  const std::string name = pattern_.filename().string() + " in " + pattern_.parent_path().string();
  switch (trouble()) {
    case LogTrouble::kNone: break;
    case LogTrouble::kUnreadable: return "its log file cannot be read: " + open_error_;
    case LogTrouble::kMissing: return "there is no log file " + name;
    case LogTrouble::kUntouched: return "it wrote nothing into its log file " + name + ", which was there before";
  }
  return "";
}

}  // namespace nanobench::suites

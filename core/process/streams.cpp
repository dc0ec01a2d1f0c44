#include "core/process/streams.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "core/base/error.h"
#include "core/process/resource_limits.h"

namespace nanobench::core {
namespace {

constexpr int kPipeBytes = 1 << 20;  // a program that writes in bursts must not wait for its reader

/// Returns -1 and EAGAIN if a read would wait, whether or not the descriptor blocks.
ssize_t read_now(int fd, char* bytes, std::size_t size) {
  pollfd waiting = {fd, POLLIN, 0};
  ssize_t count = -1;
  do {
    if (poll(&waiting, 1, 0) == 0) {
      errno = EAGAIN;
      return -1;
    }
    count = read(fd, bytes, size);
  } while (count < 0 && errno == EINTR);
  return count;
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

void Fd::reset() {
  if (fd_ >= 0) close(release());
}

bool is_same_file(int fd, const std::filesystem::path& file) {
  struct stat held = {};
  struct stat named = {};
  return fstat(fd, &held) == 0 && stat(file.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

Pipe make_pipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    const int reason = errno;
    throw Error(ErrorCode::kUnavailable, std::string("cannot make a pipe: ") + std::strerror(reason) + "; " +
                                             remedy_for(reason, "close other programs and run again"));
  }
  fcntl(ends[0], F_SETPIPE_SZ, kPipeBytes);  // best effort
  return {Fd(ends[0]), Fd(ends[1])};
}

std::string_view read_available(Fd& fd) {
  thread_local std::array<char, 1 << 16> bytes;
  if (!fd.is_open()) return {};
  const ssize_t count = read_now(fd.get(), bytes.data(), bytes.size());
  if (count > 0) return {bytes.data(), static_cast<std::size_t>(count)};
  if (count == 0 || errno != EAGAIN) fd.reset();
  return {};
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::optional<std::size_t> wait_readable(const std::vector<int>& fds, std::chrono::duration<double> time) {
  std::vector<pollfd> waiting;
  for (const int fd : fds) waiting.push_back({fd, POLLIN, 0});
  const double ms = std::clamp(time.count() * 1000, 0.0, 1e9);
  if (poll(waiting.data(), waiting.size(), static_cast<int>(std::ceil(ms))) <= 0) return std::nullopt;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i].revents != 0) return i;
  }
  return std::nullopt;
}

void TextTail::add(std::string_view bytes) {
  text_ += bytes;
  if (text_.size() > 2 * min_bytes_) text_.erase(0, text_.size() - min_bytes_);
}

}  // namespace nanobench::core

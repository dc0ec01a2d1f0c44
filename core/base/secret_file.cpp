#include "core/base/secret_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"

namespace nanobench::core {

namespace fs = std::filesystem;
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kMinText = 16;
constexpr std::size_t kMaxText = 4096;
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

[[noreturn]] void fail(const std::string& what, const fs::path& file) {
  throw Refusal(ErrorCode::kIo, Reason::kSystem, "cannot " + what + " " + file.string() + ": " + std::strerror(errno),
                file.string());
}

[[noreturn]] void refuse(const fs::path& file, Reason reason, const std::string& why) {
  throw Refusal(ErrorCode::kInvalidArgument, reason, "the secret file " + file.string() + " " + why, file.string());
}

/// A descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(const fs::path& file, int flags) : fd_(::open(file.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

void check_owner(const fs::path& file, int fd) {
  struct stat facts {};
  if (fstat(fd, &facts) != 0) fail("look at the secret file", file);
  if (!S_ISREG(facts.st_mode)) refuse(file, Reason::kNotAFile, "is not a regular file");
  if (facts.st_uid != geteuid() && facts.st_uid != 0)
    refuse(file, Reason::kForeignOwner, "belongs to another user; name one of your own");
  if ((facts.st_mode & kOthers) != 0) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%03o", static_cast<unsigned>(facts.st_mode & 0777));
    refuse(file, Reason::kOpenToOthers,
           "has mode " + std::string(mode) + ", so that others may use it; make that 600: chmod 600 " + file.string());
  }
}

std::string read_text(const fs::path& file, int fd) {
  std::string text;
  char bytes[kMaxText + 1];
  while (text.size() <= kMaxText) {
    const ssize_t count = ::read(fd, bytes, sizeof bytes - text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read the secret file", file);
    if (count == 0) break;
    text.append(bytes, static_cast<std::size_t>(count));
  }
  return text;
}

std::optional<fs::path> cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return fs::path(cache) / "nanobench";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return fs::path(home) / ".cache" / "nanobench";
  return std::nullopt;
}

/// A folder that anybody may create in: it has to be this user's own, and closed to others.
fs::path own_temporary_folder() {
  std::error_code ignored;
  const fs::path place = fs::temp_directory_path(ignored);
  const fs::path folder = (place.empty() ? "/tmp" : place) / ("nanobench-" + std::to_string(geteuid()));
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) fail("create", folder);
  struct stat facts {};
  if (lstat(folder.c_str(), &facts) != 0) fail("look at", folder);
  if (!S_ISDIR(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & kOthers) != 0)
    throw Refusal(ErrorCode::kIo, Reason::kOpenToOthers, folder.string() + " is not a folder of this user alone",
                  folder.string());
  return folder;
}

/// The secret in the folder. The first process to link its file there decides it, whoever comes at the same time.
std::string secret_in(const fs::path& folder) {
  const fs::path file = folder / "secret";
  if (access(file.c_str(), F_OK) == 0) return read_secret_file(file);
  std::error_code ignored;
  fs::create_directories(folder, ignored);  // what is wrong is said by the next call
  const fs::path draft = folder / (".secret-" + new_secret().substr(0, 16));
  create_secret_file(draft);
  const int code = ::link(draft.c_str(), file.c_str()) == 0 ? 0 : errno;
  ::unlink(draft.c_str());
  errno = code;
  if (code != 0 && code != EEXIST) fail("create", file);
  return read_secret_file(file);
}

}  // namespace

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t have = 0; have < count;) {
    const ssize_t more = getrandom(bytes.data() + have, count - have, 0);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0)
      throw Error(ErrorCode::kUnavailable, std::string("the system gives no random bytes: ") + std::strerror(errno));
    have += static_cast<std::size_t>(more);
  }
  return bytes;
}

std::string new_secret() {
  std::string text;
  for (const char byte : random_bytes(kSecretBytes)) {
    const auto value = static_cast<unsigned char>(byte);
    text += "0123456789abcdef"[value >> 4];
    text += "0123456789abcdef"[value & 15];
  }
  return text;
}

void create_secret_file(const fs::path& file) {
  const std::string text = new_secret() + "\n";
  const Descriptor out(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
  if (!out.is_open()) fail("create", file);
  // Short and new: a part of it written is a full disk, and nobody reads it then.
  if (::write(out.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    const int reason = errno;
    ::unlink(file.c_str());
    errno = reason;
    fail("write", file);
  }
}

std::string read_secret_file(const fs::path& file) {
  const Descriptor in(file, O_RDONLY | O_NONBLOCK);  // a pipe without a writer would hold this process up
  if (!in.is_open()) fail("open the secret file", file);
  check_owner(file, in.get());
  std::string text = read_text(file, in.get());
  const bool is_too_long = text.size() > kMaxText;
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  if (is_too_long || text.size() < kMinText)
    refuse(file, Reason::kWrongLength,
           "should hold " + std::to_string(kMinText) + " to " + std::to_string(kMaxText) +
               " random bytes, as from: openssl rand -hex 32");
  return text;
}

std::string own_secret() {
  std::vector<std::string> reasons;
  const auto attempt = [&](auto find_folder) -> std::optional<std::string> {
    try {
      return secret_in(find_folder());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kIo) throw;  // a secret that others may know is refused, not replaced
      reasons.emplace_back(error.what());
      return std::nullopt;
    }
  };
  if (const std::optional<fs::path> cache = cache_folder()) {
    if (std::optional<std::string> secret = attempt([&] { return *cache; })) return std::move(*secret);
  }
  if (std::optional<std::string> secret = attempt(own_temporary_folder)) return std::move(*secret);
  throw Refusal(ErrorCode::kUnavailable, Reason::kNoSafePlace,
                "there is no safe place for the secret of the processes; name a file of mode "
                "600 by " +
                    std::string(kSecretFileVariable) + ": " + joined(reasons, "; "));
}

}  // namespace nanobench::core

#include "core/base/atomic_write.h"

#include <fcntl.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/error.h"

namespace nanobench::core {

namespace fs = std::filesystem;
namespace {

/// Unique across processes and threads.
std::string temporary_suffix() {
  static std::atomic<unsigned> counter{0};
  return ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
}

fs::path temporary_sibling(const fs::path& target) {
  std::string name = ".";
  name += target.filename().string();
  name += temporary_suffix();
  return target.parent_path() / name;
}

[[noreturn]] void fail(const char* what, const fs::path& where, int reason) {
  throw Error(ErrorCode::kIo, std::string("cannot ") + what + " " + where.string() + ": " + std::strerror(reason) +
                                  "; choose a folder that can be written and has space");
}

/// Makes a rename inside the folder survive a power cut. Best effort: some file systems refuse to sync folders.
void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(fs::path target) : target_(std::move(target)), path_(temporary_sibling(target_)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("create", target_, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!is_committed_) ::unlink(path_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", path_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail("write", path_, errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail("write", path_, errno);
  if (std::rename(path_.c_str(), target_.c_str()) != 0) fail("write", target_, errno);
  is_committed_ = true;
  sync_folder(target_.parent_path());
}

void write_file_atomically(const fs::path& file, std::span<const std::string_view> pieces) {
  AtomicFile temporary(file);
  for (const std::string_view piece : pieces) temporary.write(piece);
  temporary.commit();
}

void write_file_atomically(const fs::path& file, std::string_view text) {
  write_file_atomically(file, std::span(&text, 1));
}

StagedFolder::StagedFolder(fs::path target) : target_(std::move(target)) {
  if (!target_.has_filename()) target_ = target_.parent_path();  // "out/" names the folder "out"
  target_ = fs::absolute(target_).lexically_normal();
  staging_ = temporary_sibling(target_);
  std::error_code error;
  fs::create_directories(target_.parent_path(), error);
  if (error) fail("create the folder", target_.parent_path(), error.value());
  if (!fs::create_directory(staging_, error)) fail("create the folder", staging_, error ? error.value() : EEXIST);
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  if (!committed_) fs::remove_all(staging_, ignored);
}

bool StagedFolder::commit() {
  sync_folder(staging_);
  if (std::rename(staging_.c_str(), target_.c_str()) != 0) {
    if (errno == ENOTEMPTY || errno == EEXIST) return false;
    fail("create the folder", target_, errno);
  }
  committed_ = true;
  sync_folder(target_.parent_path());
  return true;
}

namespace {

constexpr const char* kRemedy = "set TMPDIR to a folder that is yours";

[[noreturn]] void fail(const std::string& place, const std::string& reason, const std::string& remedy) {
  throw Error(ErrorCode::kIo, "cannot make a folder in " + place + ": " + reason + "; " + remedy);
}

std::filesystem::path systems_place() {
  std::error_code error;
  const std::filesystem::path place = std::filesystem::temp_directory_path(error);
  const char* const asked = std::getenv("TMPDIR");
  if (error) fail(asked != nullptr ? asked : "/tmp", error.message(), kRemedy);
  return place;
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& purpose) : TemporaryFolder(purpose, systems_place(), kRemedy) {}

TemporaryFolder::TemporaryFolder(const std::string& purpose, const std::filesystem::path& place,
                                 const std::string& remedy) {
  std::string name = (place / ("nanobench-" + purpose + "-XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) fail(place.string(), std::strerror(errno), remedy);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace nanobench::core

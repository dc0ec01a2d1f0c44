#include "suites/source/scratch_tree.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "core/base/atomic_write.h"
#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/process/command.h"
#include "suites/source/git_command.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Fd;

constexpr double kTreeSeconds = 300;                ///< to write the files of a large source
constexpr auto kKept = std::chrono::hours(24 * 7);  ///< trees of suites that never came to their end

fs::path beside(const fs::path& folder, const char* ending) {
  return folder.parent_path() / (folder.filename().string() + ending);
}

/// Whoever removes a tree removes its lock too. nullopt: it is held in a way that excludes this. `operation` as of
/// flock.
std::optional<Fd> locked(const fs::path& file, int operation) {
  for (;;) {
    Fd lock(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (lock.get() < 0) throw Error(ErrorCode::kIo, "cannot write " + file.string() + ": " + std::strerror(errno));
    if (flock(lock.get(), operation) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) return std::nullopt;
      throw Error(ErrorCode::kUnavailable,
                  "the file system of " + file.string() + " has no locks (" + std::strerror(errno) + ")");
    }
    if (core::is_same_file(lock.get(), file)) return lock;
  }
}

}  // namespace

fs::path folder_of_tree(const fs::path& cache, const core::Json& settings) {
  core::Json parts = settings;
  parts.erase("folder");
  return cache / "sources" / "trees" / core::digest_of(parts.dump()).substr(0, 20);
}

ScratchTree::ScratchTree(const core::Json& settings)
    : settings_(settings), folder_(settings.at("folder").get<std::string>()) {
  std::error_code ignored;
  fs::create_directories(folder_.parent_path(), ignored);
  const fs::path lock_file = beside(folder_, ".lock");
  for (;;) {
    if (std::optional<Fd> alone = locked(lock_file, LOCK_EX | LOCK_NB)) {
      make();
      lock_ = std::move(*alone);
      flock(lock_.get(), LOCK_SH);
    } else {
      lock_ = std::move(*locked(lock_file, LOCK_SH));  // waits while another one makes it
    }
    if (core::is_same_file(lock_.get(), lock_file) && fs::is_directory(folder_, ignored)) break;
  }
  fs::last_write_time(folder_, fs::file_time_type::clock::now(), ignored);
}

void ScratchTree::make() const {
  std::error_code ignored;
  if (fs::is_directory(folder_, ignored)) return write_files(folder_);
  core::StagedFolder staged(folder_);
  write_files(staged.path());
  make_links(staged.path());
  staged.commit();
}

void ScratchTree::write_files(const fs::path& into) const {
  const fs::path index = beside(folder_, ".index");
  const auto git = [&](const std::string& command, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"--work-tree=" + into.string(), command};
    words.insert(words.end(), more.begin(), more.end());
    return core::run_command(git_of_cache(settings_.at("git").get<std::string>(), index, words),
                             {.seconds = kTreeSeconds});
  };
  const auto require = [&](const std::string& command, const std::vector<std::string>& more) {
    const core::CommandResult result = git(command, more);
    if (!result.is_success()) throw Error(ErrorCode::kUnavailable, core::failure_text({"git", command}, result));
  };
  std::error_code ignored;
  if (into != folder_ || !fs::exists(index, ignored)) {
    fs::remove(index, ignored);
    require("read-tree", {settings_.at("tree").get<std::string>()});
  }
  git("update-index", {"-q", "--refresh"});  // fails if a file was changed, which the next command mends
  require("checkout-index", {"-a", "-f", "-u", "-q"});
}

void ScratchTree::make_links(const fs::path& into) const {
  for (const auto& [name, target] : settings_.at("links").items()) {
    const fs::path to = target.get<std::string>(), from = into / name;
    std::error_code error;
    if (!fs::exists(to, error))
      throw Error(ErrorCode::kNotFound, "the source's \"link\" " + name + ": there is no " + to.string());
    if (fs::exists(fs::symlink_status(from, error))) continue;  // the tree has it
    fs::create_directories(from.parent_path(), error);
    fs::create_symlink(to, from, error);
    if (error) throw Error(ErrorCode::kIo, "cannot link " + from.string() + ": " + error.message());
  }
}

int remove_trees(const fs::path& cache, const std::vector<fs::path>& folders) {
  std::vector<fs::path> all = folders;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(cache / "sources" / "trees", ignored)) {
    if (!entry.is_directory(ignored) || entry.path().filename().string().find('.') != std::string::npos) continue;
    if (fs::file_time_type::clock::now() - entry.last_write_time(ignored) > kKept) all.push_back(entry.path());
  }
  int count = 0;
  for (const fs::path& folder : all) {
    if (!fs::is_directory(folder, ignored)) continue;
    const fs::path lock_file = beside(folder, ".lock");
    const std::optional<Fd> lock = locked(lock_file, LOCK_EX | LOCK_NB);
    if (!lock) continue;
    fs::remove_all(folder, ignored);
    fs::remove(beside(folder, ".index"), ignored);
    fs::remove(lock_file, ignored);
    ++count;
  }
  return count;
}

}  // namespace nanobench::suites

#include "results/loaded_files.h"

#include <sys/stat.h>

#include <string_view>

#include "core/base/digest.h"
#include "core/base/error.h"

namespace nanobench::results {
namespace {

namespace fs = std::filesystem;

std::string time_text(const timespec& time) {
  return std::to_string(time.tv_sec) + "." + std::to_string(time.tv_nsec);
}

}  // namespace

std::optional<std::string> LoadedFiles::digest_of(const fs::path& file) {
  struct stat status = {};
  if (stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (status.st_size == 0) return core::digest_of("");  // not opened: those of /proc may block their reader
  if (static_cast<std::uint64_t>(status.st_size) > kMaxLoadedBytes) return std::nullopt;
  const std::string state = std::to_string(status.st_dev) + " " + std::to_string(status.st_ino) + " " +
                            std::to_string(status.st_size) + " " + time_text(status.st_mtim) + " " +
                            time_text(status.st_ctim);
  if (const auto known = seen_.find(file); known != seen_.end() && known->second.state == state)
    return known->second.digest;
  try {
    return (seen_[file] = {.state = state, .digest = core::digest_of_file(file)}).digest;
  } catch (const core::Error& error) {
    core::rethrow_internal(error);
    seen_.erase(file);
    return std::nullopt;
  }
}

std::optional<ChangedFile> LoadedFiles::first_change(const Facts& facts, const fs::path& folder, bool is_made_here) {
  const std::string_view beginning = kLoadedFact;
  for (auto fact = facts.lower_bound(kLoadedFact); fact != facts.end() && fact->first.starts_with(beginning); ++fact) {
    const std::string name = fact->first.substr(beginning.size());
    const fs::path file = folder / name;  // which an absolute name replaces
    if (const std::optional<std::string> digest = digest_of(file)) {
      if (*digest != fact->second) return ChangedFile{name, false};
      continue;
    }
    std::error_code ignored;
    const bool is_gone = !fs::exists(file, ignored);
    if (!is_gone || is_made_here) return ChangedFile{name, is_gone};
  }
  return std::nullopt;
}

}  // namespace nanobench::results

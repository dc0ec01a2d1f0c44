/// The files from elsewhere that a trainer loaded, as facts of its run, and whether they are still as they were.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "results/host_load.h"

namespace nanobench::results {

/// Beginning of the names of a run's facts, each of one file: its path, absolute ("loaded//home/me/helper.py") or as
/// seen from the trainer's folder ("loaded/../lib/helper.py"). The value is the digest of its content.
inline constexpr const char* kLoadedFact = "loaded/";
/// Larger files are not hashed.
inline constexpr std::uint64_t kMaxLoadedBytes = std::uint64_t{256} << 20;

struct ChangedFile {
  std::string name;      ///< as in the fact
  bool is_gone = false;  ///< or its content differs
};

/// Remembers digests: a file is read again only if its size, times or inode have changed. Not thread-safe.
class LoadedFiles {
 public:
  /// nullopt for what is no regular file, is too large or cannot be read.
  std::optional<std::string> digest_of(const std::filesystem::path& file);

  /// The first file of these facts that is not as it was. `folder`: of the trainer. A file that is not there counts
  /// only on the machine that made the run: another one may never have had it.
  std::optional<ChangedFile> first_change(const Facts& facts, const std::filesystem::path& folder, bool is_made_here);

 private:
  struct Seen {
    std::string state;  ///< size, times and inode
    std::string digest;
  };
  std::map<std::filesystem::path, Seen> seen_;
};

}  // namespace nanobench::results

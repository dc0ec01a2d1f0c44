/// A tree of a trainer's source as a folder in the cache, in which a run is made. Made when the first run needs it, and
/// shared by those that need the same. Internal to suites.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/process/streams.h"

namespace nanobench::suites {

/// The folder of a tree: named by its contents, its links and the repository. `settings`: without "folder".
std::filesystem::path folder_of_tree(const std::filesystem::path& cache, const core::Json& settings);

/// Holds the folder as long as it lives; others may hold it too. Not thread-safe.
class ScratchTree {
 public:
  /// `settings`: {"git": repository, "tree", "links": {name: target}, "folder"}. Makes the folder, or gives its files
  /// their contents again if no other run uses it. What runs have added stays. Throws Error{kIo}, Error{kUnavailable}
  /// without git or room, Error{kNotFound} for a link to nothing.
  explicit ScratchTree(const core::Json& settings);

  const std::filesystem::path& folder() const { return folder_; }

 private:
  void make() const;
  void write_files(const std::filesystem::path& into) const;
  void make_links(const std::filesystem::path& into) const;

  core::Json settings_;
  std::filesystem::path folder_;
  core::Fd lock_;
};

/// Removes these folders, and all that no run has used for a week, except those that are held. Returns how many.
int remove_trees(const std::filesystem::path& cache, const std::vector<std::filesystem::path>& folders);

}  // namespace nanobench::suites

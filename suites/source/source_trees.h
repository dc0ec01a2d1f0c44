/// The trees of a suite's cells: a trainer's source with the changes of a cell, checked before anything runs. Internal
/// to suites. Not thread-safe.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "suites/source/source_change.h"
#include "suites/source/source_objects.h"

namespace nanobench::suites {

/// A feature's change in a cell.
struct NamedChange {
  std::string name;  ///< for messages: "without muon"
  const SourceChange* change = nullptr;
};

class SourceTrees {
 public:
  /// Throws as SourceObjects does.
  SourceTrees(const TrainerSource& source, const std::filesystem::path& cache);

  const std::string& base() const { return source_.base_tree; }
  /// The base with the changes, in this order. Throws SourceConflict that names the change, or the two, and the place;
  /// Error for patches and commits that do not exist.
  std::string with(const std::vector<NamedChange>& changes);

  /// Throws Error{kInvalidArgument} if a Python file that the changes touch does not compile, while the base's does, or
  /// if the suite's check fails in the tree. What has passed once is not checked again. `label`: of the cell.
  void check(const std::string& tree, const std::string& label, const std::string& python);

  /// What a run needs to have the tree in a folder: see ScratchTree.
  core::Json settings_of(const std::string& tree) const;

 private:
  const std::string& alone(const NamedChange& change);
  [[noreturn]] void fail_together(const std::vector<NamedChange>& changes, std::size_t failed,
                                  const std::string& place);
  std::string python_problem(const std::string& tree, const std::string& file, const std::string& python);

  TrainerSource source_;
  std::filesystem::path cache_;
  SourceObjects objects_;
  std::map<const SourceChange*, std::string> alone_;                  ///< trees
  std::map<std::vector<const SourceChange*>, std::string> together_;  ///< trees
};

/// Sets the tree that all changes start from, if it is not set: a plan that is made again later then starts from the
/// same source. Returns the commit as 40 digits, with " (changed)" for a folder that differs from it; "" without git.
std::string pin_source(TrainerSource& source, const std::filesystem::path& cache);

}  // namespace nanobench::suites

/// Trees of a trainer's source in a repository of our own in the cache: git's objects, made without a checkout. The
/// user's folder and repository are only read. Needs git 2.32. Internal to suites. Not thread-safe.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/atomic_write.h"
#include "core/base/refusal.h"
#include "core/process/command.h"
#include "suites/source/source_change.h"

namespace nanobench::suites {

/// A change that does not fit the tree that it is applied to.
class SourceConflict : public core::Refusal {
 public:
  /// `place`: file and place in it, "train.py, near \"lr = 0.1\"". It is the subject unless another one is given.
  SourceConflict(core::Reason reason, const std::string& place, const std::string& subject = "")
      : core::Refusal(core::ErrorCode::kInvalidArgument, reason, "does not apply: " + place,
                      subject.empty() ? place : subject),
        place_(place) {}

  const std::string& place() const { return place_; }

 private:
  std::string place_;
};

class SourceObjects {
 public:
  /// Throws Error{kNotFound} if the folder does not exist, Error{kUnavailable} without a git that is new enough.
  SourceObjects(const std::filesystem::path& cache, const std::filesystem::path& folder);

  /// The repository in the cache.
  const std::filesystem::path& git_dir() const { return git_dir_; }

  /// The folder as it is on disk: what its repository tracks, and untracked files whose names are those of sources;
  /// without the files `left_out`.
  /// Throws Error{kInvalidArgument} if that is more than any source.
  std::string tree_of_folder(const std::vector<std::filesystem::path>& left_out);
  /// The folder at a revision of its repository. Throws Error{kInvalidArgument} for an unknown one.
  std::string tree_of_revision(const std::string& revision);
  /// The commit's 40 digits.
  std::string commit_of(const std::string& revision) const;

  /// The tree with this change alone. `revision`: of the source, where a branch has left it; empty: the commit that is
  /// checked out. Throws SourceConflict; Error{kNotFound}, Error{kInvalidArgument} for a patch or commit that does not
  /// exist.
  std::string with_change(const std::string& tree, const SourceChange& change, const std::string& revision);
  /// `tree` with what differs between `from` and `to`, in the files and folders `only` or in all; merged by three where
  /// they meet. Throws SourceConflict.
  std::string with_difference(const std::string& tree, const std::string& from, const std::string& to,
                              const std::vector<std::string>& only = {});

  /// Files of `tree` that `base` has not or has differently.
  std::vector<std::string> changed_files(const std::string& base, const std::string& tree) const;
  /// nullopt if the tree has no such file.
  std::optional<std::string> text_of(const std::string& tree, const std::string& file) const;

 private:
  struct Index;
  core::CommandResult run(const std::vector<std::string>& arguments, const Index* index = nullptr) const;
  /// What git prints. Throws Error{kUnavailable} if it fails.
  std::string git(const std::vector<std::string>& arguments, const Index* index = nullptr) const;
  std::string user_git(const std::vector<std::string>& arguments) const;
  std::vector<std::string> files_of_folder(const std::vector<std::filesystem::path>& left_out) const;
  std::string with_patch(const std::string& tree, const std::filesystem::path& patch) const;
  std::string with_replacements(const std::string& tree, const std::vector<Replacement>& replacements) const;
  std::string place_of_conflict(const Index& index, const std::string& words_of_git) const;
  std::string tree_at(const std::string& commit) const;
  std::string merge_base_of(const std::string& branch, const std::string& revision) const;

  std::filesystem::path folder_;
  std::filesystem::path git_dir_;
  bool is_repository_ = false;  ///< the folder is in one
  std::string prefix_;          ///< of the folder in its repository: "" or "train/"
};

}  // namespace nanobench::suites

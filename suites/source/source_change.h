/// Changes of a trainer's source that stand for the values of a feature: a patch, a commit, a branch, replacements of
/// text. Plain values; thread-safe when not modified.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/json.h"

namespace nanobench::suites {

enum class ChangeKind {
  kNone,        ///< the source as it is
  kPatch,       ///< a file that `git diff` or `diff -u` wrote
  kRevert,      ///< a commit's changes, turned back
  kCherryPick,  ///< a commit's changes
  kBranch,      ///< what a branch has changed since it left the source's history
  kReplace,     ///< exact replacements of text
};

NB_ENUM_NAMES(ChangeKind, {ChangeKind::kNone, "none"}, {ChangeKind::kPatch, "patch"}, {ChangeKind::kRevert, "revert"},
              {ChangeKind::kCherryPick, "cherry_pick"}, {ChangeKind::kBranch, "branch"},
              {ChangeKind::kReplace, "replace"});

/// `old_text` must be in the file exactly once.
struct Replacement {
  std::string file;  ///< as seen from the source's folder
  std::string old_text;
  std::string new_text;
};

struct SourceChange {
  ChangeKind kind = ChangeKind::kNone;
  std::string name;                       ///< the patch's file, the commit, the branch; as written
  std::filesystem::path file;             ///< the patch, as it can be opened
  std::vector<std::string> only;          ///< of a commit or branch: changes of these files and folders; empty: all
  std::vector<Replacement> replacements;  ///< in the order in which they are made

  bool is_none() const { return kind == ChangeKind::kNone; }
  /// "patches/a.patch", "the revert of 1a2b3c", "the replacement in train.py"
  std::string title() const;
};

/// Where a trainer's source is and what a run needs besides it.
struct TrainerSource {
  std::filesystem::path folder;    ///< of the user; never written to
  std::string revision;            ///< of git; empty: the folder as it is on disk
  std::vector<std::string> links;  ///< files and folders that each tree gets as links: data sets
  std::vector<std::string> check;  ///< a command that must succeed in each tree before anything runs; empty: none
  std::vector<std::filesystem::path> left_out;  ///< no part of a folder: the suite and its patches
  std::string base_tree;                        ///< set by pin_source(): the tree that all changes start from
};

/// Reads {}, {"patch": FILE}, {"revert": COMMIT}, {"cherry_pick": COMMIT}, {"branch": NAME}, the latter three also with
/// "only": [FILE, ...], or {"replace": [{"file", "old", "new"}, ...]}. Patches are named relative to `folder`. Throws
/// Error{kInvalidArgument} with the JSON pointer.
SourceChange read_source_change(core::JsonObject object, const std::filesystem::path& folder);

/// Reads a folder's name, or {"folder", "revision", "link", "check"}; relative to `folder`. Throws likewise.
TrainerSource read_trainer_source(core::JsonObject& engine, const std::filesystem::path& folder);

}  // namespace nanobench::suites

/// What git reports about the sources in a folder; an empty path is the working folder. Each call starts git and
/// returns nullopt without git or a repository.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nanobench::tools {

/// The commit that is checked out, as 40 hexadecimal digits; followed by " (changed)" if tracked files differ from it.
std::optional<std::string> source_revision(const std::filesystem::path& folder = {});

/// Digest of all tracked files of the folder's repository with their current contents on disk, committed or not.
/// `except` is a file that is ignored.
std::optional<std::string> source_tree(const std::filesystem::path& folder, const std::filesystem::path& except);

/// The commit where the checked-out commit branched off from `branch`; if `branch` is empty, from the first of
/// origin/HEAD, origin/main, origin/master, main and master that exists.
std::optional<std::string> merge_base(const std::string& branch, const std::filesystem::path& folder = {});

/// The commit and its first parents, newest first, at most `count`.
std::vector<std::string> first_parents(const std::string& revision, int count,
                                       const std::filesystem::path& folder = {});

/// The root of the folder's repository.
std::optional<std::filesystem::path> repository_root(const std::filesystem::path& folder);

/// The 40 digits of a commit, branch or tag; nullopt if the repository has none of this name.
std::optional<std::string> find_commit(const std::string& revision, const std::filesystem::path& folder);

/// Whether `commit` is `of` or one of those before it.
bool is_ancestor(const std::string& commit, const std::string& of, const std::filesystem::path& folder);

/// The last commit that both have; nullopt if they share none.
std::optional<std::string> common_ancestor(const std::string& one, const std::string& other,
                                           const std::filesystem::path& folder);

/// The commits behind `from` up to `to`, along first parents, the oldest first. `changes_folder`: only those that
/// change a file of the folder.
std::vector<std::string> commits_between(const std::string& from, const std::string& to, bool changes_folder,
                                         const std::filesystem::path& folder);

struct CommitText {
  std::string subject, author;
  std::string date;  ///< 2026-11-26
};
/// Empty texts for a commit that cannot be read.
CommitText commit_text(const std::string& commit, const std::filesystem::path& folder);

/// The main branch: what origin/HEAD names, else the first of origin/main, origin/master, main and master that exists.
std::optional<std::string> main_branch(const std::filesystem::path& folder = {});

}  // namespace nanobench::tools

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

}  // namespace nanobench::tools

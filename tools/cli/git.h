/// Questions to git about the sources in a folder; an empty path is the working folder. Each starts git; where there is
/// no git or no repository, there is no answer.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nanobench::tools {

/// The commit that is checked out, as 40 hexadecimal digits; " (changed)" is added when tracked files differ from it.
std::optional<std::string> source_revision(const std::filesystem::path& folder = {});

/// Digest of every tracked file of the folder's repository as it lies there now, committed or not, whichever commit is
/// checked out. `except` is a file that does not count.
std::optional<std::string> source_tree(const std::filesystem::path& folder, const std::filesystem::path& except);

/// Where the checked-out commit left `branch`; without a branch: the first of origin/HEAD, origin/main, origin/master,
/// main and master that exists.
std::optional<std::string> merge_base(const std::string& branch, const std::filesystem::path& folder = {});

/// The commit and its first parents, newest first, at most `count`.
std::vector<std::string> first_parents(const std::string& revision, int count,
                                       const std::filesystem::path& folder = {});

}  // namespace nanobench::tools

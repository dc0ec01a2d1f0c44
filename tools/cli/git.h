/// Questions to git about the sources in the working folder. Each starts git; where there is no git or no repository,
/// there is no answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace nanobench::tools {

/// The commit that is checked out, as 40 hexadecimal digits; " (changed)" is added when tracked files differ from it.
std::optional<std::string> source_revision();

/// Where the checked-out commit left `branch`; without a branch: the first of origin/HEAD, origin/main, origin/master,
/// main and master that exists.
std::optional<std::string> merge_base(const std::string& branch);

/// The commit and its first parents, newest first, at most `count`.
std::vector<std::string> first_parents(const std::string& revision, int count);

}  // namespace nanobench::tools

/// Commands of git that no setting or variable of the user's can redirect. Internal to suites. Pure.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nanobench::suites {

/// `git ARGUMENTS...` in a folder of the user's, with the user's settings.
std::vector<std::string> git_of_user(const std::filesystem::path& folder, const std::vector<std::string>& arguments);

/// `git ARGUMENTS...` for a repository of the cache's, without any settings of the user's, which could change bytes.
/// `index`: the list of files that it works on; empty: the repository's own.
std::vector<std::string> git_of_cache(const std::filesystem::path& git_dir, const std::filesystem::path& index,
                                      const std::vector<std::string>& arguments);

}  // namespace nanobench::suites

/// Which bytes on the disk are an external trainer (internal to suites). Reads the disk.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace nanobench::suites {

/// Digest by name of the files that the words of a command name, and of all files of `sources`, as seen from the
/// folder. Of a folder all below it counts but what hidden names and __pycache__ hold. Throws Error{kNotFound} for a
/// source that is not there.
core::Json digests_of_files(const std::vector<std::string>& words, const std::vector<std::string>& sources,
                            const std::filesystem::path& folder);

}  // namespace nanobench::suites

/// Which files of a trainer's folder are its sources, as far as names and first bytes tell. Thread-safe: no state.
#pragma once

#include <filesystem>

namespace nanobench::suites {

/// Files and folders that tools leave behind and that change with every run: hidden ones and __pycache__.
bool is_left_behind(const std::filesystem::path& path);

/// Whether the path is the folder or below it, by their names alone: both absolute, or both relative.
bool is_within(const std::filesystem::path& path, const std::filesystem::path& folder);

/// A script, a program's source, a build file or a configuration; no data and no output.
bool is_source_name(const std::filesystem::path& path);

/// The same, or a program by its first bytes whose name has no ending: a script that begins with "#!", a binary. Reads
/// those bytes; what is no regular file is none.
bool is_source_file(const std::filesystem::path& file);

}  // namespace nanobench::suites

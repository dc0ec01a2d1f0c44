/// Paths of this program: source tree, database, engine, suites, cache. Reads the environment at each call;
/// thread-safe.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nanobench::tools {

/// This executable, or an empty path if the system does not report it.
std::filesystem::path own_program();

/// The source tree: $NANOBENCH_ROOT, else the nearest one above this program; nullopt when installed.
std::optional<std::filesystem::path> source_root();

/// The command line as it was typed, with the program's name.
std::vector<std::string> typed_words();

/// How the user starts this program, for commands to copy: "nanobench", or the path as it was typed.
std::string program_name();

/// " --db FILE" if the user named a database, so that commands to copy read the same one; else empty.
std::string typed_database();

/// The top of the git repository around the folder; nullopt if there is none. Reads no git command.
std::optional<std::filesystem::path> repository_around(const std::filesystem::path& folder);

/// --db, else $NANOBENCH_DB. Else, in a git repository of the user's own, nanobench.db at its top; else
/// results/nanobench.db of the source tree, else nanobench/nanobench.db in $XDG_DATA_HOME (~/.local/share).
std::filesystem::path database_file(const std::string& option);

/// nanobench-train: $NANOBENCH_ENGINE, else beside this program, else libexec/nanobench of the installation. The file
/// need not exist.
std::filesystem::path engine_program();

/// The folders searched for suites by name, in order.
std::vector<std::filesystem::path> suite_folders();

/// Finds a suite by file, relative to the working folder or the source tree, or by name alone ("speedrun_history").
/// Throws Error{kNotFound} with the nearest name.
std::filesystem::path find_suite(const std::string& name);

/// All suite files of suite_folders(), by name.
std::vector<std::filesystem::path> suite_files();

/// $XDG_CACHE_HOME/nanobench or ~/.cache/nanobench.
std::filesystem::path cache_folder();

}  // namespace nanobench::tools

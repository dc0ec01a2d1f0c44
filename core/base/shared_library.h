/// Shared libraries: which ones an ELF program loads, read from its headers without loading them, and plugins that a
/// program loads on demand. Thread-safe: no shared state.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nanobench::core {

/// The file that the loader uses for the library `name`, such as "libtorch_cpu.so", when it starts the program. It is
/// searched in the program's run path, $LD_LIBRARY_PATH and the system's folders. nullopt if the program does not name
/// the library, is not a 64-bit ELF file, or the library is missing. `loader`: if `program` is itself a library, the
/// file that loads it, whose older kind of run path (RPATH) is searched after its own.
std::optional<std::filesystem::path> needed_library(const std::filesystem::path& program, const std::string& name,
                                                    const std::filesystem::path& loader = {});

/// Names of all libraries that the program loads itself when it starts; empty if it is not a 64-bit ELF file.
std::vector<std::string> needed_names(const std::filesystem::path& program);

/// Digest of the file's size and of evenly spaced pieces, at most 4 MiB in total, for libraries that take too long to
/// read in full. Two builds almost always have different digests. Throws Error{kIo} naming the file.
std::string sampled_digest(const std::filesystem::path& file);

/// Path where a program finds the library: beside the program, or in the folder $NANOBENCH_PLUGINS.
std::filesystem::path plugin_file(const std::filesystem::path& program, const std::string& file_name);

/// Loads the library and returns the address that its function `symbol` returns: its interface, in a form known to both
/// sides. The library stays loaded.
/// Throws Error{kUnavailable} with the file, the loader's own reason, and `remedy`.
const void* load_plugin(const std::string& file_name, const std::string& symbol, const std::string& remedy);

}  // namespace nanobench::core

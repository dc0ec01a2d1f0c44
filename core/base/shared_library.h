/// Shared libraries: what an ELF program loads, read from its headers without loading it, and the plugins that a
/// program loads when a run asks for what they offer. Thread-safe: no shared state.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace nanobench::core {

/// The file that the loader takes for the library `name`, such as "libtorch_cpu.so", when it starts the program: found
/// along the program's run path, $LD_LIBRARY_PATH and the system's folders. nullopt when the program does not name it,
/// is no 64-bit ELF file, or the library is not there.
std::optional<std::filesystem::path> needed_library(const std::filesystem::path& program, const std::string& name);

/// Digest of the file's size and of pieces that lie evenly over it, at most 4 MiB together: of libraries whose every
/// byte takes too long to read. Two builds differ in it but by a rare chance. Throws Error{kIo} naming the file.
std::string sampled_digest(const std::filesystem::path& file);

/// Where a program finds the library: beside it, or in the folder $NANOBENCH_PLUGINS.
std::filesystem::path plugin_file(const std::filesystem::path& program, const std::string& file_name);

/// The address that function `symbol` of the library returns: what the library offers, in a form that both know. It
/// stays loaded.
/// Throws Error{kUnavailable}: which file, the loader's own reason, and `remedy`.
const void* load_plugin(const std::string& file_name, const std::string& symbol, const std::string& remedy);

}  // namespace nanobench::core

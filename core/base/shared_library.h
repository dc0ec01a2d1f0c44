/// What an ELF program or library loads, read from its headers without loading it. Thread-safe: no shared state.
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

}  // namespace nanobench::core

/// The secret that the processes of a run share, in a file that only its owner can read. Linux. Thread-safe: no shared
/// state.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace nanobench::core {

/// The environment variable that names a file with the secret.
inline constexpr const char* kSecretFileVariable = "NANOBENCH_SECRET_FILE";

/// The system's random bytes. Throws Error{kUnavailable}.
std::string random_bytes(std::size_t count);

/// 256 random bits as hexadecimal digits.
std::string new_secret();

/// Writes a new secret into a new file of mode 600. Throws Error{kIo}, also where the file exists.
void create_secret_file(const std::filesystem::path& file);

/// The text of the file, without blanks and newlines at its end. Throws Error{kInvalidArgument} unless the file is a
/// regular file of 16 to 4096 bytes, belongs to this user or to root, and can be read by nobody else; Error{kIo} if it
/// cannot be read.
std::string read_secret_file(const std::filesystem::path& file);

/// The secret of this user, for processes that were given no other one. It is made by the first process that asks for
/// it: `secret` in $XDG_CACHE_HOME/nanobench, else in ~/.cache/nanobench; where that cannot be written, in
/// nanobench-UID of the system's temporary folder. Throws Error{kUnavailable} if no place is safe, and as
/// read_secret_file.
std::string own_secret();

}  // namespace nanobench::core

/// What the system counts and limits for a process: its peak memory, and the size of its files. Linux.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace nanobench::core {

/// Peak resident set of this program, in bytes, since it was started. getrusage() counts what the process was before
/// it became this program: a copy of its parent, with all the parent's memory.
std::int64_t peak_memory_bytes();

/// The same for another running process; 0 if it has ended or cannot be looked at.
std::int64_t peak_memory_bytes(pid_t process);

/// Resident set of this process now, in bytes; 0 if unknown.
std::int64_t resident_memory_bytes();

/// What a copy of this process by fork() has resident, in bytes, measured by making one: less than our own, because it
/// maps pages of files anew. 0 if unknown. Takes about as long as a fork.
std::int64_t forked_memory_bytes();

/// From now on a write beyond the limit of file sizes (ulimit -f) fails with "File too large" instead of ending the
/// process by SIGXFSZ. Programs that ChildProcess starts have the system's behaviour again.
void ignore_file_size_signal();

/// The limit of file sizes in bytes (ulimit -f); nullopt if there is none.
std::optional<std::uint64_t> max_file_bytes();

/// From now on a process that has no memory even for the exception that would say so prints "nanobench: out of memory"
/// and exits with kExitUsage; the C++ library aborts it. Everything else that terminates a process still aborts it.
void end_plainly_without_memory();

/// What to do about an error number: about too many open files, else `otherwise`.
std::string remedy_for(int error, const std::string& otherwise);

}  // namespace nanobench::core

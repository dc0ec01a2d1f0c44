/// Settings of a whole process that trains or measures. Call in main, before the first tensor.
#pragma once

namespace nanobench::core {

/// Restarts the program with settings that libraries read before main: fewer spins for OpenMP's waiting threads, and
/// large pages for malloc. Settings already in the environment are kept. Returns in the second process. `argv` is
/// main's.
void restart_with_settings(char** argv);

/// Keeps freed pages instead of returning them to the system, since activations are freed and allocated in every step.
void keep_freed_memory();

}  // namespace nanobench::core

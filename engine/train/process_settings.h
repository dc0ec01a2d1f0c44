/// Settings of a whole process that trains or measures. Call in main, before the first tensor.
#pragma once

namespace nanobench::core {

/// Starts the program once more with settings that libraries read before main: fewer spins for OpenMP's waiting threads
/// and large pages for what malloc gives, each unless the environment has its own. Returns in the second process.
/// `argv` is main's.
void restart_with_settings(char** argv);

/// Activations are freed and allocated again every step: keep their pages instead of giving them back to the system.
void keep_freed_memory();

}  // namespace nanobench::core

/// Settings of a whole process that trains or measures. Call in main, before the first tensor.
#pragma once

namespace nanobench::core {

/// Starts the program once more with fewer spins for OpenMP's waiting threads, unless the environment says how they
/// wait; returns in the second process. `argv` is main's.
void limit_spinning(char** argv);

/// Activations are freed and allocated again every step: keep their pages instead of giving them back to the system.
void keep_freed_memory();

}  // namespace nanobench::core

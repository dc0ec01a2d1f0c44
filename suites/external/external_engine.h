/// The adapter around somebody else's trainer: starts its command, reads the speedrun log lines that it prints, and
/// speaks the protocol of core/protocol/FORMAT.md to the runner. To the runner it is an engine like any other.
#pragma once

#include <string>
#include <vector>

#include "core/protocol/run_spec.h"

namespace nanobench::suites {

/// Runs the command of `spec.external` to its end in our process group; what it prints goes on to our output. Returns
/// the exit code for this process: the trainer's. Does not return when a signal ended the trainer: the same one ends
/// us.
int run_external_engine(const core::RunSpec& spec, int events_fd);

/// `--spec FILE --events-fd N`, parsed and run; errors go to stderr. For the hidden subcommand.
int external_engine_main(const std::vector<std::string>& arguments);

}  // namespace nanobench::suites

/// Shared by the hidden subcommands that stand in for an engine.
#pragma once

#include <string>
#include <vector>

#include "core/protocol/run_spec.h"

namespace nanobench::suites {

/// `--spec FILE --events-fd N`, parsed and run; errors go to stderr after `name`. Returns the exit code: run's, or 2.
int engine_main(const std::string& name, const std::vector<std::string>& arguments,
                int (*run)(const core::RunSpec& spec, int events_fd));

}  // namespace nanobench::suites

/// A simulated engine: it draws losses and times from a stated distribution and produces faults on demand. It lets the
/// runner, the statistics and the gate be tested at scale. Settings: RunSpec.mock (mock_settings.h).
#pragma once

#include <string>
#include <vector>

#include "core/protocol/run_spec.h"

namespace nanobench::suites {

/// Writes the whole event stream of a simulated run to `events_fd`. Returns the process's exit code. It may never
/// return: faults include signals and hangs.
int run_mock_engine(const core::RunSpec& spec, int events_fd);

/// `--spec FILE --events-fd N`, parsed and run; errors go to stderr. For the hidden subcommand and the test program.
int mock_engine_main(const std::vector<std::string>& arguments);

}  // namespace nanobench::suites

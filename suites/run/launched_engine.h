/// The adapter for an engine of several processes started by a launcher (mpirun, srun, torchrun, a script). It passes
/// the specification as a file, with a new secret for the connections between the processes (core/base/secret_file.h)
/// in another one beside it, and forwards the events of the first process. The runner treats it like any other engine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "suites/design/plan.h"

namespace nanobench::suites {

/// `engine` (nanobench-train) behind `launcher`: words in which {processes} stands for the number of processes of a
/// run. Runs of one process start without the launcher. `command`, like {"nanobench", "launched-engine"}, is the
/// adapter. A different launcher makes a different engine: their times are not mixed. Throws Error{kInvalidArgument}
/// for a launcher that is empty or lacks {processes}.
Engine launched_engine(const Engine& engine, const std::string& launcher, std::vector<std::string> command);

/// The words of `text`, separated by blanks; '...' and "..." enclose text with blanks. Throws Error{kInvalidArgument}
/// for an unclosed quote.
std::vector<std::string> words_of(const std::string& text);

/// `LAUNCHER ENGINE --spec FILE --events-fd N`, parsed and run; errors go to stderr. For the hidden subcommand.
int launched_engine_main(const std::vector<std::string>& arguments);

}  // namespace nanobench::suites

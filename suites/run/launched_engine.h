/// The adapter around an engine of several processes that a launcher starts (mpirun, srun, torchrun, a script): hands
/// over the specification as a file and passes on the events of the first process. To the runner it is an engine like
/// any other.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "suites/design/plan.h"

namespace nanobench::suites {

/// `engine` (nanobench-train) behind `launcher`: words in which {processes} stands for the number of processes of a
/// run. Runs of one process start without it. `command`, like {"nanobench", "launched-engine"}, is the adapter. Another
/// launcher is another engine: times of the two are not mixed. Throws Error{kInvalidArgument} for a launcher without a
/// word and for one in which {processes} is missing.
Engine launched_engine(const Engine& engine, const std::string& launcher, std::vector<std::string> command);

/// The words of `text`, which stand apart by blanks; '...' and "..." hold what has blanks. Throws
/// Error{kInvalidArgument} for a quote without an end.
std::vector<std::string> words_of(const std::string& text);

/// `LAUNCHER ENGINE --spec FILE --events-fd N`, parsed and run; errors go to stderr. For the hidden subcommand.
int launched_engine_main(const std::vector<std::string>& arguments);

}  // namespace nanobench::suites

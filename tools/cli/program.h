/// The whole command line: parses arguments, runs one command, turns errors into one sentence and an exit code.
#pragma once

#include <string>
#include <vector>

namespace nanobench::tools {

/// `arguments[0]` is the program's own name. Returns the exit code (exit_codes.h).
int run_program(const std::vector<std::string>& arguments);

}  // namespace nanobench::tools

/// Instructions that a short run takes, counted by valgrind: nearly free of noise, so that a small change shows in one
/// run. The engine sees the processor that valgrind emulates (AVX2 at most), so the count is of that path.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/protocol/run_spec.h"
#include "suites/design/plan.h"

namespace nanobench::tools {

/// Whether valgrind can be started.
bool has_valgrind();

/// `engine` under valgrind; ChildProcess adds the specification.
std::vector<std::string> counting_command(const std::vector<std::string>& engine);

/// Two steps of the plan's first cell with one thread and its smallest seed. Throws Error{kInvalidArgument} for a cell
/// that trains in several processes.
core::RunSpec counting_spec(const suites::Plan& plan);

/// The total in what valgrind prints, "==7== I   refs:  1,234,567"; none when it is not there.
std::optional<double> instructions_in(const std::string& output);

/// A count, or why there is none.
struct InstructionCount {
  std::optional<double> count;
  std::string problem;
};

/// Runs it; about a minute. `side` is for messages. Throws Error when no process can be started.
InstructionCount count_instructions(const suites::Plan& plan, const std::string& side);

}  // namespace nanobench::tools

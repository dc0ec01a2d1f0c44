/// Instructions of a short run, counted by valgrind. The count is nearly free of noise, so one run reveals a small
/// change. The engine runs on the processor that valgrind emulates (AVX2 at most), so the count is for that code path.
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

/// A run of two steps of the plan's first cell with its smallest seed and one thread. Throws Error{kInvalidArgument} if
/// the cell trains in several processes.
core::RunSpec counting_spec(const suites::Plan& plan);

/// The total in valgrind's output, "==7== I   refs:  1,234,567"; nullopt without such a line.
std::optional<double> instructions_in(const std::string& output);

/// A count, or why there is none.
struct InstructionCount {
  std::optional<double> count;
  std::string problem;
};

/// Runs it; takes about a minute. `side` is for messages. Throws Error if no process can be started.
InstructionCount count_instructions(const suites::Plan& plan, const std::string& side);

}  // namespace nanobench::tools

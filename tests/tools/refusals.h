/// Commands that must be refused.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/run_command_line.h"

namespace nanobench::tools {

/// Each is refused with exit code 2 and one sentence that has the expected words.
inline void expect_refusals(const CommandLine& shell,
                            const std::vector<std::pair<std::vector<std::string>, std::string>>& cases) {
  for (const auto& [arguments, expected] : cases) {
    const ProgramResult result = shell.run(arguments);
    EXPECT_EQ(result.exit_code, 2) << expected << ": " << result.err;
    EXPECT_NE(result.err.find(expected), std::string::npos) << expected << " is not in: " << result.err;
    EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

}  // namespace nanobench::tools

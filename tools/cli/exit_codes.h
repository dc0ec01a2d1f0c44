/// What the process says to scripts. DESIGN: exit codes. Do not change the numbers.
#pragma once

namespace nanobench::tools {

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitUsage = 2;       ///< the command line, a configuration, a file
inline constexpr int kExitIncomplete = 4;  ///< a cell failed: the evidence is incomplete
inline constexpr int kExitBug = 70;        ///< ours
inline constexpr int kExitInterrupted = 130;

}  // namespace nanobench::tools

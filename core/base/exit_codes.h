/// What the process says to scripts. DESIGN: exit codes. Do not change the numbers.
#pragma once

namespace nanobench::core {

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitRegression = 1;     ///< a gate or an audit that can be decided, and fails
inline constexpr int kExitUsage = 2;          ///< the command line, a configuration, a file
inline constexpr int kExitInconclusive = 3;   ///< not enough evidence to decide
inline constexpr int kExitIncomplete = 4;     ///< a cell failed: the evidence is incomplete
inline constexpr int kExitNotComparable = 5;  ///< no baseline, or one of another machine, scale or data
inline constexpr int kExitBug = 70;           ///< ours
inline constexpr int kExitInterrupted = 130;

}  // namespace nanobench::core

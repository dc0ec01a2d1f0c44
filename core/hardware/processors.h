/// How many processors a process may use. Reads the affinity mask and the control group at each call; thread-safe.
#pragma once

#include <optional>
#include <string>

namespace nanobench::core {

/// Processors that this process may use: those of its affinity mask, and no more than its control group's quota pays
/// for.
int available_processors();

/// Whole processors that a control group's cpu.max ("QUOTA PERIOD" in microseconds) pays for, rounded up; nullopt: no
/// quota.
std::optional<int> processors_of_quota(const std::string& cpu_max);

}  // namespace nanobench::core

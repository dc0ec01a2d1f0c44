/// How a program of ours is started under valgrind. Pure function.
#pragma once

#include <string>
#include <vector>

namespace nanobench::core {

/// `program` behind valgrind with these options. Our engine starts itself again to have settings that libraries read
/// before main (engine/train/process_settings.h), and valgrind would lose it: they are set before.
std::vector<std::string> valgrind_command(const std::vector<std::string>& options,
                                          const std::vector<std::string>& program);

}  // namespace nanobench::core

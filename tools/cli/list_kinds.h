/// What `nanobench list` lists. Thread-safe: constant data.
#pragma once

#include <string>
#include <vector>

namespace nanobench::tools {

/// The names that KIND may have, in the order of the help text.
std::vector<std::string> list_kinds();

}  // namespace nanobench::tools

/// What the engine says of itself when a run begins: library, processor path, build. Thread-safe.
#pragma once

#include <map>
#include <string>

#include "core/protocol/run_spec.h"

namespace nanobench::core {

/// "libtorch", "device", "cpu_capability", "dtype", "vector_path", "bfloat16", "compiler", "build_type".
std::map<std::string, std::string> engine_facts(const RunSpec& spec);

}  // namespace nanobench::core

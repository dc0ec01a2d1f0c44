/// Information on this build, compiled in. Thread-safe.
#pragma once

#include <string>

namespace nanobench::core {

struct BuildInfo {
  std::string version;       ///< "0.1.0"
  std::string git_revision;  ///< 40 hexadecimal digits, or "unknown"
  bool is_dirty = false;     ///< the source tree had uncommitted changes
  std::string compiler;      ///< "GNU 12.2.0"
  std::string build_type;    ///< "Release"
};

const BuildInfo& build_info();

/// "0.1.0 (1a2b3c4d5e6f, dirty)"
std::string version_text();

}  // namespace nanobench::core

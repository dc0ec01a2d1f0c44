/// What `nanobench doctor` looks at. Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace nanobench::tools {

/// `status`: "ok": there; "absent": optional and not there; "missing": `run` needs it.
struct Check {
  std::string id;
  std::string title;
  std::string status;
  std::string found;
  std::string enables;
};

/// The NVIDIA driver and each GPU that it tells of.
std::vector<Check> gpu_checks();

}  // namespace nanobench::tools

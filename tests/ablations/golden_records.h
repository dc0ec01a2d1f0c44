/// Where the golden configurations of the records lie, when they are on this machine.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace nanobench::ablations {

inline std::filesystem::path golden_records() {
  const char* shared = std::getenv("NANOBENCH_SHARED");
  const std::filesystem::path root =
      shared != nullptr ? std::filesystem::path(shared) : std::filesystem::path(NANOBENCH_SOURCE_DIR) / "../shared";
  return root / "golden" / "records";
}

/// Record 4 is record04.json.
inline std::filesystem::path golden_record(int number) {
  return golden_records() / ((number < 10 ? "record0" : "record") + std::to_string(number) + ".json");
}

}  // namespace nanobench::ablations

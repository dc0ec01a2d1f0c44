// Where tests find the golden data.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace nanobench {

/// The file or folder `name` of the golden data (tests/golden/README.md): $NANOBENCH_SHARED/name where that exists,
/// else the repository's own copy, which the build has unpacked.
inline std::filesystem::path golden_data(const std::string& name) {
  const char* shared = std::getenv("NANOBENCH_SHARED");
  if (shared != nullptr && std::filesystem::exists(std::filesystem::path(shared) / name))
    return std::filesystem::path(shared) / name;
  return std::filesystem::path(NANOBENCH_BIN_DIR).parent_path() / "tests" / "golden" / name;
}

/// The real configuration of a record: of record 4, golden/records/record04.json.
inline std::filesystem::path golden_record(int number) {
  const std::string folder = number < 22 ? "golden/records" : "golden_22_41/records";
  return golden_data(folder) / ((number < 10 ? "record0" : "record") + std::to_string(number) + ".json");
}

}  // namespace nanobench

#include <unistd.h>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "suites/design/plan.h"

namespace nanobench::suites {

Engine native_engine(const std::filesystem::path& program) {
  if (access(program.c_str(), X_OK) != 0) {
    throw core::Error(core::ErrorCode::kNotFound, "the engine " + program.string() +
                                                      " is missing or cannot be executed; build it (`./nanobench "
                                                      "doctor` says what that needs)");
  }
  return {{program.string()}, "nanobench-train", core::digest_of_file(program).substr(0, 16)};
}

Engine mock_engine(std::vector<std::string> command) {
  return {std::move(command), "mock", "1"};
}

}  // namespace nanobench::suites

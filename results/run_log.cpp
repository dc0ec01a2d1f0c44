#include "results/run_log.h"

namespace nanobench::results {

RunLogFiles run_log_files(const std::filesystem::path& store, std::int64_t run_id) {
  std::filesystem::path folder = std::filesystem::absolute(store).lexically_normal();
  folder += ".logs";
  const std::string name = "run-" + std::to_string(run_id);
  return {.out = folder / (name + ".out"), .err = folder / (name + ".err")};
}

}  // namespace nanobench::results

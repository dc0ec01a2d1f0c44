/// Checks a store: SQLite's own checks, and the constraints between its rows. Writes nothing. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace nanobench::results {

/// Rows that break one rule.
struct StoreProblem {
  std::string rule;                ///< stable name: "integrity", "foreign_keys", "complete_steps", ...
  std::string text;                ///< the broken rule, for people
  std::int64_t count = 0;          ///< number of places
  std::vector<std::string> where;  ///< the first few: "run 12: 90 of 100"

  void add(std::string place);
};

struct StoreCheck {
  int schema = 0;
  std::int64_t runs = 0;
  std::int64_t samples = 0;
  std::int64_t plans = 0;
  std::int64_t running = 0;  ///< rows without an outcome
  std::vector<StoreProblem> problems;

  bool is_fine() const { return problems.empty(); }
};

/// Reads every page. A damaged file is reported as a problem. Throws Error if the file is not one of our stores:
/// kNotFound, kConflict (another program's database), kUnavailable (a newer schema), kIo.
StoreCheck check_store(const std::filesystem::path& file);

}  // namespace nanobench::results

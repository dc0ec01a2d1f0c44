/// Where the output of a failed run is kept: two plain files beside the store. The store's own `output` message of the
/// run holds the end of both; nothing else depends on the files, so their folder may be deleted at any time.
#pragma once

#include <cstdint>
#include <filesystem>

namespace nanobench::results {

/// Names of a run's facts: the file of its standard output and of its standard error, where there is one.
inline constexpr const char* kStdoutFile = "log/stdout";
inline constexpr const char* kStderrFile = "log/stderr";

struct RunLogFiles {
  std::filesystem::path out;  ///< standard output
  std::filesystem::path err;  ///< standard error
};

/// STORE.logs/run-17.out and STORE.logs/run-17.err, as absolute paths; they need not exist.
RunLogFiles run_log_files(const std::filesystem::path& store, std::int64_t run_id);

}  // namespace nanobench::results

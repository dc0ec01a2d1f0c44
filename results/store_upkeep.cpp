// Store: looking after the file.
#include "core/base/error.h"
#include "results/sqlite.h"
#include "results/store.h"

namespace nanobench::results {
namespace {

using core::Error;
using core::ErrorCode;

std::int64_t bytes_of(const std::filesystem::path& file) {
  std::int64_t bytes = 0;
  for (const char* end : {"", "-wal"}) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file.string() + end, error);
    if (!error) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

}  // namespace

VacuumResult Store::vacuum() {
  if (const std::optional<RunRecord> run = living_run()) {
    throw Error(ErrorCode::kConflict, "database " + file_.string() + " is in use: process " +
                                          std::to_string(run->owner.pid) + " on " + run->owner.host + " is running " +
                                          run->cell + " (seed " + std::to_string(run->seed) +
                                          "); try again when it has ended");
  }
  VacuumResult result;
  result.bytes_before = bytes_of(file_);
  result.summaries_made = complete_summaries();
  database_->execute("PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  result.bytes_after = bytes_of(file_);
  return result;
}

}  // namespace nanobench::results

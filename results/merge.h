/// Joins stores of several machines: what another file holds is copied into ours under new numbers. Copying the same
/// file again adds nothing. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace nanobench::results {

/// What one merge did.
struct MergeResult {
  std::int64_t runs_added = 0;
  std::int64_t runs_known = 0;    ///< were there already: same digest, start and owner
  std::int64_t runs_running = 0;  ///< without an outcome; not taken
  std::int64_t samples_added = 0;
  std::int64_t plans_added = 0;
  std::int64_t plans_known = 0;  ///< same digest and time of making
  std::int64_t baselines_added = 0;
  std::vector<std::string> messages;  ///< sentences for people: what was left out or renamed
};

/// Copies environments, plans, finished runs with all that belongs to them, and baselines of `from` into `into`, which
/// is made when absent. Runs come some dozens a transaction: killed at any moment, `into` is whole, and merging again
/// goes on. Throws Error as Store's constructor does, for either file; also kInvalidArgument when both are the same
/// file, and kDataLoss when `from` is damaged. `from` is only read; it may be of an older schema.
MergeResult merge_store(const std::filesystem::path& into, const std::filesystem::path& from);

/// Makes the store `into` with one plan of `from` and nothing else. What is run for it there belongs to the same plan
/// when it is merged back. Throws Error as merge_store.
void copy_plan(const std::filesystem::path& into, const std::filesystem::path& from, std::int64_t plan_id);

/// Brings a store that nobody has open into one file without side files, fit to be moved and to be read on a network's
/// file system. Throws Error{kIo}.
void make_movable(const std::filesystem::path& file);

}  // namespace nanobench::results

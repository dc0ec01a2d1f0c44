/// Merges stores of several machines: the contents of another file are copied into ours under new ids. Copying the same
/// file again adds nothing. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nanobench::results {

/// What one merge did.
struct MergeResult {
  std::int64_t runs_added = 0;
  std::int64_t runs_known = 0;    ///< already present: same digest, start and owner
  std::int64_t runs_running = 0;  ///< without an outcome; not copied
  std::int64_t samples_added = 0;
  std::int64_t plans_added = 0;
  std::int64_t plans_known = 0;  ///< same digest and creation time
  std::int64_t baselines_added = 0;
  std::vector<std::string> messages;  ///< sentences for people: what was left out or renamed
};

/// Copies environments, plans, finished runs with all that belongs to them, and baselines of `from` into `into`, which
/// is created if absent. Runs are copied a few dozen per transaction: after a kill at any moment, `into` is intact, and
/// merging again continues. Throws Error like Store's constructor, for either file; also kInvalidArgument if both are
/// the same file, and kDataLoss if `from` is damaged. `from` is only read; it may have an older schema.
MergeResult merge_store(const std::filesystem::path& into, const std::filesystem::path& from);

/// Where a store differs first from the checksums that were written with it: "run 3". nullopt if nowhere, if there is
/// no such file, and for a store of an older schema. Reads every sample. Throws Error if the file is not a store of
/// ours.
std::optional<std::string> changed_place(const std::filesystem::path& file);

/// Creates the store `into` with one plan of `from` and nothing else. Runs made for it there belong to the same plan
/// after merging back. Throws Error like merge_store.
void copy_plan(const std::filesystem::path& into, const std::filesystem::path& from, std::int64_t plan_id);

/// Converts a store that no process has open to a single file without side files, so that it can be moved, and read on
/// a network file system. Throws Error{kIo}.
void make_movable(const std::filesystem::path& file);

}  // namespace nanobench::results

#include "suites/run/kept_weights.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/data/checkpoint_header.h"
#include "results/weights.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::RunOutcome;

constexpr const char* kEnding = ".safetensors";

/// A whole file that the run can continue from.
struct Found {
  fs::path file;
  std::int64_t step = 0;
};

bool may_continue(const results::RunRecord& run) {
  if (!run.result) return false;
  switch (run.result->outcome) {
    case RunOutcome::kInterrupted:
    case RunOutcome::kCrashed:
    case RunOutcome::kTimedOut:
    case RunOutcome::kOutOfMemory: return true;
    default: return false;
  }
}

/// What losses follow from, of the specification in a checkpoint.
core::Json identity_of(const core::Json& spec) {
  return {{"config", spec.at("config")}, {"seed", spec.at("seed")}, {"dtype", spec.at("dtype")}};
}

/// Whether the run that wrote the checkpoint sampled all that this one is asked for: what its first steps did not
/// sample cannot be had later.
bool has_asked_metrics(const core::Json& written, const core::Json& wanted) {
  const core::Json none = core::Json::array();
  const core::Json there = written.value("metrics", none);
  for (const core::Json& metric : wanted.value("metrics", none)) {
    if (std::find(there.begin(), there.end(), metric) == there.end()) return false;
  }
  return !wanted.contains("metrics") ||
         written.value("health_every", core::Json()) == wanted.value("health_every", core::Json());
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == kEnding && !it->path().filename().string().starts_with("."))
      files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// The checkpoints of the folder that fit the run. Tells of those that do not.
std::vector<Found> usable_files(const fs::path& folder, const PlannedRun& run, RunnerObserver& observer) {
  std::vector<Found> found;
  for (const fs::path& file : files_in(folder)) {
    try {
      const core::CheckpointHeader header = core::read_checkpoint_header(file);
      const core::Json wanted = core::to_json(run.spec);
      if (identity_of(header.spec) != identity_of(wanted)) {
        observer.on_message(file.string() + " is a checkpoint of another run, so it is not used");
      } else if (!has_asked_metrics(header.spec, wanted)) {
        observer.on_message(file.string() +
                            " is of a run without the metrics that are asked for now, so it is not used");
      } else {
        found.push_back({file, header.step});
      }
    } catch (const core::Error& error) {
      core::rethrow_internal(error);
      observer.on_message(std::string(error.what()) + "; it is not used");
    } catch (const core::Json::exception&) {
      observer.on_message(file.string() + " has no specification of a run, so it is not used");
    }
  }
  return found;
}

results::KeptFile kept_file(const Found& found) {
  return {.name = found.file.filename().string(),
          .step = found.step,
          .bytes = static_cast<std::int64_t>(fs::file_size(found.file)),
          .digest = core::digest_of_file(found.file)};
}

/// Makes the earlier run's folder that of this run; false if it cannot be moved.
bool take_over(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return !error;
}

/// Continues this earlier run, if it left a checkpoint.
bool continue_run(const results::RunRecord& earlier, const PlannedRun& run, const results::Store& store,
                  const fs::path& folder, KeptWeights& kept, RunnerObserver& observer) {
  const fs::path from = results::weights_folder(store.file(), earlier.id);
  if (usable_files(from, run, observer).empty() || !take_over(from, folder)) return false;
  RunnerObserver silent;
  const std::vector<Found> files = usable_files(folder, run, silent);
  if (files.empty()) return false;
  for (const Found& file : files) kept.facts.insert(results::weights_fact(kept_file(file)));
  const Found& newest =
      *std::max_element(files.begin(), files.end(), [](const Found& a, const Found& b) { return a.step < b.step; });
  kept.resume_file = newest.file.string();
  kept.facts[results::kResumedRun] = std::to_string(earlier.id);
  kept.facts[results::kResumedStep] = std::to_string(newest.step);
  observer.on_message(earlier.cell + " (seed " + std::to_string(earlier.seed) + ") continues run " +
                      std::to_string(earlier.id) + " from step " + std::to_string(newest.step));
  return true;
}

}  // namespace

KeptWeights keep_weights(const PlannedRun& run, std::int64_t run_id, const results::Store& store,
                         const RunnerOptions& options, RunnerObserver& observer) {
  if (!options.keep_weights || run.spec.operation || !run.spec.external.is_null() || !run.spec.mock.is_null())
    return {};
  const fs::path folder = results::weights_folder(store.file(), run_id);
  const bool keeps_each = *options.keep_weights == results::KeepWeights::kAll;
  KeptWeights kept;
  kept.save_file =
      (folder / (keeps_each ? std::string("step_") + core::kStepInFile : std::string("last"))).string() + kEnding;
  if (options.is_fresh) return kept;
  std::vector<results::RunRecord> earlier = store.runs({.digest = run.digest});
  std::reverse(earlier.begin(), earlier.end());
  for (const results::RunRecord& one : earlier) {
    if (one.id == run_id || !may_continue(one)) continue;
    if (continue_run(one, run, store, folder, kept, observer)) break;
  }
  return kept;
}

}  // namespace nanobench::suites

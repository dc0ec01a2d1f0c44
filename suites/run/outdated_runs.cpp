#include "suites/run/outdated_runs.h"

#include <optional>

#include "core/base/text.h"

namespace nanobench::suites {

void OutdatedRuns::look_for(const results::Store& store, const PlannedRun& run, bool needs_times) {
  results::EvidenceNeed need = needed_evidence(run, needs_times);
  need.trainer_folder.reset();
  if (const std::optional<std::int64_t> id = store.find_evidence(run.digest, need)) take(store, run, *id);
}

bool OutdatedRuns::take(const results::Store& store, const PlannedRun& run, std::int64_t run_id) {
  const results::EvidenceNeed need = needed_evidence(run);
  if (!need.trainer_folder) return false;
  const std::optional<results::ChangedFile> file = store.changed_file(run_id, *need.trainer_folder);
  if (file) runs_[{file->name, file->is_gone}].insert(run_id);
  return file.has_value();
}

std::vector<std::string> OutdatedRuns::sentences() const {
  std::vector<std::string> sentences;
  for (const auto& [file, ids] : runs_) {
    const bool is_one = ids.size() == 1;
    sentences.push_back((is_one ? "run " + std::to_string(*ids.begin()) : counted(ids.size(), "finished run")) +
                        " loaded " + printable(file.first) +
                        (file.second ? ", which is gone" : ", which has changed since") + ", so " +
                        (is_one ? "it is" : "they are") + " measured again");
  }
  return sentences;
}

}  // namespace nanobench::suites

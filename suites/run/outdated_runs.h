/// Finished runs of a trainer that are no answer any more, because a file from elsewhere that they loaded has changed.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "results/store.h"
#include "suites/design/plan.h"

namespace nanobench::suites {

/// Collects them, for one sentence about each file. Not thread-safe.
class OutdatedRuns {
 public:
  /// Takes in the newest finished run that would answer the planned one but for its files, if there is any.
  void look_for(const results::Store& store, const PlannedRun& run, bool needs_times);
  /// Takes in the stored run if it has become no answer; returns whether it has.
  bool take(const results::Store& store, const PlannedRun& run, std::int64_t run_id);

  /// "2 finished runs loaded ../lib/helper.py, which has changed since, so they are measured again".
  std::vector<std::string> sentences() const;

 private:
  std::map<std::pair<std::string, bool>, std::set<std::int64_t>> runs_;  ///< by file, and whether it is gone
};

}  // namespace nanobench::suites

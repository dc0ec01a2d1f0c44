/// A stored run beside the same run made again: are its losses the same to the last bit? Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/records.h"

namespace nanobench::reports {

/// One metric of both runs, step by step. A value that is no number equals another such.
struct RepeatedSeries {
  std::string metric;                      ///< "train/loss"
  std::int64_t stored = 0;                 ///< values that the stored run has
  std::int64_t same = 0;                   ///< those that the new run repeats, bit by bit
  std::int64_t extra = 0;                  ///< values of the new run at steps that the stored one lacks
  std::optional<std::int64_t> first_step;  ///< the first at which they differ, or one of them has no value
  std::optional<double> largest;  ///< largest absolute difference at common steps; infinite if one value is no number

  bool is_same() const { return same == stored && extra == 0; }
};

/// Each step at most once in either list.
RepeatedSeries compare_series(const std::string& metric, const std::vector<results::Sample>& stored,
                              const std::vector<results::Sample>& repeated);

/// In what the two runs differ besides.
struct ChangedCondition {
  std::string key;    ///< stable name in JSON
  std::string title;  ///< for people
  std::string stored;
  std::string now;
};

struct Reproduction {
  results::RunRecord run;              ///< the stored one
  std::vector<RepeatedSeries> series;  ///< those of which either run has values
  std::vector<ChangedCondition> conditions;
  std::optional<double> stored_step_ms;  ///< medians over timed steps
  std::optional<double> step_ms;

  /// False without any series: nothing was compared.
  bool is_same() const;
};

}  // namespace nanobench::reports

// Runs of an invented suite over revisions, with what is planted in them.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "reports/trend/trend.h"
#include "tests/reports/stats/simulation.h"

namespace nanobench::reports {

/// Day `day` of the year 2026, a minute later for each `minute`.
inline std::string time_at(int day, int minute = 0) {
  char text[40];
  std::snprintf(text, sizeof text, "2026-%02d-%02dT%02d:%02d:00.000Z", 1 + day / 28 % 12, 1 + day % 28,
                minute / 60 % 24, minute % 60);
  return text;
}

/// 40 hexadecimal digits that begin with the number.
inline std::string revision_name(int number) {
  char text[64];
  std::snprintf(text, sizeof text, "%07x%033x", 0xa000000 + number * 0x1357, number);
  return text;
}

inline TrendRun trend_run(int revision, std::uint64_t seed, double loss, double step_ms) {
  TrendRun run;
  run.id = 1000 * revision + static_cast<std::int64_t>(seed);
  run.cell = "record12";
  run.seed = seed;
  run.source = {.name = revision_name(revision), .is_dirty = false, .program = "p" + std::to_string(revision)};
  run.conditions = {.engine = "nanobench-train",
                    .scale = "nano",
                    .config = "config",
                    .data = "data",
                    .dtype = "float32",
                    .hardware = "x86_64 | test | 2 cores",
                    .threads = 2,
                    .host = "here"};
  run.started_at = time_at(7 * revision, static_cast<int>(seed));
  run.outcome = core::RunOutcome::kCompleted;
  run.loss = loss;
  run.step_ms = step_ms;
  run.train_ms = 100.0 * step_ms;
  run.peak_bytes = 1e8;
  return run;
}

struct Plant {
  int revisions = 20;
  int seeds = 3;
  int changed_from = -1;    ///< first revision of the new level; -1: none
  double factor = 1.0;      ///< of the step time from there on
  double loss_rise = 0.0;   ///< from there on
  double time_cv = 0.01;    ///< of each run
  double session_cv = 0.0;  ///< of all runs of a revision together
  double loss_sd = 0.002;   ///< over seeds
};

/// A program gives one seed one loss until the change; then all losses are drawn anew.
inline std::vector<TrendRun> planted_runs(const Plant& plant, NormalDraws& draws) {
  std::vector<TrendRun> runs;
  std::vector<double> losses = draws.sample(plant.seeds, 3.28, plant.loss_sd);
  for (int revision = 0; revision < plant.revisions; ++revision) {
    const bool is_new = plant.changed_from >= 0 && revision >= plant.changed_from;
    if (revision == plant.changed_from) losses = draws.sample(plant.seeds, 3.28 + plant.loss_rise, plant.loss_sd);
    const double level = 100.0 * (is_new ? plant.factor : 1.0) * (1.0 + plant.session_cv * draws.next());
    for (int seed = 0; seed < plant.seeds; ++seed) {
      runs.push_back(trend_run(revision, static_cast<std::uint64_t>(seed + 1), losses[static_cast<std::size_t>(seed)],
                               level * (1.0 + plant.time_cv * draws.next())));
    }
  }
  return runs;
}

inline SeriesChoice only(std::vector<TrendMetric> metrics) {
  return {.metrics = std::move(metrics)};
}

inline Trend trend_of(const std::vector<TrendRun>& runs, const SeriesChoice& choice) {
  return analyse_trend(make_series(runs, choice));
}

/// The only series of a trend.
inline SeriesTrend one_series(const std::vector<TrendRun>& runs, TrendMetric metric) {
  Trend trend = trend_of(runs, only({metric}));
  EXPECT_EQ(trend.series.size(), 1U);
  return trend.series.at(0);
}

}  // namespace nanobench::reports

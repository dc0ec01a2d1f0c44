/// How much runs differ by chance, from stored runs: what a plan must reckon with. Pure but for reading the store;
/// thread-safe as the Store is.
///
/// Model: result = cell + seed + rest. Cells share their random numbers with the seed, and a seed's runs follow each
/// other on one machine, so a contrast of cells is free of the seed's part: its error is that of the rest.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "reports/stats/summary.h"
#include "results/store.h"
#include "suites/design/plan.h"

namespace nanobench::reports {

/// A standard deviation and how well it is known.
struct Spread {
  double sd = 0.0;  ///< exactly 0 where the values differ by no more than rounding
  double df = 0.0;  ///< degrees of freedom; above 0
};

/// Of one run about its cell's mean: all cells together. nullopt without a cell of two runs.
std::optional<Spread> spread_over_seeds(std::span<const BySeed> cells);

/// Of the rest: what cell and seed do not explain, over the seeds that all cells have. nullopt for less than two cells
/// and two such seeds. Of two cells it is the standard deviation of their differences over sqrt(2).
std::optional<Spread> spread_within_seeds(std::span<const BySeed> cells);

/// One spread from several, each weighted by its degrees of freedom.
std::optional<Spread> pooled(std::span<const Spread> spreads);

/// Of one run, so that a contrast with coefficients c has the variance sum(c^2) * sd^2 in each seed.
struct NoiseFigure {
  std::optional<Spread> spread;
  bool is_bound = false;  ///< it holds the seed's own part too: a contrast's error is at most this
  std::string source;     ///< in words: where it is from, or why there is none
};

struct Noise {
  NoiseFigure loss;      ///< nats per token
  NoiseFigure log_time;  ///< of the step time's logarithm
};

/// From runs of the plan's scale, engine, number type, hardware class and threads, each counted once.
///   loss      this suite's stored plans, within seeds; else the newest complete a_a plan, else all replicated cells,
///             over seeds
///   log_time  the newest complete a_a plan, else all stored plans, within seeds
/// `store` may be null: nothing is stored.
Noise read_noise(const results::Store* store, const suites::Plan& plan);

}  // namespace nanobench::reports

/// How much runs differ by chance, estimated from stored runs. Pure except for reading the store; as thread-safe as the
/// Store.
///
/// Model: result = cell + seed + rest. The cells of a seed share their random numbers, and a seed's runs follow each
/// other on one machine. The seed's part therefore cancels in a contrast of cells, and its error is that of the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "reports/stats/summary.h"
#include "results/store.h"
#include "suites/design/plan.h"

namespace nanobench::reports {

/// A standard deviation and how well it is known.
struct Spread {
  double sd = 0.0;  ///< exactly 0 if the values differ by no more than rounding
  double df = 0.0;  ///< degrees of freedom; above 0
};

/// The spread of one run around its cell's mean, pooled over cells. nullopt without a cell of two runs.
std::optional<Spread> spread_over_seeds(std::span<const BySeed> cells);

/// The spread of the rest, which cell and seed do not explain, over the seeds that all cells have. nullopt for fewer
/// than two cells or fewer than two such seeds. For two cells it is the standard deviation of their differences over
/// sqrt(2).
std::optional<Spread> spread_within_seeds(std::span<const BySeed> cells);

/// One spread from several, each weighted by its degrees of freedom.
std::optional<Spread> pooled(std::span<const Spread> spreads);

/// Where a spread is known from.
enum class NoiseSource {
  kNone,            ///< no replicated runs are stored
  kSuite,           ///< stored runs of the suite, seed by seed
  kSelfComparison,  ///< the a_a plan `plan_id`
  kAllRuns,         ///< all stored runs of the scale, over seeds
  kAllPlans,        ///< all stored plans of the scale, seed by seed
};

/// The spread of one run: a contrast with coefficients c has the variance sum(c^2) * sd^2 in each seed.
struct NoiseFigure {
  std::optional<Spread> spread;
  bool is_bound = false;  ///< includes the seed's own part: a contrast's error is at most this
  NoiseSource source = NoiseSource::kNone;
  std::int64_t plan_id = 0;  ///< for kSelfComparison
};

struct Noise {
  NoiseFigure loss;      ///< nats per token
  NoiseFigure log_time;  ///< spread of the step time's logarithm
};

/// From runs of the plan's scale, engine, number type, hardware class and threads, each counted once.
///   loss      this suite's stored plans, within seeds; else the newest complete a_a plan, else all replicated cells,
///             over seeds
///   log_time  the newest complete a_a plan, else all stored plans, within seeds
/// `store` may be null if nothing is stored.
Noise read_noise(const results::Store* store, const suites::Plan& plan);

}  // namespace nanobench::reports

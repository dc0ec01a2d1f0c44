/// What a plan will cost and what it can show, before anything is spent. Pure but for reading the store; thread-safe
/// as the Store is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/forecast/detectable.h"
#include "reports/forecast/noise.h"
#include "reports/forecast/run_cost.h"
#include "results/store.h"
#include "suites/design/plan.h"

namespace nanobench::reports {

struct CellForecast {
  std::string label;
  std::string changed;
  int planned = 0;  ///< runs: one for each seed
  int reused = 0;   ///< of them finished and stored already, or the same as an earlier cell's
  RunCost cost;     ///< of one run

  int to_run() const { return planned - reused; }
};

/// Sums over cells.
struct ForecastTotals {
  int planned = 0;
  int reused = 0;
  double clock_s = 0.0;  ///< training clock of the runs to do, of those cells whose time is known
  double wall_s = 0.0;
  bool is_whole = true;              ///< false: a cell's time is unknown, and the sums are without it
  std::optional<double> peak_bytes;  ///< of the largest cell: runs follow each other

  int to_run() const { return planned - reused; }
};

struct EffectForecast {
  results::PlanContrast contrast;
  Detectable loss;  ///< nats per token
  Detectable time;  ///< `effect` as a fraction of the step time; `sd` of its logarithm
};

/// The seeds that find what is asked for in every effect of the plan, and what they take.
struct SeedsNeeded {
  int seeds = 0;
  int more_runs = 0;             ///< beyond those that are stored
  std::optional<double> wall_s;  ///< of these runs; absent when a cell's time is unknown
};

struct Forecast {
  std::vector<CellForecast> cells;
  ForecastTotals totals;
  Noise noise;
  DetectionRules rules;
  int seeds = 0;
  std::vector<EffectForecast> effects;
  std::optional<SeedsNeeded> needed;            ///< each effect tested alone; absent: nothing asked, or not known
  std::optional<SeedsNeeded> needed_among_all;  ///< all effects tested together
};

struct ForecastOptions {
  bool is_fresh = false;  ///< nothing stored is reused
  DetectionRules rules;
  std::optional<PastRun> calibration;
};

/// `store` may be null: nothing is stored. Throws Error{kInvalidArgument} for rules without meaning.
Forecast forecast(const suites::Plan& plan, const results::Store* store, const ForecastOptions& options);

/// The run of our own engine that is worth a short try: the cheapest of those whose time no stored run tells. nullopt
/// when nothing is to be run, or all is known.
std::optional<std::size_t> run_to_calibrate(const suites::Plan& plan, const Forecast& forecast);

}  // namespace nanobench::reports

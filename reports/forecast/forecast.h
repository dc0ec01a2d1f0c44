/// The cost of a plan and the effects that it can detect, before anything is spent. Pure except for reading the store;
/// as thread-safe as the Store.
///
/// A contrast is tested by the model of the plan, as in reports/effects: all cells inform its spread, so its t test has
/// more than n - 1 degrees of freedom. The spread from the store is taken as true. A factorial that runs once is tested
/// with Lenth's error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/forecast/noise.h"
#include "reports/forecast/run_cost.h"
#include "results/records.h"
#include "results/store.h"
#include "suites/design/plan.h"

namespace nanobench::reports {

/// Fewer seeds give no verdict (reports/effects): a design that has an error of its own needs them.
inline constexpr int kVerdictSeeds = 3;

struct DetectionRules {
  double alpha = 0.05;  ///< two-sided
  double power = 0.8;
  std::optional<double> loss;  ///< effect to detect, nats per token; absent: what n detects
  std::optional<double> time;  ///< effect to detect, as a fraction of the step time
};

/// Throws Error{kInvalidArgument} for settings out of range, named like the command's options.
void check_rules(const DetectionRules& rules);

/// Why an effect has no number.
struct Undetectable {
  enum class Kind {
    kNoNoise,    ///< the spread is not known
    kEqualRuns,  ///< the stored runs of one seed do not differ
    kFewSeeds,   ///< `seeds`, those of the plan, give no verdict
    kManySeeds,  ///< more than `seeds` would be needed
  };
  Kind kind = Kind::kNoNoise;
  int seeds = 0;

  bool operator==(const Undetectable&) const = default;
};

/// One metric of one contrast.
struct Detectable {
  std::optional<double> sd;                ///< spread of the effect from one seed
  bool is_bound = false;                   ///< the spread is an upper bound
  std::optional<double> effect;            ///< detected with the given power, tested alone
  std::optional<double> effect_among_all;  ///< the same when it is the only effect among all tests (Holm)
  std::optional<int> seeds;                ///< needed for the requested effect; at least kVerdictSeeds, like the next
  std::optional<int> seeds_among_all;
  std::optional<Undetectable> undetectable;  ///< why a member is absent
};

/// The properties of a plan that affect detection.
struct DetectionPlan {
  int seeds = 0;
  int tests = 1;           ///< contrasts, tested together
  int cells = 2;           ///< of the plan
  double prior_df = 0.0;   ///< weight of the plan's spread (SpreadSettings); 0: a contrast's own spread only
  bool has_lenth = false;  ///< a factorial whose effects have no error of their own because it has one seed
};

/// In the metric's own unit: nats, or logarithm of the time. `asked`: the effect to detect.
Detectable detectable(const results::PlanContrast& contrast, const NoiseFigure& noise, const DetectionPlan& plan,
                      const DetectionRules& rules, const std::optional<double>& asked);

/// How many digits of a detectable size are known, 1 to 3. It is proportional to a spread with `df` degrees of freedom,
/// and its last digit is the first one that the spread's error touches.
int known_digits(double size, double df);

/// A number of seeds, rounded up to the decimal place that its error touches: the number is proportional to the square
/// of a spread with `df` degrees of freedom, which may be infinite.
int known_seeds(int seeds, double df);

struct CellForecast {
  std::string label;
  std::string changed;
  int planned = 0;  ///< runs: one for each seed
  int reused = 0;   ///< already finished and stored, or equal to an earlier cell's
  RunCost cost;     ///< cost of one run

  int to_run() const { return planned - reused; }
};

/// Sums over cells.
struct ForecastTotals {
  int planned = 0;
  int reused = 0;
  double clock_s = 0.0;  ///< training clock of the remaining runs, over cells whose time is known
  double wall_s = 0.0;
  bool is_whole = true;              ///< false: the sums lack a cell whose time is unknown
  std::optional<double> peak_bytes;  ///< peak of the largest cell: runs follow each other

  int to_run() const { return planned - reused; }
};

struct EffectForecast {
  results::PlanContrast contrast;
  Detectable loss;  ///< nats per token
  Detectable time;  ///< `effect` as a fraction of the step time; `sd` of its logarithm
};

/// The seeds that detect the requested effects in every contrast of the plan, and their cost.
struct SeedsNeeded {
  int seeds = 0;
  int more_runs = 0;             ///< runs beyond those already stored
  std::optional<double> wall_s;  ///< duration of these runs; absent if a cell's time is unknown
};

struct Forecast {
  std::vector<CellForecast> cells;
  ForecastTotals totals;
  Noise noise;
  DetectionRules rules;
  int seeds = 0;
  std::vector<EffectForecast> effects;
  std::optional<SeedsNeeded> needed;            ///< each effect tested alone; absent: not requested, or unknown
  std::optional<SeedsNeeded> needed_among_all;  ///< all effects tested together
};

struct ForecastOptions {
  bool is_fresh = false;  ///< reuse no stored run
  DetectionRules rules;
  std::optional<PastRun> calibration;
};

/// `store` may be null if nothing is stored. Throws Error{kInvalidArgument} for rules out of range.
Forecast forecast(const suites::Plan& plan, const results::Store* store, const ForecastOptions& options);

/// The run of our own engine to try briefly: the cheapest one without an estimate from stored runs. nullopt if there is
/// nothing to run, or everything is known.
std::optional<std::size_t> run_to_calibrate(const suites::Plan& plan, const Forecast& forecast);

}  // namespace nanobench::reports

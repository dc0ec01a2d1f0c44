/// One metric of one contrast over a plan's cells, with its error, and its worth in seconds of training. All contrasts
/// of a plan share one model of its spread (reports/stats/plan_model.h). Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/comparison/comparison.h"
#include "reports/stats/estimate.h"
#include "reports/stats/loss_curve.h"
#include "reports/stats/plan_model.h"
#include "reports/stats/verdict.h"

namespace nanobench::reports {

/// The source of an effect's error.
enum class ErrorSource {
  kNone,   ///< one run, or no spread: there is no error
  kSeeds,  ///< the contrast of each seed
  kPlan,   ///< the same, moderated by the spread of the whole plan
  kCells,  ///< the spreads within the cells, which share no seeds
  kLenth,  ///< the other effects of an unreplicated factorial
};

/// One metric of one contrast.
struct MeasuredEffect {
  std::optional<double> value;  ///< nats, or log ratio
  std::optional<Estimate> estimate;
  ErrorSource source = ErrorSource::kNone;
  SpreadKind spread = SpreadKind::kNone;       ///< kSeeds and kPlan only
  std::optional<double> own_sd;                ///< of one run, from this contrast alone; absent for one seed
  std::optional<double> plan_sd;               ///< of one run, from the residuals of the whole plan
  double plan_df = 0.0;                        ///< degrees of freedom of plan_sd
  std::optional<ErrorForecast> forecast;       ///< the error with another number of seeds; kSeeds and kPlan only
  int n = 0;                                   ///< complete seeds, or runs of the cell with the fewest
  bool is_exact = false;                       ///< all of two or more seeds gave exactly this value
  std::optional<ConfidenceInterval> interval;  ///< holds simultaneously for all effects of the metric
  std::optional<double> p;                     ///< two-sided p-value of no effect
  std::optional<double> adjusted_p;            ///< by Holm over the plan's effects
  std::optional<double> equivalence_p;         ///< of an effect beyond the margins; by Holm over the plan's effects
  Verdict verdict = Verdict::kMissing;
  std::optional<int> decided_at_look;  ///< in a plan of looks: the look that decided; absent while undecided
};

/// A cell of a contrast with its coefficient.
struct ContrastPart {
  const CellMeasures* cell = nullptr;
  double coefficient = 0.0;
};

/// Empty if a cell of the contrast is not among `cells`.
std::vector<ContrastPart> parts_of(const results::PlanContrast& contrast, const std::vector<CellMeasures>& cells);

/// The final losses seed by seed: one row for each seed that every cell has completed. Rows are in ascending order of
/// seed, values in the order of the cells.
std::vector<std::vector<double>> loss_rows(const std::vector<const CellMeasures*>& cells);

/// The weights of the plan's spread beside a contrast's own, in degrees of freedom (SpreadSettings::prior_df).
struct SpreadWeights {
  double loss = kLossPriorDf;  ///< and seconds at equal loss
  double time = kTimePriorDf;
  std::optional<EarlierSpread> earlier_loss = {};  ///< of losses; absent: this plan's runs alone give the spread
};

/// The runs of a plan as responses in blocks. Losses are of one block for each seed. Times from different machines are
/// never subtracted, so a block of times is a seed on one machine; a cell that every machine measured is the shared
/// control. `cells` must outlive it.
class PlanEffects {
 public:
  /// `contrasts`: how many are judged together.
  PlanEffects(const std::vector<CellMeasures>& cells, int contrasts, const SpreadWeights& weights);

  /// Final loss, nats per token. Throws Error{kInvalidArgument} for coefficients that do not sum to 0, as do the next.
  MeasuredEffect loss(const results::PlanContrast& contrast) const;
  /// Logarithm of the training clock.
  MeasuredEffect log_time(const results::PlanContrast& contrast) const;

  /// The time to the loss that the training had without the change. Every run's loss and clock become one response,
  /// seconds = loss / gain + reference * log(clock): the gain is the loss that a second of training buys at the end of
  /// the runs with the change, the reference the clock of the runs without it.
  struct Seconds {
    EqualLoss equal_loss;               ///< cost of the change at equal loss; below 0: it saves time
    std::optional<double> reference_s;  ///< training clock without the change
    std::optional<double> steps;        ///< that the loss alone is worth; absent for equal losses
    std::optional<double> gain;         ///< nats that one second buys; absent likewise
    std::optional<ErrorForecast> forecast;
    int n = 0;  ///< complete blocks
  };
  /// Nothing is converted if an effect has no error. For losses that are equal, the time decides. `level`: of the
  /// interval, for this contrast alone.
  Seconds seconds(const results::PlanContrast& contrast, const MeasuredEffect& loss, const MeasuredEffect& log_time,
                  double level) const;

  /// The spread of the losses that cell and seed leave, with its degrees of freedom.
  std::optional<double> loss_sd() const { return loss_model_.plan_sd(); }
  double loss_df() const { return loss_model_.plan_df(); }

  /// Residuals of the losses and of the log times after cell and block, for diagnostics.
  struct Residual {
    std::string cell;
    std::uint64_t seed = 0;
    double fitted = 0.0;
    double residual = 0.0;
  };
  std::vector<Residual> loss_residuals() const;
  std::vector<Residual> log_time_residuals() const;

 private:
  struct Block {
    std::uint64_t seed = 0;
    const RunMeasure* machine = nullptr;  ///< a run of the block's machine; nullptr: any machine
  };
  void read_slopes();
  /// Mean slope of the loss over the runs with the change, nats per step. Its error is the spread of slopes within the
  /// cells of the plan, because few runs of one cell hardly know it; with one run for each cell, that of its line.
  std::optional<Estimate> slope_after(const std::vector<ContrastPart>& parts) const;
  std::size_t index_of(const ContrastPart& part) const;
  /// The run of a cell in a block; nullptr if there is none.
  const RunMeasure* run_at(std::size_t cell, const Block& block) const;
  template <class Value>
  ResponseTable table_of(const std::vector<Block>& blocks, Value value) const;
  Contrast coefficients_of(const results::PlanContrast& contrast) const;
  MeasuredEffect fitted(const PlanModel& model, const results::PlanContrast& contrast) const;
  /// What converts losses and log times into seconds.
  struct Rate {
    double value = 0.0;  ///< gain, nats per token and second
    double reference_s = 0.0;
  };
  /// Unusable without an error; sets the result's n and forecast.
  Estimate seconds_estimate(Seconds& result, const results::PlanContrast& contrast, const Rate& gain,
                            const MeasuredEffect& loss, const MeasuredEffect& log_time) const;
  std::vector<Residual> residuals_of(const PlanModel& model, const std::vector<Block>& blocks,
                                     const ResponseTable& table) const;

  const std::vector<CellMeasures>* cells_;
  int contrasts_;
  SpreadWeights weights_;
  std::vector<Block> seeds_;   ///< blocks of losses
  std::vector<Block> places_;  ///< blocks of times
  ResponseTable losses_, log_times_;
  double loss_resolution_ = 0.0, log_time_resolution_ = 0.0;
  PlanModel loss_model_, log_time_model_;
  std::vector<std::vector<double>> slopes_;  ///< of each cell's runs, nats per step
  double slope_squares_ = 0.0, slope_df_ = 0.0;
};

using EffectSeconds = PlanEffects::Seconds;

}  // namespace nanobench::reports

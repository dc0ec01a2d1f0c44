/// The contrasts of a plan, measured: on the loss, on the training clock, and in seconds of training at equal loss. All
/// of them share one model of the plan's spread (reports/stats/plan_model.h). Pure, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/effects/measured_effect.h"
#include "reports/stats/loss_curve.h"
#include "reports/stats/plan_model.h"

namespace nanobench::reports {

/// The weights of the plan's spread beside a contrast's own, in degrees of freedom (SpreadSettings::prior_df).
struct SpreadWeights {
  double loss = kLossPriorDf;  ///< and seconds at equal loss
  double time = kTimePriorDf;
};

/// The runs of a plan as responses in blocks. Losses are of one block for each seed. Times from different machines are
/// never subtracted, so a block of times is a seed on one machine; a cell that every machine measured is the shared
/// control. `cells` must outlive it.
class PlanEffects {
 public:
  ///   contrasts      how many are judged together
  ///   earlier_loss   a spread of losses that counts as residuals of this plan
  PlanEffects(const std::vector<CellMeasures>& cells, int contrasts, const SpreadWeights& weights,
              const std::optional<EarlierSpread>& earlier_loss = std::nullopt);

  /// Final loss, nats per token. Throws Error{kInvalidArgument} for coefficients that do not sum to 0, as do the next.
  MeasuredEffect loss(const results::PlanContrast& contrast) const;
  /// Logarithm of the training clock.
  MeasuredEffect log_time(const results::PlanContrast& contrast) const;
  /// Logarithm of the memory that the training takes (RunMeasure::training_bytes). Judged by its own spread: memory
  /// grows in jumps, so the cells of a plan have little in common.
  MeasuredEffect log_memory(const results::PlanContrast& contrast) const;

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
  PlanModel loss_model_, log_time_model_, log_memory_model_;
  std::vector<std::vector<double>> slopes_;  ///< of each cell's runs, nats per step
  double slope_squares_ = 0.0, slope_df_ = 0.0;
};

using EffectSeconds = PlanEffects::Seconds;

}  // namespace nanobench::reports

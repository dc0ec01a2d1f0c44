/// The charts of all reports. Each function makes the rows and the Vega-Lite specification of one chart, or nullopt if
/// there is nothing to draw. Names of cells, effects and files are data, never part of a specification's expressions.
/// Pure, thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/comparison/comparison.h"
#include "reports/document/document.h"
#include "reports/effects/effects.h"
#include "reports/effects/range_effects.h"

namespace nanobench::reports {

struct ArmComparison;
struct Audit;
struct Transfer;
struct Trend;

/// Each row's step time against the first row's, beside the published one. A history is a waterfall: each bar begins
/// where the previous one ended. Lines are the 95 % intervals of the steps, cut like those of effects_chart().
std::optional<Chart> speed_chart(const results::PlanRecord& plan, const ComparisonTable& table);

/// Every effect with its interval: on the loss, on the training time, and in seconds at equal loss. A history keeps its
/// order; other designs have the largest gain of loss first. Axes follow the effects: intervals that reach far beyond
/// them are cut, and marked.
///   published   by effect: the published training time over the one before
std::optional<Chart> effects_chart(const results::PlanRecord& plan, const std::vector<EffectResult>& effects,
                                   const std::map<std::string, double>& published = {});

/// The difference of each arm to the control, in the same form: on the loss, and of times in percent of the control's.
std::optional<Chart> arm_effects_chart(const ArmComparison& comparison);

/// The validations of runs of one configuration: one line of a chart.
struct LossLine {
  struct Run {
    std::string name;                    ///< its seed or file
    std::span<const CurvePoint> points;  ///< not owned
    std::optional<double> step_tokens;   ///< tokens that one step trains on
    std::optional<double> floor_nats;    ///< entropy of the data
  };
  std::string label;
  std::vector<Run> runs;
};

/// The validation loss of each line, mean and range over its runs, against steps, tokens or seconds of the training
/// clock. Long curves are thinned: each section keeps its lowest and highest point. The full data are all runs'
/// validations, unless there are more of them than a page should hold.
///   run_key   what a run's name is, a stable key: "seed", "log"
std::optional<Chart> loss_chart(const std::vector<LossLine>& lines, const std::string& run_key);
/// The same of cells, whose runs are named by their seeds.
std::optional<Chart> loss_chart(const std::vector<CellMeasures>& cells);

/// How a metric by bucket is worded.
struct BucketWords {
  const char* title;  ///< of its section
  const char* axis;   ///< what the buckets count: "position in the document, tokens"
  const char* last;   ///< the last quarter: "Long positions"
};

/// Each cell's mean loss by bucket, with the standard deviation of its runs; then the difference that each change makes
/// by doubling (RangeEffects::by_range), with its interval. Empty ones are left out.
std::vector<Chart> bucket_charts(const results::PlanRecord& plan, const PlanBuckets& buckets,
                                 const RangeEffects& effects, const BucketWords& words);

/// Final loss of every run that counts, and each arm's mean with its interval, against the target.
std::optional<Chart> arm_loss_chart(const ArmComparison& comparison);

/// Peak memory of each cell.
std::optional<Chart> memory_chart(const ComparisonTable& table);

/// The step time of each run against its cell's median, in the order in which the runs began.
std::optional<Chart> order_chart(const std::vector<CellMeasures>& cells);

/// Mean time of a step by phase, in milliseconds, for each cell.
struct PhaseTimes {
  std::string cell;
  std::map<std::string, double> phases;
};
std::optional<Chart> phase_chart(const std::vector<PhaseTimes>& cells);

/// What cell and seed leave of each run's final loss and log training time. Empty ones have nothing to draw.
///   cells   the plan's, in its order
std::vector<std::optional<Chart>> residual_charts(const PlanEffects& effects, const std::vector<std::string>& cells);

/// Two-factor interactions on the loss, as a square of all pairs.
std::optional<Chart> interaction_chart(const std::vector<EffectResult>& effects);

/// Every counted run's final loss and each group's mean, against the target; nullopt without a loss.
std::optional<Chart> audit_loss_chart(const Audit& audit);

/// Mean training time of each group beside the published one; nullopt if no folder belongs to a record.
std::optional<Chart> audit_time_chart(const Audit& audit);

inline constexpr std::size_t kMaxTrendCharts = 8;

/// One chart for each of the first series (worst first) that have values in two revisions: means and ranges over the
/// revisions, the range that earlier values predict, and where a new level begins.
std::vector<Chart> trend_charts(const Trend& trend, std::size_t max = kMaxTrendCharts);

inline constexpr std::size_t kMaxTransferCharts = 12;

/// A scatter plot for each of the first pairs of scales that share two changes or more: each change at both scales with
/// its intervals, and the diagonal on which both are equal.
std::vector<Chart> transfer_charts(const Transfer& transfer, std::size_t max = kMaxTransferCharts);

}  // namespace nanobench::reports

/// The rows of a report: what was measured in each cell of a plan, and how it differs from its reference row. Pure
/// functions of store rows; as thread-safe as the Store (one thread).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ablations/catalogue.h"
#include "reports/comparison/conditions.h"
#include "reports/comparison/remark.h"
#include "reports/stats/loss_curve.h"
#include "reports/stats/summary.h"
#include "results/store.h"

namespace nanobench::reports {

/// The metrics of one run.
struct RunMeasure {
  results::RunRecord run;
  std::optional<double> val_loss;          ///< final; nats per token; completed runs only, like all below
  std::optional<double> clock_ms;          ///< whole training clock; disturbed steps as settled_clocks.h counts them
  std::optional<double> raw_clock_ms;      ///< the same as measured
  std::int64_t clock_samples = 0;          ///< in the store: a step or a stretch of steps each
  int disturbed_steps = 0;                 ///< steps, or stretches, that count as other runs of the cell took them
  double replaced_ms = 0.0;                ///< what those took more
  int turns = 0;                           ///< in which it took its steps (turn_times.h); 0: without a pause
  std::string block;                       ///< of runs that were resident together; empty without turns
  double cold_ms = 0.0;                    ///< what first steps of turns took more than others; not in clock_ms
  std::optional<double> step_ms;           ///< clock_ms over timed steps
  std::optional<double> mean_step_ms;      ///< raw_clock_ms over timed steps: the records' figure
  std::optional<double> median_step_ms;    ///< over timed steps; depends on the lengths of phases, and judges nothing
  std::optional<double> tokens_per_s;      ///< trained tokens over clock_ms
  std::optional<double> step_tokens;       ///< tokens that one step trains on
  std::optional<double> peak_bytes;        ///< peak of the process
  std::optional<double> training_bytes;    ///< the same without what was resident before there was a model
  std::vector<CurvePoint> curve;           ///< validations, in order of steps
  double lowest_val_loss = 0.0;            ///< minimum of the curve; infinity if empty
  std::optional<std::string> disturbance;  ///< why its times are doubtful (results/host_load.h)
  bool was_beside_others = false;          ///< other runs computed at the same time, so it has no times
  bool has_engine_without_turns = false;   ///< it was to take turns, which its engine cannot
};

/// Without other runs of the cell: clock_ms is raw_clock_ms. A run without a count of timed steps has the mean over its
/// samples as step_ms.
RunMeasure measure_run(const results::Store& store, const results::RunRecord& run);

/// What the catalogue says of a record besides its step time.
struct RecordFacts {
  std::string title;                    ///< a line: what it changed
  std::string link;                     ///< address of its logs; empty: none is known
  std::optional<double> train_seconds;  ///< training clock of the official model
};

/// All runs of one cell of a plan.
struct CellMeasures {
  results::PlanCell cell;
  int planned = 0;                ///< replicates that the plan asks for
  std::vector<RunMeasure> runs;   ///< existing runs, including failed and running ones; ascending seeds
  std::optional<double> step_ms;  ///< figure published for the cell's record
  RecordFacts published;          ///< of the cell's record, if the cell is that record; else empty
};

/// The cell's completed run with this seed; nullptr if there is none.
const RunMeasure* completed_run(const CellMeasures& cell, std::uint64_t seed);

/// Whether the times of two runs may be compared: same machine, same GPU and driver, same number of threads. Losses may
/// always be compared.
bool share_machine(const RunMeasure& a, const RunMeasure& b);

/// The cell's times over the reference's, above 1: slower. Of runs on several machines only pairs from one machine
/// count. `times` and `base_times` are values of the completed runs of the two.
std::optional<Effect> time_ratio(const CellMeasures& cell, const CellMeasures& reference, const BySeed& times,
                                 const BySeed& base_times);

/// Values of the completed runs.
BySeed val_losses(const CellMeasures& cell);
BySeed step_times(const CellMeasures& cell);
BySeed clocks(const CellMeasures& cell);             ///< RunMeasure::clock_ms
BySeed training_memories(const CellMeasures& cell);  ///< RunMeasure::training_bytes

/// Time to the target over the completed runs of a cell.
struct TargetTimes {
  Summary seconds;         ///< over the runs that reached it
  int reached = 0;         ///< runs
  int completed = 0;       ///< runs
  int before_clock = 0;    ///< runs that reached it before their clock started
  bool has_curve = false;  ///< false: no run has validations on the clock, or there is no target
};

/// One row.
struct Comparison {
  std::string label;
  std::optional<std::string> record;
  std::string changed;
  std::string title;                     ///< the same in a few words
  std::string link;                      ///< where its record was published; may be empty
  std::optional<std::string> reference;  ///< label of the row that the effects are relative to

  Summary val_loss;
  std::optional<Effect> val_loss_change;  ///< negative: better
  Summary step_ms;
  std::optional<Effect> step_speed_up;  ///< above 1: faster
  Summary clock_ms;
  Summary mean_step_ms;
  Summary median_step_ms;
  Summary tokens_per_s;
  Summary peak_bytes;
  Summary training_bytes;  ///< RunMeasure::training_bytes
  TargetTimes to_target;
  std::optional<Effect> to_target_change;  ///< seconds, negative: sooner; absent unless all runs of both rows reach it
  CellOutliers outliers;                   ///< flagged, but included in all of the above
  std::optional<double> published_step_ms;
  std::optional<double> published_speed_up;
  std::optional<double> published_train_s;  ///< training clock

  int planned = 0;
  int completed = 0;
  int failed = 0;                    ///< ended without evidence
  int unfinished = 0;                ///< running, interrupted, or not started
  std::vector<FailedRuns> failures;  ///< each way in which runs failed, once
};

struct ComparisonTable {
  std::optional<double> target;  ///< validation loss
  TargetSource target_source;
  std::vector<Comparison> rows;   ///< in the suite's order
  bool has_one_yardstick = true;  ///< the rows' mean times may be divided by each other: all runs are on one machine,
                                  ///< or each row has the same seeds on the same machines
  std::vector<int> looks;  ///< seeds at each look at these results (looks_taken()); one or no entry: no earlier look
  std::vector<Remark> warnings;  ///< about the runs
  std::vector<Remark> notes;
};

/// What the comparison needs besides the store.
struct ComparisonOptions {
  std::map<std::string, double> published_step_ms;  ///< by record id
  std::optional<double> target;                     ///< overrides the plan's
  std::optional<double> divergence_loss = {};       ///< loss from which a run of a sweep of rates counts as diverged
  bool uses_earlier_spread = false;                 ///< earlier plans' spread of losses judges them too
  bool has_charts = false;                          ///< adds charts, for formats that show them
  bool has_provenance = false;                      ///< adds disturbed runs, commands, programs and machines
  std::map<std::string, RecordFacts> records = {};  ///< by record id
};

/// Mean step times published for the catalogue's records.
std::map<std::string, double> published_step_ms(const ablations::Catalogue& catalogue);
/// Titles, training times and addresses of the catalogue's records.
std::map<std::string, RecordFacts> record_facts(const ablations::Catalogue& catalogue);

/// The cells of a plan in the suite's order, with settled clocks (settled_clocks.h) unless that would take too long.
std::vector<CellMeasures> read_cells(const results::Store& store, const results::PlanRecord& plan,
                                     const ComparisonOptions& options);

/// The same of several plans whose runs took turns with each other: the machine's slow moments are those of all.
std::vector<std::vector<CellMeasures>> read_cells_together(const results::Store& store,
                                                           const std::vector<results::PlanRecord>& plans);

/// Compares each row with the row before it (design "history") or the first row (other designs). A reference without a
/// completed run is skipped, and a note reports it.
ComparisonTable compare(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                        const ComparisonOptions& options);

}  // namespace nanobench::reports

#include "reports/comparison/remarks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "core/base/text.h"
#include "reports/comparison/conditions.h"
#include "reports/comparison/settled_clocks.h"

namespace nanobench::reports {
namespace {

void add_spread_notes(ComparisonTable& table) {
  int fewest = std::numeric_limits<int>::max();
  for (const Comparison& row : table.rows) {
    if (row.completed > 0) fewest = std::min(fewest, row.completed);
  }
  if (fewest == std::numeric_limits<int>::max()) return;
  if (fewest == 1) {
    table.notes.push_back({.kind = RemarkKind::kOneRun});
  } else {
    table.notes.push_back({.kind = RemarkKind::kSpread, .count = fewest});
  }
}

void add_floor_warning(ComparisonTable& table, const std::vector<CellMeasures>& cells) {
  Remark remark{.kind = RemarkKind::kBelowFloor};
  for (const CellMeasures& cell : cells) {
    for (const RunMeasure& run : cell.runs) {
      const std::optional<double>& floor = run.run.data_floor_nats;
      if (!floor || !(run.lowest_val_loss < *floor)) continue;
      if (!remark.runs.empty()) {
        ++remark.count;
        continue;
      }
      remark.runs = {{.row = cell.cell.label, .seed = run.run.seed}};
      remark.value = run.lowest_val_loss;
      remark.limit = *floor;
    }
  }
  if (!remark.runs.empty()) table.warnings.push_back(std::move(remark));
}

void add_disturbance_warning(ComparisonTable& table, const std::vector<CellMeasures>& cells) {
  Remark remark{.kind = RemarkKind::kDisturbed};
  for (const CellMeasures& cell : cells) {
    for (const RunMeasure& run : cell.runs) {
      if (!run.run.is_completed() || !run.disturbance || ++remark.count > 1) continue;
      remark.runs = {{.row = cell.cell.label, .seed = run.run.seed}};
      remark.names = {*run.disturbance};
    }
  }
  if (remark.count > 0) table.warnings.push_back(std::move(remark));
}

/// Where the runs of a table were made.
struct RunPlaces {
  std::set<std::string> hardware, gpus, hosts, seats, engines;
  std::map<std::uint64_t, std::set<std::string>> seats_of_seeds;

  void add(const results::RunRecord& run) {
    hardware.insert(run.hardware + ", " + counted(run.threads, "thread"));
    engines.insert(run.engine_text() + " " + run.engine_version);
    if (!run.is_completed()) return;
    gpus.insert(run.gpu.empty() ? "none" : run.gpu);
    hosts.insert(run.owner.host);
    if (run.seat.empty()) return;
    seats.insert(run.place());
    seats_of_seeds[run.seed].insert(run.place());
  }
  bool has_one_seat_a_seed() const {
    return std::all_of(seats_of_seeds.begin(), seats_of_seeds.end(),
                       [](const auto& seed) { return seed.second.size() == 1; });
  }
};

/// The times of one table should come from one machine and one number of threads.
void add_mixture_remarks(ComparisonTable& table, const std::vector<CellMeasures>& cells) {
  RunPlaces places;
  for (const CellMeasures& cell : cells) {
    for (const RunMeasure& run : cell.runs) places.add(run.run);
  }
  const auto count = [](const std::set<std::string>& names) { return static_cast<std::int64_t>(names.size()); };
  if (places.hosts.size() > 1) {
    table.warnings.push_back({.kind = RemarkKind::kHosts, .count = count(places.hosts)});
  } else if (places.hardware.size() > 1) {
    table.warnings.push_back({.kind = RemarkKind::kMachines});
  }
  if (places.seats.size() > 1)
    table.notes.push_back({.kind = places.has_one_seat_a_seed() ? RemarkKind::kSeatsBySeed : RemarkKind::kMixedSeats,
                           .count = count(places.seats)});
  if (places.gpus.size() > 1)
    table.warnings.push_back({.kind = RemarkKind::kGpus, .names = {places.gpus.begin(), places.gpus.end()}});
  if (places.engines.size() > 1) table.warnings.push_back({.kind = RemarkKind::kEngines});
}

/// One warning for all rows that are compared with a row that ran different code.
void add_code_warning(ComparisonTable& table, const std::vector<CellMeasures>& cells) {
  const auto cell_of = [&](const std::string& label) {
    const auto found =
        std::find_if(cells.begin(), cells.end(), [&](const CellMeasures& cell) { return cell.cell.label == label; });
    return found == cells.end() ? nullptr : &*found;
  };
  Remark remark{.kind = RemarkKind::kOtherCode};
  for (const Comparison& row : table.rows) {
    if (!row.reference || row.completed == 0) continue;
    const CellMeasures* const cell = cell_of(row.label);
    const CellMeasures* const reference = cell_of(*row.reference);
    if (cell == nullptr || reference == nullptr) continue;
    core::StepParts found = parts_without_kernel({{cell, 1.0}, {reference, -1.0}});
    if (found.empty()) continue;
    remark.parts.merge(found);
    remark.rows.push_back(row.label);
  }
  if (!remark.rows.empty()) table.warnings.push_back(std::move(remark));
}

/// Runs that are copies of each other: their spread of zero is not that of training.
bool are_copies(const std::vector<CellMeasures>& cells) {
  std::size_t most = 0;
  for (const CellMeasures& cell : cells) {
    std::set<double> losses;
    std::size_t runs = 0;
    for (const RunMeasure& run : cell.runs) {
      if (!run.run.is_completed() || !run.run.result->final_val_loss || run.run.mock) continue;
      losses.insert(*run.run.result->final_val_loss);
      ++runs;
    }
    if (losses.size() > 1) return false;
    most = std::max(most, runs);
  }
  return most >= 2;
}

void add_outlier_note(const ComparisonTable& table, std::vector<Remark>& notes) {
  Remark remark{.kind = RemarkKind::kOutliers};
  for (const Comparison& row : table.rows) {
    for (const bool is_time : {false, true}) {
      const auto& outliers = is_time ? row.outliers.step_ms : row.outliers.val_loss;
      if (!outliers) continue;
      for (const OutlyingRun& run : *outliers)
        remark.runs.push_back({.row = row.label,
                               .seed = run.seed,
                               .run_id = run.run_id,
                               .is_time = is_time,
                               .value = run.value,
                               .median = run.median});
    }
  }
  if (!remark.runs.empty()) notes.push_back(std::move(remark));
}

/// Which runs' clocks were not taken as measured.
void add_clock_notes(const std::vector<CellMeasures>& cells, std::vector<Remark>& notes) {
  constexpr double kMinNamedShare = 1e-6;  // of the clock: what every run loses to such steps is not taken away
  if (clock_samples_of(cells) > kMaxClockSamples) notes.push_back({.kind = RemarkKind::kRawClocks});
  Remark remark{.kind = RemarkKind::kDisturbedSteps};
  for (const CellMeasures& cell : cells) {
    for (const RunMeasure& run : cell.runs) {
      if (run.disturbed_steps == 0 || run.replaced_ms < kMinNamedShare * *run.raw_clock_ms) continue;
      remark.runs.push_back(
          {.row = cell.cell.label, .seed = run.run.seed, .value = run.replaced_ms, .steps = run.disturbed_steps});
    }
  }
  if (!remark.runs.empty()) notes.push_back(std::move(remark));
}

/// How the runs shared the machine.
void add_turn_notes(const std::vector<CellMeasures>& cells, std::vector<Remark>& notes) {
  std::set<std::string> blocks;
  Remark without{.kind = RemarkKind::kWithoutTurns}, turns{.kind = RemarkKind::kTurns};
  double cold_ms = 0.0, clock_ms = 0.0;
  for (const CellMeasures& cell : cells) {
    for (const RunMeasure& run : cell.runs) {
      if (!run.raw_clock_ms) continue;
      (run.turns > 0 ? turns.count : turns.others) += 1;
      without.count += run.has_engine_without_turns;
      if (run.turns == 0) continue;
      blocks.insert(run.block);
      cold_ms += run.cold_ms;
      clock_ms += *run.raw_clock_ms;
    }
  }
  if (without.count > 0) notes.push_back(std::move(without));
  if (turns.count == 0) return;
  turns.blocks = static_cast<std::int64_t>(blocks.size());
  turns.value = 100.0 * cold_ms / clock_ms;
  notes.push_back(std::move(turns));
}

void add_jobs_note(const std::vector<CellMeasures>& cells, std::vector<Remark>& notes) {
  Remark remark{.kind = RemarkKind::kBesideOthers};
  for (const CellMeasures& cell : cells)
    remark.count +=
        std::count_if(cell.runs.begin(), cell.runs.end(), [](const RunMeasure& run) { return run.was_beside_others; });
  if (remark.count > 0) notes.push_back(std::move(remark));
}

}  // namespace

std::vector<FailedRuns> failed_runs(const CellMeasures& cell) {
  std::vector<FailedRuns> failures;
  for (const RunMeasure& run : cell.runs) {
    const std::optional<results::RunResult>& result = run.run.result;
    if (!result || run.run.is_completed() || result->outcome == core::RunOutcome::kInterrupted) continue;
    auto same = std::find_if(failures.begin(), failures.end(), [&](const FailedRuns& known) {
      return known.outcome == result->outcome && known.message == result->message;
    });
    if (same == failures.end())
      same = failures.insert(failures.end(), {.seeds = {}, .outcome = result->outcome, .message = result->message});
    same->seeds.push_back(run.run.seed);
  }
  return failures;
}

void add_run_remarks(ComparisonTable& table, const std::vector<CellMeasures>& cells) {
  add_spread_notes(table);
  add_floor_warning(table, cells);
  add_mixture_remarks(table, cells);
  add_code_warning(table, cells);
  add_disturbance_warning(table, cells);
}

std::vector<Remark> verdict_warnings(const ComparisonTable& table, const std::vector<CellMeasures>& cells) {
  std::vector<Remark> warnings;
  if (table.looks.size() > 1) warnings.push_back({.kind = RemarkKind::kLooks, .seeds = table.looks});
  if (are_copies(cells)) warnings.push_back({.kind = RemarkKind::kCopies});
  return warnings;
}

std::vector<Remark> measure_notes(const ComparisonTable& table, const std::vector<CellMeasures>& cells) {
  std::vector<Remark> notes;
  add_outlier_note(table, notes);
  add_clock_notes(cells, notes);
  add_turn_notes(cells, notes);
  add_jobs_note(cells, notes);
  return notes;
}

}  // namespace nanobench::reports

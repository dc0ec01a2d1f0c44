#include "reports/stats/turn_times.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "reports/stats/summary.h"

namespace nanobench::reports {
namespace {

/// The places of each turn's steps in `times`.
struct TurnSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::vector<TurnSpan> spans_of(const TurnTimes& run) {
  std::vector<TurnSpan> spans;
  const auto place = [&](std::int64_t step) {
    const auto found = std::lower_bound(run.times.begin(), run.times.end(), step,
                                        [](const StepTime& time, std::int64_t first) { return time.step < first; });
    return static_cast<std::size_t>(found - run.times.begin());
  };
  for (std::size_t i = 0; i < run.turns.size(); ++i) {
    const std::size_t end = i + 1 < run.turns.size() ? place(run.turns[i + 1]) : run.times.size();
    spans.push_back({place(run.turns[i]), end});
  }
  return spans;
}

/// Whether the span's first step is the turn's: the clock may start within a turn.
bool begins_cold(const TurnTimes& run, const TurnSpan& span, std::size_t turn) {
  return span.begin < span.end && run.times[span.begin].step == run.turns[turn];
}

/// Logarithm of the typical step of each turn; absent without a step that counts.
std::vector<std::optional<double>> typical_steps(const TurnTimes& run) {
  std::vector<std::optional<double>> typical;
  for (const TurnSpan& span : spans_of(run)) {
    std::vector<double> logs;
    for (std::size_t i = span.begin; i < span.end; ++i) {
      if (run.times[i].ms > 0.0 && std::isfinite(run.times[i].ms)) logs.push_back(std::log(run.times[i].ms));
    }
    typical.push_back(median(std::move(logs)));
  }
  return typical;
}

/// Turns of one cell that go through the same steps.
struct CellTurn {
  std::size_t cell = 0;
  std::size_t turns = 0;  ///< of the run
  std::size_t turn = 0;
  auto operator<=>(const CellTurn&) const = default;
};

/// Slowness of each round of each block, as a logarithm; 0 on the median over a block's rounds.
class Drift {
 public:
  Drift(std::span<const TurnTimes> runs, const std::vector<std::vector<std::optional<double>>>& typical) {
    std::map<CellTurn, std::vector<double>> of_cell;
    each_turn(runs, typical, [&](std::size_t, const CellTurn& turn, double value) { of_cell[turn].push_back(value); });
    std::map<CellTurn, double> usual;
    for (auto& [turn, values] : of_cell) {
      if (values.size() > 1) usual[turn] = *median(std::move(values));
    }
    std::map<std::string, std::map<std::size_t, std::vector<double>>> excess;
    each_turn(runs, typical, [&](std::size_t run, const CellTurn& turn, double value) {
      if (const auto found = usual.find(turn); found != usual.end())
        excess[runs[run].block][turn.turn].push_back(value - found->second);
    });
    for (auto& [block, rounds] : excess) fit(block, rounds);
  }

  double at(const std::string& block, std::size_t turn) const {
    const auto rounds = slowness_.find(block);
    if (rounds == slowness_.end()) return 0.0;
    const auto round = rounds->second.find(turn);
    return round == rounds->second.end() ? 0.0 : round->second;
  }

 private:
  template <class Visit>
  static void each_turn(std::span<const TurnTimes> runs, const std::vector<std::vector<std::optional<double>>>& typical,
                        Visit visit) {
    for (std::size_t run = 0; run < runs.size(); ++run) {
      for (std::size_t turn = 0; turn < typical[run].size(); ++turn) {
        if (typical[run][turn]) visit(run, CellTurn{runs[run].cell, runs[run].turns.size(), turn}, *typical[run][turn]);
      }
    }
  }

  void fit(const std::string& block, std::map<std::size_t, std::vector<double>>& rounds) {
    std::map<std::size_t, double> found;
    std::vector<double> all;
    for (auto& [round, values] : rounds) {
      if (values.size() < 2) continue;
      found[round] = *median(std::move(values));
      all.push_back(found[round]);
    }
    const std::optional<double> level = median(std::move(all));
    for (auto& [round, value] : found) value -= *level;
    slowness_[block] = std::move(found);
  }

  std::map<std::string, std::map<std::size_t, double>> slowness_;
};

}  // namespace

double warm_first_steps(TurnTimes& run) {
  double taken = 0.0;
  const std::vector<TurnSpan> spans = spans_of(run);
  for (std::size_t turn = 0; turn < spans.size(); ++turn) {
    const TurnSpan& span = spans[turn];
    if (!begins_cold(run, span, turn) || span.end - span.begin < 3) continue;
    std::vector<double> others;
    for (std::size_t i = span.begin + 1; i < span.end; ++i) others.push_back(run.times[i].ms);
    double& first = run.times[span.begin].ms;
    const double warm = std::min(first, *median(std::move(others)));
    taken += first - warm;
    first = warm;
  }
  return taken;
}

void remove_drift(std::span<TurnTimes> runs) {
  std::vector<std::vector<std::optional<double>>> typical;
  for (const TurnTimes& run : runs) typical.push_back(typical_steps(run));
  const Drift drift(runs, typical);
  for (TurnTimes& run : runs) {
    const std::vector<TurnSpan> spans = spans_of(run);
    for (std::size_t turn = 0; turn < spans.size(); ++turn) {
      const double factor = std::exp(-drift.at(run.block, turn));
      for (std::size_t i = spans[turn].begin; i < spans[turn].end; ++i) run.times[i].ms *= factor;
    }
  }
}

}  // namespace nanobench::reports

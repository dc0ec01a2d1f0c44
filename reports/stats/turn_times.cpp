#include "reports/stats/turn_times.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
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
    const std::size_t end = i + 1 < run.turns.size() ? place(run.turns[i + 1].first_step) : run.times.size();
    spans.push_back({place(run.turns[i].first_step), end});
  }
  return spans;
}

/// Whether the span's first step is the turn's: the clock may start within a turn.
bool begins_cold(const TurnTimes& run, const TurnSpan& span, std::size_t turn) {
  return span.begin < span.end && run.times[span.begin].step == run.turns[turn].first_step;
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

/// A turn with a typical step.
struct TimedTurn {
  std::size_t run = 0;
  CellTurn cell_turn;
  double place = 0.0;
  double typical = 0.0;        ///< logarithm of its typical step
  double usual = 0.0;          ///< that of its cell's same turns, where the machine is as slow as usual
  double slowness = 0.0;       ///< of the machine; 0 where nothing shows it
  bool is_comparable = false;  ///< another run of its cell has this turn
};

/// How slow the machine was in each turn of each block, as a logarithm; 0 on the median over a block's turns.
class Drift {
 public:
  explicit Drift(std::span<const TurnTimes> runs) : offsets_(runs.size(), 0.0) {
    for (std::size_t run = 0; run < runs.size(); ++run) add(run, runs[run]);
    find_comparable();
    std::vector<Block*> compared;
    for (auto& [unused, block] : blocks_) {
      if (!has_comparable_runs(block)) continue;
      std::stable_sort(block.begin(), block.end(),
                       [](const TimedTurn& a, const TimedTurn& b) { return a.place < b.place; });
      compared.push_back(&block);
    }
    for (int pass = 0; pass < kPasses; ++pass) {
      find_usual();
      find_offsets();
      for (Block* const block : compared) find_slowness(*block);
    }
    for (Block* const block : compared) keep_level(*block);
  }

  /// Calls visit(run, turn, slowness).
  template <class Visit>
  void each(Visit visit) const {
    for (const auto& [unused, block] : blocks_) {
      for (const TimedTurn& turn : block) visit(turn.run, turn.cell_turn.turn, turn.slowness);
    }
  }

 private:
  using Block = std::vector<TimedTurn>;
  static constexpr int kPasses = 4;  // twelve changed a simulated error by 3 % at most
  static constexpr std::ptrdiff_t kNeighbours = 2;

  void add(std::size_t run, const TurnTimes& times) {
    const std::vector<std::optional<double>> typical = typical_steps(times);
    for (std::size_t turn = 0; turn < typical.size(); ++turn) {
      if (!typical[turn]) continue;
      blocks_[times.block].push_back({.run = run,
                                      .cell_turn = {times.cell, typical.size(), turn},
                                      .place = times.turns[turn].place,
                                      .typical = *typical[turn]});
    }
  }

  template <class Visit>
  void each_turn(Visit visit) {
    for (auto& [unused, block] : blocks_) {
      for (TimedTurn& turn : block) visit(turn);
    }
  }

  void find_comparable() {
    std::map<CellTurn, int> runs;
    each_turn([&](const TimedTurn& turn) { ++runs[turn.cell_turn]; });
    each_turn([&](TimedTurn& turn) { turn.is_comparable = runs[turn.cell_turn] > 1; });
  }

  static bool has_comparable_runs(const Block& block) {
    std::set<std::size_t> runs;
    for (const TimedTurn& turn : block) {
      if (turn.is_comparable) runs.insert(turn.run);
    }
    return runs.size() > 1;
  }

  void find_usual() {
    std::map<CellTurn, std::vector<double>> of_cell;
    each_turn([&](const TimedTurn& turn) {
      of_cell[turn.cell_turn].push_back(turn.typical - turn.slowness - offsets_[turn.run]);
    });
    each_turn([&](TimedTurn& turn) { turn.usual = *mean_of(of_cell[turn.cell_turn]); });
  }

  void find_offsets() {
    std::vector<std::vector<double>> of_run(offsets_.size());
    each_turn([&](const TimedTurn& turn) {
      if (turn.is_comparable) of_run[turn.run].push_back(turn.typical - turn.slowness - turn.usual);
    });
    for (std::size_t run = 0; run < offsets_.size(); ++run)
      offsets_[run] = median(std::move(of_run[run])).value_or(0.0);
  }

  void find_slowness(Block& block) const {
    std::vector<double> places, excess;
    for (const TimedTurn& turn : block) {
      if (!turn.is_comparable) continue;
      places.push_back(turn.place);
      excess.push_back(turn.typical - turn.usual - offsets_[turn.run]);
    }
    const TimedTurn* before = nullptr;
    for (TimedTurn& turn : block) {
      if (before != nullptr && before->place == turn.place) {
        turn.slowness = before->slowness;
        continue;
      }
      before = &turn;
      const auto [first, last] = std::equal_range(places.begin(), places.end(), turn.place);
      auto begin = first - places.begin(), end = last - places.begin();
      if (end - begin < 2) {
        begin = std::max<std::ptrdiff_t>(begin - kNeighbours, 0);
        end = std::min(end + kNeighbours, std::ssize(places));
      }
      turn.slowness = *median(std::vector<double>(excess.begin() + begin, excess.begin() + end));
    }
  }

  static void keep_level(Block& block) {
    std::vector<double> all;
    for (const TimedTurn& turn : block) all.push_back(turn.slowness);
    const double level = *median(std::move(all));
    for (TimedTurn& turn : block) turn.slowness -= level;
  }

  std::vector<double> offsets_;  ///< of each run: what it is slower than its cell throughout, as a logarithm
  std::map<std::string, Block> blocks_;
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
  const Drift drift(runs);
  std::vector<std::vector<TurnSpan>> spans;
  for (const TurnTimes& run : runs) spans.push_back(spans_of(run));
  drift.each([&](std::size_t run, std::size_t turn, double slowness) {
    const TurnSpan span = spans[run][turn];
    for (std::size_t i = span.begin; i < span.end; ++i) runs[run].times[i].ms *= std::exp(-slowness);
  });
}

}  // namespace nanobench::reports

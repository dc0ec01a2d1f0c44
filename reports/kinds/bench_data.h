/// What `bench` measured, as values: the cells of a plan, their effects, what would decide those that are open, and
/// reasons to doubt them. Private to reports/kinds. Pure except for reading the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/comparison/comparison.h"
#include "reports/effects/effects.h"

namespace nanobench::reports {

/// What the plan's runs say about how it was measured.
struct BenchSettings {
  double margin = 0.01;
  std::vector<std::pair<std::string, std::string>> metrics = {};  ///< name, unit
  std::optional<double> turn_ms = {};                             ///< commands took turns of this time
};

struct BenchData {
  const results::PlanRecord& plan;
  std::vector<CellMeasures> cells = {};
  ComparisonTable table = {};
  BenchSettings settings = {};
  EffectRules rules = {};
  std::vector<EffectResult> effects = {};
  std::string reference = {};  ///< label
};

/// The plan must outlive the result.
BenchData bench_data(const results::Store& store, const results::PlanRecord& plan);

/// Two rounds have an interval, by a spread of one degree of freedom; nobody should read it, so it is left out.
std::vector<EffectResult> judged_commands(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                          const EffectRules& rules);

/// One number of each completed run, by round.
BySeed samples_of(const results::Store& store, const CellMeasures& cell, const std::string& metric);

/// What would decide an effect.
struct BenchRemedy {
  enum class Kind {
    kNone,          ///< it is decided
    kMissing,       ///< completed runs of `commands`
    kSharedRound,   ///< a round in which both are completed
    kFirstRounds,   ///< `rounds` of them; there are `have`
    kRounds,        ///< about `rounds` of them, if the effect is as measured
    kEqualRounds,   ///< about `rounds` of them, if there is no difference
    kQuietMachine,  ///< more than `rounds` of them with this noise
  };
  Kind kind = Kind::kNone;
  std::vector<std::string> commands = {};
  int rounds = 0;
  int have = 0;

  bool operator==(const BenchRemedy&) const = default;
};
BenchRemedy remedy_of(const BenchData& data, const EffectResult& effect);

/// A reason to doubt the times.
struct BenchWarning {
  enum class Kind {
    kFailed,         ///< `count` runs of `commands`[0] failed; `reason`
    kBrief,          ///< `commands` take little more than the start of a process
    kUnfinished,     ///< `count` planned runs were not made
    kColdStart,      ///< the first runs of `commands` took much longer than the others
    kOutliers,       ///< of `commands`, `counts` runs of each
    kOtherMachines,  ///< the runs come from several
    kIdleTurns,      ///< no command was paused in turns of `turn_ms`
    kClocksInTurns,  ///< what commands print includes their pauses
  };
  Kind kind = Kind::kFailed;
  std::vector<std::string> commands = {};
  std::vector<std::int64_t> counts = {};
  std::int64_t count = 0;
  std::string reason = {};
  double turn_ms = 0.0;

  bool operator==(const BenchWarning&) const = default;
};
std::vector<BenchWarning> bench_warnings(const results::Store& store, const BenchData& data);

/// Below it, starting a process is much of the time.
inline constexpr double kStartUpMs = 5.0;
/// Larger numbers of rounds are not reported.
inline constexpr int kMaxRoundsNamed = 1000;

}  // namespace nanobench::reports

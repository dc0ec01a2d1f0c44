/// What is said beside a comparison, as values; remark_text.h makes the sentences. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/protocol/run_choices.h"
#include "core/protocol/run_event.h"

namespace nanobench::reports {

/// The runs of a cell that ended in one way without evidence.
struct FailedRuns {
  std::vector<std::uint64_t> seeds;
  core::RunOutcome outcome = core::RunOutcome::kCrashed;
  std::string message;  ///< may be empty

  bool operator==(const FailedRuns&) const = default;
};

/// Where the target loss of a comparison is from.
struct TargetSource {
  enum class Kind {
    kNone,    ///< there is no target
    kOption,  ///< the command line
    kSuite,
    kSpeedrun,  ///< the speedrun's own
    kFirstRow,  ///< the mean final loss of `runs` runs of `row`
  };
  Kind kind = Kind::kNone;
  std::string row = {};
  int runs = 0;

  bool operator==(const TargetSource&) const = default;
};

/// A run that a remark names, with what is remarkable about it.
struct RemarkedRun {
  std::string row;
  std::uint64_t seed = 0;
  std::int64_t run_id = 0;
  bool is_time = false;  ///< of an outlier: its step time is one, else its loss
  double value = 0.0;    ///< of an outlier; else milliseconds
  double median = 0.0;   ///< of an outlier: of the runs that it is compared with
  int steps = 0;         ///< disturbed ones

  bool operator==(const RemarkedRun&) const = default;
};

/// What is said, with the members of Remark that belong to it.
enum class RemarkKind {
  // Warnings.
  kBelowFloor,  ///< the run `runs`[0] has a loss of `value`, below the data's `limit`; so do `count` more runs
  kDisturbed,   ///< `count` runs, the first of them `runs`[0], for the reason `names`[0]
  kHosts,       ///< `count` hosts
  kMachines,    ///< several kinds
  kGpus,        ///< `names`: GPUs and drivers
  kEngines,     ///< several versions
  kOtherCode,   ///< the times of `rows` come from other code than their references': kernels for `parts`
  kLooks,       ///< `seeds` at each look
  kCopies,      ///< the runs of each cell have one loss
  // Notes.
  kOtherGpus,       ///< the times of `rows`[0] and its reference `rows`[1] are of different GPUs
  kSkippedRow,      ///< `rows`[0] is compared with `rows`[1], because `rows`[2] has no completed run
  kNoSharedSeed,    ///< of `rows`[0] and `rows`[1]
  kOneRun,          ///< of a row: it has no spread
  kSpread,          ///< rows have `count` runs or more
  kSeatsBySeed,     ///< `count` seats, one for all runs of a seed
  kMixedSeats,      ///< `count` seats, several for the runs of a seed
  kOutliers,        ///< `runs`
  kRawClocks,       ///< the clocks are as measured
  kDisturbedSteps,  ///< of `runs`: they count as the other runs of the cell took them
  kWithoutTurns,    ///< `count` runs whose engine takes none
  kTurns,           ///< `count` runs in `blocks` blocks, whose first steps took `value` % more; `others` took none
  kBesideOthers,    ///< `count` runs, which have no times
};

/// One remark. Members that its kind does not name are as they are here.
struct Remark {
  RemarkKind kind = RemarkKind::kSpread;
  std::vector<std::string> rows = {};
  std::vector<std::string> names = {};
  std::vector<RemarkedRun> runs = {};
  std::vector<int> seeds = {};
  core::StepParts parts = {};
  std::int64_t count = 0;
  std::int64_t others = 0;
  std::int64_t blocks = 0;
  double value = 0.0;
  double limit = 0.0;

  bool operator==(const Remark&) const = default;
};

}  // namespace nanobench::reports

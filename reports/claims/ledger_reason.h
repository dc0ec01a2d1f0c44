/// What the number of a claim rests on, and why it gives no verdict, as values; ledger_text.h makes the sentences.
/// Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/protocol/run_choices.h"
#include "core/protocol/run_event.h"

namespace nanobench::reports {

/// What the number of a claim is from.
struct LedgerBasis {
  enum class Kind {
    kNone,
    kSeeds,          ///< `count` of them
    kRepetitions,    ///< `count` of them, of an operation in `runs` runs
    kCounted,        ///< by this program
    kConfiguration,  ///< read from it
    kPublished,      ///< read from published figures
  };
  Kind kind = Kind::kNone;
  std::int64_t count = 0;
  std::int64_t runs = 0;

  bool operator==(const LedgerBasis&) const = default;
};

/// Why a claim has no verdict.
struct LedgerReason {
  enum class Kind {
    // Not measurable here.
    kByClaim,         ///< `what`: the claim's own words
    kNotPublished,    ///< the number is in no published source
    kNothingToCount,  ///< in the configuration
    kCountOfZero,     ///< before: there is no ratio
    kNotCountable,    ///< `what`: the error's words
    kNotAtScale,      ///< at `scale`; `what`: the error's words
    kNeedsGpu,        ///< the number is a GPU's, and the runs were on a processor
    // Not measured.
    kUnmeasured,       ///< nothing has run
    kUnmeasuredOnGpu,  ///< the same, of a number that needs a GPU
    kNotRun,           ///< `cell` has not run yet
    kFailed,           ///< the runs of `cell` ended with `outcome`; `what`: their message
    kNotAsked,         ///< the runs were not asked for the metric
    kNotReported,      ///< no run reports the metric
    // Inconclusive.
    kOtherCode,        ///< times of different code: kernels for `parts`
    kNoSharedSeed,     ///< no seed has runs of both arms
    kTargetMissed,     ///< `before` and `after` runs do not reach the mean final loss of the earlier record
    kNothingDiverges,  ///< up to the factor `limit`
    kNothingSaved,     ///< the whole change saves no time
    kSavingUnproved,   ///< of the whole change
    kOneRun,           ///< it gives no interval
    kCrossesLimit,     ///< the interval, one of the rule
    kBetween,          ///< the number lies between support and contradiction
  };
  Kind kind = Kind::kByClaim;
  std::string what = {};
  std::string scale = {};
  std::string cell = {};
  core::RunOutcome outcome = core::RunOutcome::kCompleted;
  core::StepParts parts = {};
  std::ptrdiff_t before = 0;
  std::ptrdiff_t after = 0;
  double limit = 0.0;

  bool operator==(const LedgerReason&) const = default;
};

}  // namespace nanobench::reports

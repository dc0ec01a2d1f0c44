/// Verdicts that rest on a single run. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "reports/effects/effects.h"

namespace nanobench::reports {

/// The question that a verdict answers.
enum class Question { kLoss, kTime, kEqualLoss };

NB_ENUM_NAMES(Question, {Question::kLoss, "loss"}, {Question::kTime, "time"}, {Question::kEqualLoss, "equal_loss"});

/// A verdict that would be another one without one run.
struct Influence {
  std::string effect;
  Question question = Question::kLoss;
  std::string cell;  ///< of the run
  std::uint64_t seed = 0;
  std::int64_t run_id = 0;
  std::string with;     ///< the verdict (verdict.h)
  std::string without;  ///< the verdict without the run
};

/// Leaves out each completed run in turn and judges again. A verdict that is merely lost counts from four seeds on:
/// with three, every run is needed. A plan of looks, or of more than kMaxRunsForInfluence runs, is not examined.
std::vector<Influence> influential_runs(const results::PlanRecord& plan, std::vector<CellMeasures> cells,
                                        const EffectRules& rules, const std::vector<EffectResult>& effects);

inline constexpr std::size_t kMaxRunsForInfluence = 120;

}  // namespace nanobench::reports

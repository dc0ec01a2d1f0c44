#include "reports/effects/influence.h"

#include <algorithm>

namespace nanobench::reports {
namespace {

constexpr int kMinToLose = 4;  // seeds from which a lost verdict is news

/// The verdicts on one effect, by name; undecided ones are empty.
std::string verdict_on(const EffectResult& effect, Question question) {
  if (question == Question::kEqualLoss) {
    const bool is_open = !effect.verdict || *effect.verdict == FeatureVerdict::kInconclusive;
    return is_open ? "" : enum_name(*effect.verdict);
  }
  const Verdict verdict = question == Question::kLoss ? effect.loss.verdict : effect.log_time.verdict;
  return verdict == Verdict::kInconclusive || verdict == Verdict::kMissing ? "" : enum_name(verdict);
}

void compare_verdicts(const EffectResult& with, const EffectResult& without, const Influence& run,
                      std::vector<Influence>& list) {
  for (const Question question : {Question::kLoss, Question::kTime, Question::kEqualLoss}) {
    const std::string before = verdict_on(with, question), after = verdict_on(without, question);
    if (before == after || (after.empty() && with.loss.n < kMinToLose)) continue;
    Influence& found = list.emplace_back(run);
    found.effect = with.contrast.effect;
    found.question = question;
    found.with = before.empty() ? enum_name(Verdict::kInconclusive) : before;
    found.without = after.empty() ? enum_name(Verdict::kInconclusive) : after;
  }
}

}  // namespace

std::vector<Influence> influential_runs(const results::PlanRecord& plan, std::vector<CellMeasures> cells,
                                        const EffectRules& rules, const std::vector<EffectResult>& effects) {
  std::vector<Influence> list;
  std::size_t runs = 0;
  for (const CellMeasures& cell : cells) runs += cell.runs.size();
  if (plan.sequential || effects.empty() || runs > kMaxRunsForInfluence) return list;
  EffectRules without_one = rules;
  without_one.min_n = std::max(2, rules.min_n - 1);
  for (CellMeasures& cell : cells) {
    for (std::size_t i = 0; i < cell.runs.size(); ++i) {
      if (!cell.runs[i].run.is_completed()) continue;
      const auto place = cell.runs.begin() + static_cast<std::ptrdiff_t>(i);
      RunMeasure run = std::move(*place);
      cell.runs.erase(place);
      const std::vector<EffectResult> judged = analyse_effects(plan, cells, without_one);
      const Influence source{
          .effect = "", .cell = cell.cell.label, .seed = run.run.seed, .run_id = run.run.id, .with = "", .without = ""};
      for (std::size_t k = 0; k < effects.size(); ++k) compare_verdicts(effects[k], judged[k], source, list);
      cell.runs.insert(cell.runs.begin() + static_cast<std::ptrdiff_t>(i), std::move(run));
    }
  }
  return list;
}

}  // namespace nanobench::reports

#include "reports/kinds/comparison_headline.h"

#include <algorithm>
#include <set>

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

using Status = SeedsForVerdict::Status;

/// What the single changes came to.
struct Tally {
  int total = 0, keep = 0, drop = 0, barnacle = 0, open = 0;
  int too_many = 0, one_seed = 0, unknown = 0;
  int told = 0, least_more = 0, most_more = 0;
  std::set<std::string> reasons;  ///< of the unknown
  std::string name;               ///< of the last one

  void add(const EffectResult& effect, const std::optional<SeedsForVerdict>& needed) {
    ++total;
    name = effect.contrast.effect;
    switch (*effect.verdict) {
      case FeatureVerdict::kKeep: ++keep; return;
      case FeatureVerdict::kDrop: ++drop; return;
      case FeatureVerdict::kBarnacle: ++barnacle; return;
      case FeatureVerdict::kInconclusive: break;
    }
    ++open;
    const SeedsForVerdict answer = needed.value_or(SeedsForVerdict{});
    switch (answer.status) {
      case Status::kTold:
        least_more = told == 0 ? answer.more() : std::min(least_more, answer.more());
        most_more = std::max(most_more, answer.more());
        ++told;
        return;
      case Status::kTooMany: ++too_many; return;
      case Status::kOneSeed: ++one_seed; return;
      case Status::kUnknown: break;
    }
    ++unknown;
    reasons.insert(effect.reason.empty() ? "its runs do not tell" : effect.reason);
  }
};

Tally tally_of(const std::vector<EffectResult>& effects, const std::vector<std::optional<SeedsForVerdict>>& needed) {
  Tally tally;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    if (effects[i].verdict) tally.add(effects[i], i < needed.size() ? needed[i] : std::nullopt);
  }
  return tally;
}

std::string counted(int count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string more_seeds(const Tally& tally) {
  std::string text = "about " + std::to_string(tally.least_more);
  if (tally.most_more > tally.least_more) text += " to " + std::to_string(tally.most_more);
  return text + (tally.most_more == 1 ? " more seed" : " more seeds") + (tally.told > 1 ? " each" : "");
}

/// What those without a verdict need, a clause for each kind.
std::vector<std::string> open_clauses(const Tally& tally) {
  std::vector<std::string> clauses;
  if (tally.told > 0) clauses.push_back(counted(tally.told, "needs", "need") + " more runs: " + more_seeds(tally));
  if (tally.too_many > 0) {
    clauses.push_back(counted(tally.too_many, "needs", "need") + " more than " + std::to_string(kMostSeedsTold) +
                      " seeds: it cannot be told at this scale");
  }
  if (tally.one_seed > 0) {
    clauses.push_back(counted(tally.one_seed, "has", "have") + " one seed, which cannot tell: run at least " +
                      std::to_string(kLeastSeedsAdvised));
  }
  if (tally.unknown > 0) {
    std::string clause = std::to_string(tally.unknown) + " cannot be judged";
    if (tally.reasons.size() == 1) clause += ": " + *tally.reasons.begin();
    clauses.push_back(clause);
  }
  return clauses;
}

/// Of the only change: its name in place of a number.
std::string single_headline(const Tally& tally, const std::string& place) {
  if (tally.keep > 0) return tally.name + " pays on " + place + ".";
  if (tally.drop > 0) return tally.name + " costs time on " + place + ".";
  if (tally.barnacle > 0) return tally.name + " is a barnacle: proved to do neither good nor harm.";
  return tally.name + open_clauses(tally).front().substr(1) + ".";
}

std::string place_of(const std::vector<CellMeasures>& cells) {
  std::set<std::string> machines;
  for (const CellMeasures& cell : cells) {
    for (const RunMeasure& run : cell.runs) machines.insert(run.run.hardware + "\n" + run.run.place());
  }
  return machines.size() > 1 ? "these machines" : "this machine";
}

/// "2 of 14 runs failed and 3 are not done."
std::string gaps_of(const ComparisonTable& table) {
  int planned = 0, failed = 0, unfinished = 0;
  for (const Comparison& row : table.rows) {
    planned += row.planned;
    failed += row.failed;
    unfinished += row.unfinished;
  }
  if (failed + unfinished == 0) return "";
  const std::string all = " of " + counted(planned, "run", "runs");
  if (failed == 0) return std::to_string(unfinished) + all + (unfinished == 1 ? " is not done." : " are not done.");
  std::string text = std::to_string(failed) + all + " failed";
  if (unfinished > 0) text += ", " + std::to_string(unfinished) + (unfinished == 1 ? " is" : " are") + " not done";
  return text + ".";
}

/// "From record12 to record18 the step became 1.19 times as fast and val loss rose by 0.0155."
std::string course_of(const ComparisonTable& table) {
  if (table.rows.size() < 2) return "";
  const Comparison& first = table.rows.front();
  const Comparison& last = table.rows.back();
  std::string text;
  if (table.has_one_yardstick && first.step_ms.mean && last.step_ms.mean && *last.step_ms.mean > 0.0)
    text = "the step became " + format_fixed(*first.step_ms.mean / *last.step_ms.mean, 2) + " times as fast";
  if (first.val_loss.mean && last.val_loss.mean) {
    const double change = *last.val_loss.mean - *first.val_loss.mean;
    text += (text.empty() ? "" : " and ") + std::string("val loss ") + (change < 0.0 ? "fell" : "rose") + " by " +
            format_fixed(std::abs(change), 4);
  }
  return text.empty() ? "" : "From " + first.label + " to " + last.label + " " + text + ".";
}

std::string joined(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) {
    if (!sentence.empty()) text += (text.empty() ? "" : " ") + sentence;
  }
  return text;
}

}  // namespace

std::string effects_headline(const std::vector<EffectResult>& effects,
                             const std::vector<std::optional<SeedsForVerdict>>& needed, const std::string& place) {
  const Tally tally = tally_of(effects, needed);
  if (tally.total == 0) return "";
  if (tally.total == 1) return single_headline(tally, place);
  const std::string all = std::to_string(tally.total) + " changes ";
  if (tally.one_seed == tally.total) {
    return "No verdict on any of " + all + "yet: one seed has no spread to judge by; run at least " +
           std::to_string(kLeastSeedsAdvised) + ".";
  }
  std::string text =
      tally.keep == 0 ? "None of " + all + "is proved to pay on " + place
                      : std::to_string(tally.keep) + " of " + all + (tally.keep == 1 ? "pays on " : "pay on ") + place;
  std::vector<std::string> clauses;
  if (tally.drop > 0) clauses.push_back(counted(tally.drop, "costs", "cost") + " time");
  if (tally.barnacle > 0)
    clauses.push_back(counted(tally.barnacle, "is a barnacle", "are barnacles") + ", proved to do neither");
  for (std::string& clause : open_clauses(tally)) clauses.push_back(std::move(clause));
  for (const std::string& clause : clauses) text += "; " + clause;
  return text + ".";
}

std::string comparison_headline(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                const ComparisonTable& table, const std::vector<EffectResult>& effects,
                                const std::vector<std::optional<SeedsForVerdict>>& needed) {
  std::string answer = effects_headline(effects, needed, place_of(cells));
  int completed = 0;
  for (const Comparison& row : table.rows) completed += row.completed;
  if (completed == 0) answer = "Nothing is measured yet.";
  if (answer.empty()) {
    answer = plan.design == results::Design::kAA ? "The cells differ by nothing but noise, so no change is judged."
                                                 : "No single change is judged here.";
  }
  return joined({answer, plan.design == results::Design::kHistory ? course_of(table) : "", gaps_of(table)});
}

}  // namespace nanobench::reports

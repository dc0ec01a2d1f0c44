#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "core/base/text.h"
#include "reports/kinds/effect_tally.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {

std::string nats_text(double nats) {
  return format_significant(nats, 2) + " nats";
}

std::string ratio_text(double log_ratio) {
  return log_ratio > std::log(2.0) ? "a factor of " + format_significant(std::exp(log_ratio), 2)
                                   : format_significant_percent(std::expm1(log_ratio), 2);
}

namespace {

/// An upper end above this many times the lower one says nothing.
constexpr int kWidestRange = 20;

std::string more_seeds(const EffectTally& tally) {
  const std::string each = tally.known > 1 ? " each" : "";
  if (!tally.max_more || *tally.max_more > kWidestRange * tally.min_more)
    return "at least " + counted(tally.min_more, "more seed") + each;
  const std::string from = *tally.max_more > tally.min_more ? std::to_string(tally.min_more) + " to " : "";
  return "about " + from + counted(*tally.max_more, "more seed") + each;
}

/// What the undecided changes need, one clause per kind.
std::vector<std::string> open_clauses(const EffectTally& tally) {
  // A single change is named; several are counted.
  const auto subject = [&](int count, const char* one, const char* many) {
    return tally.total == 1 ? tally.name + " " + one : counted(count, one, many);
  };
  std::vector<std::string> clauses;
  if (tally.known > 0) clauses.push_back(subject(tally.known, "needs", "need") + " more runs: " + more_seeds(tally));
  if (tally.within_noise > 0)
    clauses.push_back(subject(tally.within_noise, "is", "are") + " within noise, so no number of seeds is promised");
  if (tally.too_many > 0) {
    clauses.push_back(subject(tally.too_many, "needs", "need") + " more than " + std::to_string(kMaxSeedsNamed) +
                      " seeds, so this scale cannot decide");
  }
  if (tally.one_seed > 0) {
    clauses.push_back(subject(tally.one_seed, "has", "have") + " one seed, which gives no spread: run at least " +
                      std::to_string(kMinSeedsAdvised));
  }
  if (tally.unknown > 0) {
    std::string clause = subject(tally.unknown, "cannot", "cannot") + " be judged";
    if (tally.reasons.size() == 1) clause += ": " + *tally.reasons.begin();
    clauses.push_back(clause);
  }
  return clauses;
}

std::string single_headline(const EffectTally& tally, const std::string& place) {
  if (!tally.kept.empty()) return tally.name + " pays on " + place + ".";
  if (!tally.dropped.empty()) return tally.name + " costs time on " + place + ".";
  if (!tally.barnacles.empty()) return tally.name + " is a barnacle: it is proved to do neither good nor harm.";
  return open_clauses(tally).front() + ".";
}

bool has_results(const ComparisonTable& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [](const Comparison& row) { return row.completed > 0; });
}

/// One metric of the single changes.
struct MetricTally {
  std::vector<std::string> better, worse, unchanged, indicated;  ///< names
  std::vector<std::string> unstable;                             ///< open, and left out of `open` and `bound`
  int open = 0;        ///< the others that have an interval, without `indicated`
  double bound = 0.0;  ///< the largest |effect| that their intervals allow

  void add(const std::string& name, const MeasuredEffect& effect, double alpha) {
    switch (effect.verdict) {
      case Verdict::kImproved: better.push_back(name); return;
      case Verdict::kRegressed: worse.push_back(name); return;
      case Verdict::kUnchanged: unchanged.push_back(name); return;
      case Verdict::kNotWorse:
      case Verdict::kInconclusive:
      case Verdict::kMissing: break;
    }
    if (effect.n == 2 && effect.adjusted_p && *effect.adjusted_p < alpha) return indicated.push_back(name);
    if (!effect.interval) return;
    if (effect.is_outlying) {
      unstable.push_back(name);
      return;
    }
    ++open;
    bound = std::max({bound, std::abs(effect.interval->low), std::abs(effect.interval->high)});
  }
};

constexpr std::size_t kFewNames = 3;
constexpr std::size_t kManyNames = 20;  // where names are the answer

/// "record13 and record14"; more names than `most`: "4 changes".
std::string named(const std::vector<std::string>& names, std::size_t most = kFewNames) {
  if (names.size() > most) return counted(static_cast<std::int64_t>(names.size()), "change");
  return listed(names);
}

/// "better with a and b", "each other change is worth at most 0.0031 nats": what is proved, then what is not.
std::vector<std::string> metric_clauses(const MetricWords& words, const MetricTally& tally, std::size_t most_names) {
  std::vector<std::string> clauses;
  if (!tally.better.empty()) clauses.push_back(std::string(words.better) + " with " + named(tally.better, most_names));
  if (!tally.worse.empty()) clauses.push_back(std::string(words.worse) + " with " + named(tally.worse, most_names));
  if (!tally.unchanged.empty()) clauses.push_back("unchanged by " + named(tally.unchanged, most_names));
  if (!tally.indicated.empty()) clauses.push_back("a change is indicated by " + named(tally.indicated));
  if (tally.open > 0 && !(tally.bound < words.max_bound)) {
    if (clauses.empty()) clauses.emplace_back("nothing is proved, and nothing is bounded");
  } else if (tally.open > 0) {
    const std::string limit = "at most " + words.size(tally.bound);
    clauses.push_back(clauses.empty() ? "nothing is proved; each change is worth " + limit
                                      : "each other change is worth " + limit);
  }
  if (!tally.unstable.empty())
    clauses.push_back("nothing is known of " + named(tally.unstable) +
                      ", whose runs scatter far more than the others'");
  return clauses;
}

/// "Val loss: better with a and b; each other change is worth at most 0.0031 nats." Empty without any statement.
std::string metric_sentence(const MetricWords& words, const MetricTally& tally, std::size_t most_names) {
  const std::vector<std::string> clauses = metric_clauses(words, tally, most_names);
  return clauses.empty() ? "" : words.subject + std::string(": ") + joined(clauses, "; ") + ".";
}

struct MetricTallies {
  MetricTally loss, time;
};

MetricTallies metric_tallies(const std::vector<EffectResult>& effects) {
  MetricTallies tallies;
  const double alpha = EffectRules{}.alpha;
  for (const EffectResult& effect : effects) {
    if (!effect.verdict) continue;
    tallies.loss.add(effect.contrast.effect, effect.loss, alpha);
    if (effect.other_code.empty()) tallies.time.add(effect.contrast.effect, effect.log_time, alpha);
  }
  return tallies;
}

/// What is proved of the losses and of the times alone.
std::string metrics_headline(const std::vector<EffectResult>& effects, std::size_t most_names) {
  const MetricTallies tallies = metric_tallies(effects);
  std::vector<std::string> sentences = {metric_sentence(kLossWords, tallies.loss, most_names),
                                        metric_sentence(kTimeWords, tallies.time, most_names)};
  std::erase(sentences, "");
  return joined(sentences, " ");
}

std::string place_of(const std::vector<CellMeasures>& cells) {
  std::set<std::string> machines;
  for (const CellMeasures& cell : cells) {
    for (const RunMeasure& run : cell.runs) machines.insert(run.run.hardware + "\n" + run.run.place());
  }
  return machines.size() > 1 ? "these machines" : "this machine";
}

/// "2 of 14 runs failed, 3 are not done."
std::string gaps_of(const ComparisonTable& table) {
  int planned = 0, failed = 0, unfinished = 0;
  for (const Comparison& row : table.rows) {
    planned += row.planned;
    failed += row.failed;
    unfinished += row.unfinished;
  }
  const std::string all = " of " + counted(planned, "run");
  std::vector<std::string> parts;
  if (failed > 0) parts.push_back(std::to_string(failed) + all + " failed");
  if (unfinished > 0)
    parts.push_back(std::to_string(unfinished) + (failed > 0 ? "" : all) + (unfinished == 1 ? " is" : " are") +
                    " not done");
  return parts.empty() ? "" : joined(parts) + ".";
}

/// "From record12 to record18 the step became 1.19 times as fast and val loss rose by 0.0155."
std::string course_of(const ComparisonTable& table) {
  if (table.rows.size() < 2) return "";
  const Comparison& first = table.rows.front();
  const Comparison& last = table.rows.back();
  std::string text;
  if (table.has_one_yardstick && first.step_ms.mean && last.step_ms.mean && *last.step_ms.mean > 0.0)
    text = "the step became " + format_significant(*first.step_ms.mean / *last.step_ms.mean, 3) + " times as fast";
  if (first.val_loss.mean && last.val_loss.mean) {
    const double change = *last.val_loss.mean - *first.val_loss.mean;
    text += (text.empty() ? "" : " and ") + std::string("val loss ") + (change < 0.0 ? "fell" : "rose") + " by " +
            format_fixed(std::abs(change), 4);
  }
  return text.empty() ? "" : "From " + first.label + " to " + last.label + " " + text + ".";
}

/// "Of 54 techniques 3 pay on this machine: a, b and c; 1 does nothing within the margin: d; 50 are undecided: ..."
std::string list_headline(const EffectTally& tally, const std::string& place) {
  std::vector<std::string> clauses;
  const auto add = [&](const std::vector<std::string>& names, const std::string& one, const std::string& many) {
    if (names.empty()) return;
    clauses.push_back(counted(static_cast<std::int64_t>(names.size()), one, many) +
                      (names.size() > kManyNames ? "" : ": " + named(names, kManyNames)));
  };
  add(tally.kept, "pays on " + place, "pay on " + place);
  add(tally.barnacles, "does nothing within the margin", "do nothing within the margin");
  add(tally.dropped, "costs time", "cost time");
  if (tally.kept.empty()) clauses.insert(clauses.begin(), "none is proved to pay on " + place);
  for (std::string& clause : open_clauses(tally)) clauses.push_back(std::move(clause));
  return "Of " + std::to_string(tally.total) + " techniques " + joined(clauses, "; ") + ".";
}

}  // namespace

std::string effects_headline(const std::vector<EffectResult>& effects,
                             const std::vector<std::optional<SeedsForVerdict>>& needed, const std::string& place,
                             bool is_list) {
  const EffectTally tally = tally_of(effects, needed);
  if (tally.total == 0) return "";
  if (tally.total == 1) return single_headline(tally, place);
  const std::string all = std::to_string(tally.total) + " changes";
  if (tally.one_seed == tally.total) {
    return "No verdict on any of the " + all + " yet: one seed gives no spread to judge by. Run at least " +
           std::to_string(kMinSeedsAdvised) + " seeds.";
  }
  if (is_list) return list_headline(tally, place);
  const auto keep = static_cast<std::int64_t>(tally.kept.size());
  const auto drop = static_cast<std::int64_t>(tally.dropped.size());
  const auto barnacle = static_cast<std::int64_t>(tally.barnacles.size());
  std::vector<std::string> clauses = {keep == 0 ? "None of " + all + " is proved to pay on " + place
                                                : std::to_string(keep) + " of " + all +
                                                      (keep == 1 ? " pays on " : " pay on ") + place};
  if (drop > 0) clauses.push_back(counted(drop, "costs", "cost") + " time");
  if (barnacle > 0) clauses.push_back(counted(barnacle, "is a barnacle", "are barnacles") + ", proved to do neither");
  for (std::string& clause : open_clauses(tally)) clauses.push_back(std::move(clause));
  return joined(clauses, "; ") + ".";
}

namespace {

std::string plan_answer(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                        const ComparisonTable& table, const std::vector<EffectResult>& effects,
                        const std::vector<std::optional<SeedsForVerdict>>& needed) {
  if (!has_results(table)) return "Nothing has been measured yet.";
  const bool is_list = plan.design == results::Design::kLeaveOneOut;
  const std::string answer = effects_headline(effects, needed, place_of(cells), is_list);
  if (!answer.empty()) return answer;
  return plan.design == results::Design::kAA ? "The cells are identical but for noise, so no change is judged."
                                             : "This design judges no single change.";
}

}  // namespace

std::string comparison_headline(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                const ComparisonTable& table, const std::vector<EffectResult>& effects,
                                const std::vector<std::optional<SeedsForVerdict>>& needed) {
  const bool is_list = plan.design == results::Design::kLeaveOneOut;
  std::vector<std::string> sentences = {
      plan_answer(plan, cells, table, effects, needed),
      has_results(table) ? metrics_headline(effects, is_list ? kManyNames : kFewNames) : "",
      plan.design == results::Design::kHistory ? course_of(table) : "", gaps_of(table)};
  std::erase(sentences, "");
  return joined(sentences, " ");
}

std::string comparison_lead(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                            const ComparisonTable& table, const std::vector<EffectResult>& effects,
                            const std::vector<std::optional<SeedsForVerdict>>& needed) {
  const std::string gaps = gaps_of(table);
  return plan_answer(plan, cells, table, effects, needed) + (gaps.empty() ? "" : " " + gaps);
}

namespace {

/// "each other change is worth at most 3 %" as a sentence of its own.
std::string sentence_of(std::string clause) {
  clause.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(clause.front())));
  return clause + ".";
}

Card metric_card(const std::string& key, const MetricWords& words, const MetricTally& tally) {
  Card card{.key = key, .title = words.subject, .text = "", .verdict = ""};
  std::vector<std::string> counts;
  const auto add = [&](std::size_t count, const char* word) {
    if (count > 0) counts.push_back(std::to_string(count) + " " + word);
  };
  add(tally.better.size(), words.better);
  add(tally.worse.size(), words.worse);
  add(tally.unchanged.size(), "the same");
  add(static_cast<std::size_t>(tally.open) + tally.unstable.size(), "open");
  card.verdict = joined(counts);
  for (std::string& clause : metric_clauses(words, tally, kManyNames))
    card.lines.push_back(sentence_of(std::move(clause)));
  return card;
}

}  // namespace

std::vector<Card> metric_cards(const std::vector<EffectResult>& effects) {
  const MetricTallies tallies = metric_tallies(effects);
  std::vector<Card> cards = {metric_card("val_loss", kLossWords, tallies.loss),
                             metric_card("training_time", kTimeWords, tallies.time)};
  std::erase_if(cards, [](const Card& card) { return card.lines.empty(); });
  return cards;
}

std::string course_text(const ComparisonTable& table) {
  return course_of(table);
}

}  // namespace nanobench::reports

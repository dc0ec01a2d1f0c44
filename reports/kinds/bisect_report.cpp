#include <cmath>

#include "core/base/text.h"
#include "reports/gate/bisection.h"
#include "reports/gate/gate_text.h"
#include "reports/kinds/kinds.h"

namespace nanobench::reports {
namespace {

/// "1a2b3c4d5e "A wider head""
std::string commit_text(const Commit& commit) {
  return commit.short_id() + (commit.subject.empty() ? "" : " \"" + commit.subject + "\"");
}

std::string interval_text(const GateCheck& check) {
  if (!check.best || !check.bound) return "";
  return "[" + change_text(check, *check.best) + ", " + change_text(check, *check.bound) + "]";
}

/// "loss of it +0.01000 [+0.00912, +0.01088]"; without a change, as of a loss that diverged, the reason.
std::string effect_text(const GateCheck& check) {
  const std::string name = check.name + " of " + check.cell;
  if (!check.change || !std::isfinite(*check.change)) return name + ": " + reason_text(check);
  const std::string interval = interval_text(check);
  return name + " " + change_text(check, *check.change) + (interval.empty() ? "" : " " + interval);
}

core::OrderedJson commit_json(const Commit& commit) {
  return {{"commit", commit.id}, {"subject", commit.subject}, {"author", commit.author}, {"date", commit.date}};
}

TableCell commit_cell(const Commit& commit) {
  return value_cell(commit_text(commit), commit_json(commit),
                    commit.author.empty() ? "" : "(" + commit.author + ", " + commit.date + ")");
}

TableCell effect_cell(const BisectStep& step) {
  if (!step.check || !step.check->change || !std::isfinite(*step.check->change)) return missing_cell();
  const GateCheck& check = *step.check;
  return value_cell(
      change_text(check, *check.change),
      {{"value", *check.change}, {"low", json_of(check.best)}, {"high", json_of(check.bound)}, {"level", step.level}},
      interval_text(check));
}

std::string error_text(const BisectResult& result) {
  return format_percent(wrong_answer_bound(result.alpha_of_test, result.decisions()), 1);
}

std::string headline_of(const BisectResult& result) {
  const std::string range = result.good.short_id() + ".." + result.bad.short_id();
  switch (result.answer) {
    case BisectAnswer::kFound: {
      std::string text = "The first bad commit is " + commit_text(result.suspects.front());
      const BisectStep* const step = result.step_of(result.suspects.front());
      if (step != nullptr && step->check) text += ": " + effect_text(*step->check) + " against the good revision";
      return text + ".";
    }
    case BisectAnswer::kSeveral:
      return "The first bad commit is one of " + counted(static_cast<std::int64_t>(result.suspects.size()), "commit") +
             " up to " + commit_text(result.suspects.back()) + ", because the others of them could not be judged.";
    case BisectAnswer::kNoDifference:
      return "There is no regression in " + range +
             ": the bad revision is not worse than the good one by more than "
             "the margins.";
    case BisectAnswer::kUndecided:
      return "It stays open whether the bad revision is worse than the good one: " + result.steps.front().reason +
             ". More seeds (--max-seeds) or wider margins decide it.";
    case BisectAnswer::kIncomplete: break;
  }
  return "Nothing can be compared: " + result.steps.front().reason + ".";
}

std::vector<Fact> facts_of(const BisectResult& result) {
  FactList list;
  list.add("answer", "answer", enum_name(result.answer));
  list.add("exit_code", "exit code", count_cell(exit_code(result.answer)));
  if (result.answer == BisectAnswer::kFound) {
    const Commit& first = result.suspects.front();
    list.add("first_bad", "first bad commit", commit_cell(first));
    if (const BisectStep* const step = result.step_of(first)) list.add("effect", "its effect", effect_cell(*step));
  }
  list.add("suite", "suite", result.suite);
  list.add("good", "good", commit_cell(result.good));
  list.add("bad", "bad", commit_cell(result.bad));
  list.add("commits", "commits",
           value_cell(std::to_string(result.all_commits), result.all_commits,
                      "(" + std::to_string(result.commits.size()) + " of them change the source)"));
  list.add("tests", "tests", count_cell(static_cast<std::int64_t>(result.steps.size())));
  list.add("alpha_of_test", "alpha of a test", significant_cell(result.alpha_of_test, 2));
  if (result.decisions() == 0) return std::move(list.facts);
  list.add("wrong_answer", "wrong answers",
           value_cell("at most " + error_text(result), wrong_answer_bound(result.alpha_of_test, result.decisions()),
                      "(of such bisections, if the harm of the first bad commit stays and is at least a margin)"));
  return std::move(list.facts);
}

Table steps_table(const BisectResult& result) {
  Table table{.id = "steps",
              .title = "",
              .columns = {number_column("step", "step"), text_column("commit", "commit"),
                          text_column("verdict", "verdict"), number_column("seeds", "seeds", 1),
                          text_column("metric", "metric", 2), number_column("change", "against good"),
                          wide_column("subject", "subject", 3), wide_column("reason", "why", 4)}};
  for (const BisectStep& step : result.steps) {
    const std::string metric = step.check ? step.check->name + " of " + step.check->cell : "";
    table.rows.push_back({count_cell(static_cast<std::int64_t>(table.rows.size()) + 1),
                          value_cell(step.commit.short_id(), step.commit.id), text_cell(enum_name(step.verdict)),
                          count_cell(step.seeds), text_or_missing(metric), effect_cell(step),
                          text_cell(step.commit.subject), text_cell(step.reason)});
  }
  return table;
}

/// The commits that are left, where it is not one.
Table suspects_table(const BisectResult& result) {
  Table table{.id = "suspects",
              .title = "The first bad commit is one of these, the oldest first",
              .columns = {text_column("commit", "commit"), text_column("verdict", "verdict"),
                          text_column("author", "author", 1), text_column("date", "date", 2),
                          wide_column("subject", "subject")}};
  for (const Commit& commit : result.suspects) {
    const BisectStep* const step = result.step_of(commit);
    const CommitVerdict verdict = step == nullptr ? CommitVerdict::kUnknown : step->verdict;
    table.rows.push_back({value_cell(commit.short_id(), commit.id), text_cell(enum_name(verdict)),
                          text_cell(commit.author), text_cell(commit.date), text_cell(commit.subject)});
  }
  return table;
}

}  // namespace

std::string bisect_step_text(const BisectStep& step) {
  const std::string text = enum_name(step.verdict);
  if (step.verdict == CommitVerdict::kSkipped || !step.check) return text + ": " + step.reason;
  return text + ", " + counted(step.seeds, "seed") + ": " + effect_text(*step.check);
}

Document bisect_report(const BisectResult& result) {
  Document document{.kind = "bisect", .title = "Bisection of " + result.suite};
  document.headline = headline_of(result);
  document.sections.emplace_back().tables.push_back(steps_table(result));
  if (result.answer == BisectAnswer::kSeveral) document.sections.back().tables.push_back(suspects_table(result));
  document.sections.emplace_back().facts = facts_of(result);
  document.notes = result.notes;
  document.reading.emplace_back(
      "Each commit is compared with the good revision, seed by seed: bad is proved worse, good is proved not to be "
      "worse by more than the margins. Against good: the change of the metric that decided, above 0 is worse. Its "
      "interval holds whichever look decided, at the level of one test.");
  document.reading.emplace_back(
      "Wrong answers: each decision is wrong with a chance of at most the alpha of a test, and the bound adds them up. "
      "Harm that is smaller than a margin may be found or not, and of several harmful commits one is named.");
  return document;
}

}  // namespace nanobench::reports

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/base/text.h"
#include "reports/gate/gate_text.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {
namespace {

std::string value_text(const GateCheck& check, double value) {
  switch (check.metric) {
    case GateMetric::kLoss: return format_fixed(value, 4);
    case GateMetric::kTime: return format_significant(value, 4) + " ms";
    case GateMetric::kMemory:
    case GateMetric::kTrainingMemory: return format_bytes(value);
    case GateMetric::kCost: break;
  }
  return format_significant(value, 6);
}

TableCell side_cell(const GateCheck& check, const Summary& summary) {
  if (!summary.mean) return missing_cell();
  TableCell cell = summary_cell(summary, [&](double value) { return value_text(check, value); });
  if (check.metric == GateMetric::kCost) cell.detail.clear();
  if (check.metric == GateMetric::kTime && summary.sd) cell.detail = "±" + format_significant(*summary.sd, 2) + " ms";
  return cell;
}

TableCell change_cell(const GateCheck& check, const std::optional<double>& change) {
  return number_cell(change, [&](double value) { return change_text(check, value); });
}

TableCell n_cell(const GateCheck& check) {
  const int smaller = std::min(check.baseline.n, check.candidate.n);
  return count_cell(check.pairs > 0 ? check.pairs : smaller);
}

std::string arm_text(const Arm& arm) {
  std::string text = arm.name + ": " + arm.engine;
  if (!arm.revision.empty()) text += ", revision " + arm.revision;
  if (!arm.measured_at.empty()) text += ", from " + arm.measured_at;
  return text;
}

std::vector<Fact> facts_of(const GateResult& result) {
  FactList list;
  list.add("answer", "answer", enum_name(result.answer));
  list.add("exit_code", "exit code", count_cell(exit_code(result.answer)));
  list.add("suite", "suite", result.candidate.suite + " (" + result.candidate.scale + ")");
  list.add("baseline", "baseline", arm_text(result.baseline));
  list.add("candidate", "candidate", arm_text(result.candidate));
  list.add("machine", "machine",
           result.candidate.hardware + ", " + counted(result.candidate.threads, "thread") +
               (result.candidate.gpu.empty() ? "" : ", " + result.candidate.gpu));
  list.add("order", "order",
           result.is_interleaved ? "both sides in turn on this machine" : "the baseline was measured before");
  list.add("false_alarms", "false alarms",
           value_cell("at most " + format_percent(result.false_alarms, 1), result.false_alarms,
                      "of gates over an unchanged candidate report a regression (Holm over " +
                          counted(result.tests, "test") + ")"));
  TableCell chance = chance_cell(result.pass_chance);
  chance.detail = result.pass_chance
                      ? "of gates over an unchanged candidate pass, with this spread and n, if checks are independent"
                      : "(unknown: a check has no spread to compute it from)";
  list.add("pass_chance", "chance to pass", std::move(chance));
  if (result.forecast && result.forecast->chance) {
    TableCell before = chance_cell(result.forecast->chance);
    before.detail = "before the runs, by " + result.forecast->source;
    list.add("forecast_chance", "expected before", std::move(before));
    list.add("seeds_for_aim", "seeds for " + format_percent(PassForecast::kAimedChance, 0),
             result.forecast->seeds ? count_cell(*result.forecast->seeds) : missing_cell());
  }
  return std::move(list.facts);
}

constexpr const char* kPReading =
    "p belongs to the test that gave the verdict. Unchanged, equal: within the margin on both sides. Improved, "
    "different: two-sided. Regressed, worse: one-sided. Holm adjusts each of these three over all checks. Not worse: "
    "below the margin, so it may be better; an inconclusive check failed this test. Paired losses and times share "
    "their "
    "spread over the cells of the gate.";

}  // namespace

Table checks_table(const GateResult& result) {
  Table table{.id = "checks",
              .title = "",
              .columns = {text_column("cell", "cell"), text_column("metric", "metric"),
                          text_column("verdict", "verdict"), text_column("gates", "gates", 5),
                          number_column("baseline", "baseline", 2), number_column("candidate", "candidate", 2),
                          number_column("change", "change"), number_column("bound", "at worst", 1),
                          number_column("margin", "margin", 1), number_column("n", "n", 1), number_column("p", "p", 4),
                          text_column("test", "p of", 4), text_column("spread", "spread", 6),
                          number_column("pass_power", "power", 4), wide_column("reason", "why", 3)}};
  for (const GateCheck& check : result.checks) {
    const std::string verdict = enum_name(check.verdict);
    table.rows.push_back({text_cell(check.cell), text_cell(check.name),
                          value_cell(verdict, verdict, check.gates ? "" : "(does not gate)"), yes_no_cell(check.gates),
                          side_cell(check, check.baseline), side_cell(check, check.candidate),
                          change_cell(check, check.change), change_cell(check, check.bound),
                          change_cell(check, check.margin), n_cell(check), p_cell(check.p),
                          text_cell(enum_name(check.test)), text_cell(enum_name(check.spread)),
                          chance_cell(check.pass_power), text_cell(reason_text(check))});
  }
  return table;
}

namespace {

/// "0.0010 nats of loss"; empty for a count, whose margin is 0.
std::string margin_text(const GateCheck& check) {
  switch (check.metric) {
    case GateMetric::kLoss: return format_significant(check.margin, 2) + " nats of loss";
    case GateMetric::kTime: return format_percent(check.margin, 1) + " of " + check.name;
    case GateMetric::kMemory: return format_percent(check.margin, 1) + " of peak memory";
    case GateMetric::kTrainingMemory: return format_percent(check.margin, 1) + " of training memory";
    case GateMetric::kCost: break;
  }
  return "";
}

/// The margins of the gating checks, each metric once: " (0.0010 nats of loss, 0.5 % of training clock)".
std::string margins_text(const GateResult& result) {
  std::vector<std::string> texts;
  for (const GateCheck& check : result.checks) {
    const std::string text = check.gates && check.margin > 0.0 ? margin_text(check) : "";
    if (!text.empty() && std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  return texts.empty() ? "" : " (" + joined(texts) + ")";
}

/// " Worst: step time of record12, +12.3 %."
std::string worst_text(const GateResult& result) {
  const GateCheck* worst = nullptr;
  for (const GateCheck& check : result.checks) {
    if (!check.gates || check.verdict != Verdict::kRegressed || !check.change || !std::isfinite(*check.change))
      continue;
    // In units of its own margin; a count without a margin exceeds any.
    const auto harm = [](const GateCheck& one) {
      return one.margin > 0.0 ? *one.change / one.margin : std::numeric_limits<double>::max();
    };
    if (worst == nullptr || harm(check) > harm(*worst)) worst = &check;
  }
  if (worst == nullptr) return "";
  return " Worst: " + worst->name + " of " + worst->cell + ", " + change_text(*worst, *worst->change) + ".";
}

}  // namespace

std::string gate_headline(const GateResult& result) {
  int checks = 0;
  std::map<Verdict, int> counts;
  for (const GateCheck& check : result.checks) {
    if (!check.gates) continue;
    ++checks;
    ++counts[check.verdict];
  }
  const auto of_all = [&](Verdict verdict) {
    return std::to_string(counts[verdict]) + " of " + counted(checks, "check");
  };
  switch (result.answer) {
    case GateAnswer::kPass:
      return "Pass: no metric is worse by more than its margin" + margins_text(result) + " in " +
             counted(checks, "check") + ".";
    case GateAnswer::kRegression: return "Regression in " + of_all(Verdict::kRegressed) + "." + worst_text(result);
    case GateAnswer::kInconclusive: return "Inconclusive: " + of_all(Verdict::kInconclusive) + " need more runs.";
    case GateAnswer::kIncomplete:
      if (checks == 0) return "Incomplete: nothing that gates was measured, so there is no check.";
      return "Incomplete: a cell failed or is missing" +
             (counts[Verdict::kMissing] > 0 ? " (" + of_all(Verdict::kMissing) + " without evidence)" : "") + ".";
    case GateAnswer::kNotComparable: break;
  }
  return "Not comparable with the baseline in " + of_all(Verdict::kMissing) + ".";
}

namespace {

void add_median_note(Document& document, const GateResult& result) {
  const bool has_medians = std::any_of(result.checks.begin(), result.checks.end(),
                                       [](const GateCheck& check) { return check.is_by_median; });
  if (!has_medians) return;
  document.notes.emplace_back(
      "Times are judged by median step times, because a side has no training clocks. A median misses a slowdown "
      "of the other steps; save the baseline again.");
}

}  // namespace

Document gate_report(const GateResult& result) {
  Document document{.kind = "gate", .title = "Gate: " + enum_name(result.answer)};
  document.headline = gate_headline(result);
  document.sections.emplace_back().tables.push_back(checks_table(result));
  document.sections.emplace_back().facts = facts_of(result);
  for (const GateProblem& problem : result.problems) document.warnings.push_back(text_of(problem));
  if (result.forecast && result.answer == GateAnswer::kInconclusive) {
    if (const std::string warning = forecast_warning(*result.forecast); !warning.empty())
      document.warnings.push_back(warning);
  }
  document.notes = result.notes;
  add_median_note(document, result);
  document.reading.emplace_back(
      "change: candidate against baseline, above 0 is worse. At worst: the one-sided bound at " +
      format_percent(1.0 - result.policy.alpha, 0) + "; a check passes when it is below the margin. " + kPReading +
      " Power: the chance that an unchanged candidate passes this check with these runs, if their spread is the true "
      "one.");
  if (!result.is_interleaved) {
    document.notes.emplace_back(
        "The baseline's times were measured earlier, so machine drift looks like a change. --baseline-engine runs both "
        "sides in turn.");
  }
  return document;
}

namespace {

constexpr std::size_t kMaxPerVerdict = 3;  // per verdict; the table has all

/// " Proved better: step time of record12 (-3.1 %)."; empty without such a check.
std::string named(const GateResult& result, Verdict verdict, const std::string& word) {
  const bool has_cells = std::any_of(result.checks.begin(), result.checks.end(),
                                     [&](const GateCheck& check) { return check.cell != result.checks.front().cell; });
  std::vector<std::string> names;
  for (const GateCheck& check : result.checks) {
    if (check.verdict != verdict) continue;
    std::string& name = names.emplace_back(check.name);
    if (has_cells) name += " of " + check.cell;
    if (check.change && std::isfinite(*check.change)) name += " (" + change_text(check, *check.change) + ")";
  }
  return names.empty() ? "" : " " + word + ": " + listed_first(names, kMaxPerVerdict) + ".";
}

/// "b against a: 1 of 4 checks improved, 3 inconclusive. Proved better: step time of record12 (-3.1 %)."
std::string compare_headline(const GateResult& result) {
  std::map<std::string, int> counts;
  for (const GateCheck& check : result.checks) ++counts[enum_name(check.verdict)];
  const std::string sides = result.candidate.name + " against " + result.baseline.name + ", ";
  if (counts.empty()) return sides + "nothing to compare.";
  std::vector<std::string> parts;
  for (const auto& [verdict, count] : counts) parts.push_back(std::to_string(count) + " " + verdict);
  return sides + counted(static_cast<std::int64_t>(result.checks.size()), "check") + ": " + joined(parts) + "." +
         named(result, Verdict::kRegressed, "Proved worse") + named(result, Verdict::kImproved, "Proved better");
}

/// Removes a column that only a gate needs.
void leave_out(Table& table, const std::string& key) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key != key) continue;
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(i));
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

std::string side_text(const Arm& arm) {
  std::int64_t runs = 0;
  for (const ArmCell& cell : arm.cells) runs += static_cast<std::int64_t>(cell.runs.size());
  std::string text = arm.name + ": " + counted(runs, "run") + " of " + arm.engine;
  if (!arm.revision.empty()) text += ", revision " + arm.revision;
  return text + ", " + arm.hardware + (arm.gpu.empty() ? "" : ", " + arm.gpu) + ", from " + arm.measured_at;
}

}  // namespace

Document compare_report(const GateResult& result) {
  Document document{.kind = "compare", .title = result.baseline.name + " against " + result.candidate.name};
  document.headline = compare_headline(result);
  Table table = checks_table(result);
  for (const char* key : {"gates", "pass_power"}) leave_out(table, key);
  document.sections.emplace_back().tables.push_back(std::move(table));
  document.sections.emplace_back().facts = {{"baseline", "baseline", text_cell(side_text(result.baseline))},
                                            {"candidate", "candidate", text_cell(side_text(result.candidate))}};
  for (const GateProblem& problem : result.problems) document.warnings.push_back(text_of(problem));
  document.notes = result.notes;
  add_median_note(document, result);
  document.reading.push_back("change: candidate against baseline, above 0 is worse. At worst: the one-sided bound at " +
                             format_percent(1.0 - result.policy.alpha, 0) + ". " + kPReading);
  if (!result.is_interleaved)
    document.notes.emplace_back("The two sides were not run in turn, so machine drift looks like a change of times.");
  return document;
}

}  // namespace nanobench::reports

#include "reports/kinds/gate_report.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

std::string value_text(const GateCheck& check, double value) {
  switch (check.metric) {
    case GateMetric::kLoss: return format_fixed(value, 4);
    case GateMetric::kTime: return format_significant(value, 4) + " ms";
    case GateMetric::kMemory: return format_bytes(value);
    case GateMetric::kCost: break;
  }
  return format_significant(value, 6);
}

TableCell summary_cell(const GateCheck& check, const Summary& summary) {
  if (!summary.mean) return missing_cell();
  TableCell cell{.text = value_text(check, *summary.mean), .detail = "", .value = {{"mean", *summary.mean}}};
  cell.value["sd"] = summary.sd ? OrderedJson(*summary.sd) : OrderedJson();
  cell.value["n"] = summary.n;
  if (summary.sd && check.metric != GateMetric::kCost) cell.detail = "±" + value_text(check, *summary.sd);
  return cell;
}

TableCell change_cell(const GateCheck& check, const std::optional<double>& change) {
  if (!change || !std::isfinite(*change)) return missing_cell();
  return {.text = change_text(check, *change), .detail = "", .value = *change};
}

TableCell fraction_cell(const std::optional<double>& fraction) {
  if (!fraction) return missing_cell();
  return {.text = format_percent(*fraction, 0), .detail = "", .value = *fraction};
}

TableCell p_cell(const std::optional<double>& p) {
  if (!p) return missing_cell();
  return {.text = format_significant(*p, 2), .detail = "", .value = *p};
}

TableCell n_cell(const GateCheck& check) {
  const int least = std::min(check.baseline.n, check.candidate.n);
  return count_cell(check.pairs > 0 ? check.pairs : least);
}

std::string arm_text(const Arm& arm) {
  std::string text = arm.name + ": " + arm.engine;
  if (!arm.revision.empty()) text += ", revision " + arm.revision;
  if (!arm.measured_at.empty()) text += ", from " + arm.measured_at;
  return text;
}

std::vector<Fact> facts_of(const GateResult& result) {
  std::vector<Fact> facts = {
      {"answer", "answer", text_cell(to_string(result.answer))},
      {"exit_code", "exit code", count_cell(exit_code(result.answer))},
      {"suite", "suite", text_cell(result.candidate.suite + " (" + result.candidate.scale + ")")},
      {"baseline", "baseline", text_cell(arm_text(result.baseline))},
      {"candidate", "candidate", text_cell(arm_text(result.candidate))},
      {"machine", "machine",
       text_cell(result.candidate.hardware + ", " + std::to_string(result.candidate.threads) +
                 (result.candidate.threads == 1 ? " thread" : " threads") +
                 (result.candidate.gpu.empty() ? "" : ", " + result.candidate.gpu))},
      {"order", "order",
       text_cell(result.is_interleaved ? "both in turn on this machine" : "the baseline was measured before")}};
  facts.push_back({"false_alarms",
                   "false alarms",
                   {.text = "at most " + format_percent(result.policy.alpha, 1),
                    .detail = "of gates over an unchanged candidate say regression (Holm over " +
                              std::to_string(result.tests) + (result.tests == 1 ? " test)" : " tests)"),
                    .value = result.policy.alpha}});
  TableCell chance = fraction_cell(result.pass_chance);
  chance.detail = result.pass_chance
                      ? "of gates over an unchanged candidate, with this spread and n, if checks are independent"
                      : "(not known: a check has no spread to tell it from)";
  facts.push_back({"pass_chance", "chance to pass", std::move(chance)});
  return facts;
}

}  // namespace

Table checks_table(const GateResult& result) {
  Table table{.id = "checks",
              .title = "",
              .columns = {{.key = "cell", .title = "cell"},
                          {.key = "metric", .title = "metric"},
                          {.key = "verdict", .title = "verdict"},
                          {.key = "gates", .title = "gates", .priority = 5},
                          {.key = "baseline", .title = "baseline", .is_number = true, .priority = 2},
                          {.key = "candidate", .title = "candidate", .is_number = true, .priority = 2},
                          {.key = "change", .title = "change", .is_number = true},
                          {.key = "bound", .title = "at worst", .is_number = true, .priority = 1},
                          {.key = "margin", .title = "margin", .is_number = true, .priority = 1},
                          {.key = "n", .title = "n", .is_number = true, .priority = 1},
                          {.key = "adjusted_p", .title = "p", .is_number = true, .priority = 4},
                          {.key = "pass_power", .title = "power", .is_number = true, .priority = 4},
                          {.key = "reason", .title = "why", .wraps = true, .priority = 3}}};
  for (const GateCheck& check : result.checks) {
    TableCell verdict{.text = to_string(check.verdict),
                      .detail = check.gates ? "" : "(does not gate)",
                      .value = to_string(check.verdict)};
    table.rows.push_back({text_cell(check.cell),
                          text_cell(check.name),
                          std::move(verdict),
                          {.text = check.gates ? "yes" : "no", .detail = "", .value = check.gates},
                          summary_cell(check, check.baseline),
                          summary_cell(check, check.candidate),
                          change_cell(check, check.change),
                          change_cell(check, check.bound),
                          change_cell(check, check.margin),
                          n_cell(check),
                          p_cell(check.adjusted_p),
                          fraction_cell(check.pass_power),
                          text_cell(check.reason)});
  }
  return table;
}

namespace {

/// "0.0010 nats of the loss"
std::string margin_text(const GateCheck& check) {
  switch (check.metric) {
    case GateMetric::kLoss: return format_significant(check.margin, 2) + " nats of loss";
    case GateMetric::kTime: return format_percent(check.margin, 1) + " of step time";
    case GateMetric::kMemory: return format_percent(check.margin, 1) + " of peak memory";
    case GateMetric::kCost: break;
  }
  return "";
}

/// What the gating checks were proved to be within, each metric once: " beyond 0.0010 nats of loss, 0.5 % of step
/// time".
std::string margins_text(const GateResult& result) {
  std::vector<std::string> texts;
  for (const GateCheck& check : result.checks) {
    const std::string text = check.gates && check.margin > 0.0 ? margin_text(check) : "";
    if (!text.empty() && std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? " beyond " : ", ") + text;
  return all;
}

/// " The worst: step time of record12, +12.3 %."
std::string worst_text(const GateResult& result) {
  const GateCheck* worst = nullptr;
  for (const GateCheck& check : result.checks) {
    if (!check.gates || check.verdict != Verdict::kRegressed || !check.change || !std::isfinite(*check.change))
      continue;
    // In units of its own margin; a count that grew at all is beyond any.
    const auto harm = [](const GateCheck& one) {
      return one.margin > 0.0 ? *one.change / one.margin : std::numeric_limits<double>::max();
    };
    if (worst == nullptr || harm(check) > harm(*worst)) worst = &check;
  }
  if (worst == nullptr) return "";
  return " The worst: " + worst->name + " of " + worst->cell + ", " + change_text(*worst, *worst->change) + ".";
}

}  // namespace

std::string gate_headline(const GateResult& result) {
  int checks = 0, regressed = 0, undecided = 0, missing = 0;
  for (const GateCheck& check : result.checks) {
    if (!check.gates) continue;
    ++checks;
    regressed += check.verdict == Verdict::kRegressed ? 1 : 0;
    undecided += check.verdict == Verdict::kInconclusive ? 1 : 0;
    missing += check.verdict == Verdict::kMissing ? 1 : 0;
  }
  const std::string of = " of " + std::to_string(checks) + (checks == 1 ? " check" : " checks");
  switch (result.answer) {
    case GateAnswer::kPass: return "Pass: no harm in any" + of + margins_text(result) + ".";
    case GateAnswer::kRegression: return "Regression in " + std::to_string(regressed) + of + "." + worst_text(result);
    case GateAnswer::kInconclusive: return "Inconclusive: " + std::to_string(undecided) + of + " need more runs.";
    case GateAnswer::kIncomplete:
      return "Incomplete: a cell failed or is missing (" + std::to_string(missing) + of + " without evidence).";
    case GateAnswer::kNotComparable: break;
  }
  return "Not comparable with the baseline in " + std::to_string(missing) + of + ".";
}

Document gate_report(const GateResult& result) {
  Document document{.kind = "gate", .title = "Gate: " + std::string(to_string(result.answer))};
  document.headline = gate_headline(result);
  Section& section = document.sections.emplace_back();
  section.tables.push_back(checks_table(result));
  Section& facts = document.sections.emplace_back();
  facts.facts = facts_of(result);
  document.warnings = result.problems;
  document.notes = result.notes;
  document.reading.emplace_back(
      "change: candidate against baseline, above 0 is worse. At worst: the one-sided bound at " +
      format_percent(1.0 - result.policy.alpha, 0) +
      "; a check passes when it is below the margin. p: of \"not worse\", adjusted by Holm. Power: chance that an "
      "unchanged candidate passes this check with these runs.");
  if (!result.is_interleaved) {
    document.notes.emplace_back(
        "The baseline's times are from another hour: drift of the machine looks like a change. "
        "--baseline-engine runs both in turn.");
  }
  return document;
}

}  // namespace nanobench::reports

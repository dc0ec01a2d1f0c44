#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "core/base/text.h"
#include "reports/audit/arms.h"
#include "reports/audit/audit_text.h"
#include "reports/charts/charts.h"
#include "reports/kinds/arm_cells.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {
namespace {

/// "0.012", "3.6e-5"
std::string short_p(double p) {
  if (p < 1e-15) return "<1e-15";
  if (p >= 1e-4) return format_significant(p, 2);
  const int exponent = static_cast<int>(std::floor(std::log10(p)));
  return format_fixed(p / std::pow(10.0, exponent), 1) + "e" + std::to_string(exponent);
}

TableCell scaled_number(const std::optional<double>& value, double unit, int digits) {
  const std::optional<double> scaled = value ? std::optional(*value / unit) : std::nullopt;
  return number_cell(scaled, [=](double number) { return format_signed(number, digits); });
}

/// How a metric of the arms is written.
struct ArmMetricText {
  ArmMetric metric;
  std::vector<ArmEffect> ArmComparison::*effects;
  const char* id;
  const char* title;
  const char* column;
  double unit;
  int digits;
};

constexpr ArmMetricText kLossText = {
    ArmMetric::kLoss, &ArmComparison::loss, "effects", "Validation loss", "val loss", 1.0, 5};
constexpr ArmMetricText kTimeText = {
    ArmMetric::kTrainTime, &ArmComparison::time, "times", "Training clock", "time s", kMsPerSecond, 3};
constexpr ArmMetricText kTargetText = {ArmMetric::kTargetTime,
                                       &ArmComparison::target_time,
                                       "target_times",
                                       "Time to the target",
                                       "time s",
                                       kMsPerSecond,
                                       3};
constexpr ArmMetricText kStepText = {
    ArmMetric::kStepTime, &ArmComparison::step_time, "step_times", "Time of a step", "step ms", 1.0, 3};

Table effects_table(const ArmMetricText& text, const std::string& title) {
  return {.id = text.id,
          .title = title,
          .columns = {wide_column("arm", "arm"), number_column("steps", "steps", 5), number_column("n", "n"),
                      number_column("mean", text.column), number_column("difference", "difference"),
                      number_column("low", "from", 2), number_column("high", "to", 2), number_column("p", "p", 4),
                      number_column("holm_p", "Holm p"), wide_column("verdict", "verdict"),
                      number_column("settling_runs", "runs to settle", 3)}};
}

TableCell arm_mean_cell(const LogArm& arm, const ArmMetricText& text) {
  std::vector<double> values = values_of(arm, text.metric);
  for (double& value : values) value /= text.unit;
  return summary_cell(summarise(values), [&](double value) { return format_fixed(value, text.digits); });
}

/// "5", or "3 of 5": of the logs for a loss, of the runs with a loss for a time.
TableCell counted_runs_cell(const LogArm& arm, ArmMetric metric) {
  const std::size_t n = values_of(arm, metric).size();
  const std::size_t of = metric == ArmMetric::kLoss ? std::max(arm.logs, n) : arm.losses.size();
  return value_cell(std::to_string(n) + (n == of ? "" : " of " + std::to_string(of)), n);
}

TableCell settling_cell(const ArmEffect& effect) {
  if (effect.settling_runs) return count_cell(*effect.settling_runs);
  const bool is_asked = effect.verdict == Verdict::kInconclusive && effect.estimate && !effect.is_from_rounding;
  return is_asked ? value_cell("> " + std::to_string(kMaxSettleRuns), nullptr) : missing_cell();
}

std::vector<TableCell> arm_cells(const LogArm& arm, const ArmMetricText& text) {
  return {text_cell(arm.name), value_cell(arm.steps.empty() ? "-" : joined(arm.steps), arm.steps),
          counted_runs_cell(arm, text.metric), arm_mean_cell(arm, text)};
}

/// The row of the control, which has no effect.
std::vector<TableCell> control_cells(const LogArm& arm, const ArmMetricText& text) {
  std::vector<TableCell> cells = arm_cells(arm, text);
  for (int i = 0; i < 5; ++i) cells.push_back(missing_cell());
  cells.push_back(value_cell("control", "control"));
  cells.push_back(missing_cell());
  return cells;
}

std::vector<TableCell> effect_cells(const LogArm& arm, const ArmEffect& effect, const ArmMetricText& text) {
  std::vector<TableCell> cells = arm_cells(arm, text);
  for (TableCell& cell :
       std::vector{arm_difference_cell(effect, text.unit, text.digits),
                   arm_bound_cell(effect, &ConfidenceInterval::low, text.unit, text.digits),
                   arm_bound_cell(effect, &ConfidenceInterval::high, text.unit, text.digits), arm_p_cell(effect.p),
                   arm_p_cell(effect.adjusted_p), arm_verdict_cell(effect), settling_cell(effect)})
    cells.push_back(std::move(cell));
  return cells;
}

/// The rule's test of one arm: whether its mean is below the target. It compares no arms.
std::vector<TableCell> target_cells(const ArmComparison& comparison, std::size_t arm) {
  const std::optional<OneSampleT>& t = comparison.t[arm];
  const std::optional<RuleResult>& z = comparison.z[arm];
  const bool is_z = comparison.rule.rule == AuditRule::kZ;
  std::optional<bool> meets;
  if (is_z && z) meets = z->passes;
  if (!is_z && t) meets = t->mean <= comparison.rule.target && t->p < comparison.p_limit;
  return {t ? arm_p_cell(t->p) : missing_cell(), z ? fixed_cell(z->statistic, 4) : missing_cell(),
          meets ? yes_no_cell(*meets) : missing_cell()};
}

/// The control, then the other arms, with where each is in the list of arms.
Table metric_table(const ArmComparison& comparison, const ArmMetricText& text, const std::string& title) {
  Table table = effects_table(text, title);
  table.rows.push_back(control_cells(comparison.arms[comparison.control], text));
  for (std::size_t i = 0; i < comparison.pairs.size(); ++i)
    table.rows.push_back(
        effect_cells(comparison.arms[comparison.pairs[i].candidate], (comparison.*(text.effects))[i], text));
  return table;
}

Table loss_table(const ArmComparison& comparison) {
  Table table = metric_table(comparison, kLossText, kLossText.title);
  const std::string target = format_fixed(comparison.rule.target, 2);
  table.columns.push_back(number_column("target_p", "p of < " + target, 1));
  table.columns.push_back(number_column("z_rule", "z rule", 5));
  table.columns.push_back(text_column("meets", "meets the rule", 1));
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::size_t arm = row == 0 ? comparison.control : comparison.pairs[row - 1].candidate;
    for (TableCell& cell : target_cells(comparison, arm)) table.rows[row].push_back(std::move(cell));
  }
  return table;
}

/// One table for each clock that the logs print.
std::vector<Table> time_tables(const ArmComparison& comparison) {
  std::vector<Table> tables;
  for (const ArmMetricText& text : {kTimeText, kTargetText, kStepText}) {
    const bool has_values = std::any_of(comparison.arms.begin(), comparison.arms.end(),
                                        [&](const LogArm& arm) { return !values_of(arm, text.metric).empty(); });
    const bool is_target = text.metric == ArmMetric::kTargetTime;
    if (!has_values && text.metric != ArmMetric::kTrainTime) continue;
    const std::string target = is_target ? ", a loss of " + format_fixed(comparison.rule.target, 4) : "";
    tables.push_back(metric_table(comparison, text, text.title + target));
  }
  return tables;
}

/// "H1 improves it; H2 and H3 regress it; for 2 arms there is not enough evidence"
std::string verdicts_text(const ArmComparison& comparison, const std::vector<ArmEffect>& effects) {
  std::vector<std::string> improved;
  std::vector<std::string> regressed;
  std::int64_t open = 0;
  for (std::size_t i = 0; i < comparison.pairs.size(); ++i) {
    const std::string& name = comparison.arms[comparison.pairs[i].candidate].name;
    if (effects[i].verdict == Verdict::kImproved) improved.push_back(name);
    if (effects[i].verdict == Verdict::kRegressed) regressed.push_back(name);
    if (effects[i].verdict == Verdict::kInconclusive) ++open;
  }
  std::vector<std::string> parts;
  if (!improved.empty()) parts.push_back(listed(improved) + (improved.size() == 1 ? " improves" : " improve") + " it");
  if (!regressed.empty())
    parts.push_back(listed(regressed) + (regressed.size() == 1 ? " regresses" : " regress") + " it");
  if (open > 0) parts.push_back("for " + counted(open, "arm", "arms") + " there is not enough evidence");
  return joined(parts, "; ");
}

std::string arms_headline(const ArmComparison& comparison) {
  const std::string control = " against " + comparison.arms[comparison.control].name + ": ";
  std::string text = "Validation loss" + control + verdicts_text(comparison, comparison.loss) + ".";
  const std::string times = verdicts_text(comparison, comparison.time);
  if (!times.empty()) text += " Training clock" + control + times + ".";
  return text;
}

bool differ(const std::vector<LogArm>& arms, const auto& member) {
  return std::any_of(arms.begin(), arms.end(), [&](const LogArm& arm) { return arm.*member != arms.front().*member; });
}

/// "base: 8, quick: 6"
std::string by_arm(const std::vector<LogArm>& arms, const std::function<std::string(const LogArm&)>& text) {
  std::vector<std::string> parts;
  for (const LogArm& arm : arms) parts.push_back(arm.name + ": " + text(arm));
  return joined(parts, "; ");
}

/// Differences between the arms that the arm's change may not explain.
std::vector<std::string> mix_warnings(const ArmComparison& comparison) {
  const std::vector<LogArm>& arms = comparison.arms;
  std::vector<std::string> warnings;
  if (differ(arms, &LogArm::steps))
    warnings.push_back("The arms differ in their number of steps, so a difference is that of arm and steps (" +
                       by_arm(arms, [](const LogArm& arm) { return joined(arm.steps); }) + ").");
  if (differ(arms, &LogArm::hardware))
    warnings.push_back(
        "Times are compared on equal hardware only (" +
        by_arm(arms, [](const LogArm& arm) { return arm.hardware.empty() ? "several kinds" : arm.hardware; }) + ").");
  if (differ(arms, &LogArm::software))
    warnings.push_back(
        "The arms ran with different software, which a difference in times may come from (" +
        by_arm(arms,
               [](const LogArm& arm) { return arm.software.empty() ? "not logged" : joined(arm.software, " and "); }) +
        ").");
  return warnings;
}

std::optional<Chart> curves_of(const ArmComparison& comparison) {
  std::vector<LossLine> lines;
  for (const LogArm& arm : comparison.arms) {
    LossLine& line = lines.emplace_back();
    line.label = arm.name;
    for (const LogCurve& curve : arm.curves) {
      if (curve.points.size() > 1) line.runs.push_back({.name = curve.name, .points = curve.points});
    }
  }
  return loss_chart(lines, "log");
}

Section section_of(const std::string& title, const std::vector<std::optional<Chart>>& charts) {
  Section section{.title = title};
  for (const std::optional<Chart>& chart : charts) {
    if (chart) section.charts.push_back(*chart);
  }
  return section;
}

}  // namespace

std::string arm_verdict(Verdict verdict) {
  switch (verdict) {
    case Verdict::kImproved: return "improved";
    case Verdict::kRegressed: return "regressed";
    case Verdict::kMissing: return "-";
    default: break;
  }
  return "not enough evidence";
}

TableCell arm_verdict_cell(const ArmEffect& effect) {
  const char* rounding = effect.is_from_rounding ? "no spread: the error is that of rounding" : "";
  return value_cell(arm_verdict(effect.verdict), enum_name(effect.verdict),
                    effect.reason == ArmReason::kNone ? rounding : text_of(effect.reason));
}

TableCell arm_difference_cell(const ArmEffect& effect, double unit, int digits) {
  return scaled_number(effect.difference, unit, digits);
}

TableCell arm_bound_cell(const ArmEffect& effect, double ConfidenceInterval::*end, double unit, int digits) {
  return scaled_number(effect.interval ? std::optional((*effect.interval).*end) : std::nullopt, unit, digits);
}

TableCell arm_p_cell(const std::optional<double>& p) {
  return number_cell(p, short_p);
}

Document arms_report(const ArmComparison& comparison, bool has_charts) {
  Document document{.kind = "arms", .title = "Arms of logs against a control"};
  document.headline = arms_headline(comparison);
  document.cards = arm_cards(comparison);
  if (has_charts) document.sections.push_back(section_of("The effects", {arm_effects_chart(comparison)}));
  Section body{.title = "What was measured"};
  body.tables.push_back(loss_table(comparison));
  for (Table& table : time_tables(comparison)) body.tables.push_back(std::move(table));
  document.sections.push_back(std::move(body));
  if (has_charts)
    document.sections.push_back(section_of("Losses and curves", {arm_loss_chart(comparison), curves_of(comparison)}));
  document.warnings = comparison.problems;
  for (std::string& warning : mix_warnings(comparison)) document.warnings.push_back(std::move(warning));
  for (const LogArm& arm : comparison.arms) {
    for (const AuditFlag& flag : arm.flags) document.warnings.push_back(arm.name + ": " + text_of(flag));
  }
  document.reading = {
      "difference: mean of the arm less mean of the control. Holm p: Welch's two-sided p, adjusted over the arms of "
      "the table; below 0.05 and with 3 runs in each arm it is an effect. The intervals of a table hold together with "
      "95 %.",
      "runs to settle: new runs of the arm and as many of the control, judged by themselves, that give a verdict in "
      "four of five cases if difference and spreads are those measured here.",
      "p of < " + format_fixed(comparison.rule.target, 2) +
          ": the rules' one-sided t test of one arm against the target. An arm that meets the rule is not thereby "
          "better than the control.",
      "Arms without any spread agree in every printed digit: the error is then that of rounding. Times are compared on "
      "equal hardware only; a log names its GPU, not its machine, and two machines with the same GPU may differ in "
      "speed.",
      "Time to the target: between two validations the loss is assumed linear in time; it is compared where all runs "
      "of both arms reach the target.",
  };
  return document;
}

}  // namespace nanobench::reports

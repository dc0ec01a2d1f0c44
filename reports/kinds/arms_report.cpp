#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "reports/audit/arms.h"
#include "reports/kinds/arm_cells.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {
namespace {

constexpr double kMsPerSecond = 1000.0;

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
  const char* id;
  const char* title;
  const char* column;
  double unit;
  int digits;
  std::vector<double> LogArm::*values;
};

constexpr ArmMetricText kLossText = {"effects", "Validation loss", "val loss", 1.0, 5, &LogArm::losses};
constexpr ArmMetricText kTimeText = {"times", "Training clock", "time s", kMsPerSecond, 3, &LogArm::train_ms};

Table effects_table(const ArmMetricText& text) {
  return {.id = text.id,
          .title = text.title,
          .columns = {wide_column("arm", "arm"), number_column("steps", "steps", 4), number_column("n", "n"),
                      number_column("mean", text.column), number_column("difference", "difference"),
                      number_column("low", "from", 2), number_column("high", "to", 2), number_column("p", "p", 3),
                      number_column("holm_p", "Holm p"), wide_column("verdict", "verdict")}};
}

TableCell arm_mean_cell(const LogArm& arm, const ArmMetricText& text) {
  std::vector<double> values = arm.*(text.values);
  for (double& value : values) value /= text.unit;
  return summary_cell(summarise(values), [&](double value) { return format_fixed(value, text.digits); });
}

/// The row of the control, which has no effect.
std::vector<TableCell> control_cells(const LogArm& arm, const ArmMetricText& text) {
  return {text_cell(arm.name),
          value_cell(arm.steps.empty() ? "-" : joined(arm.steps), arm.steps),
          count_cell(static_cast<std::int64_t>((arm.*(text.values)).size())),
          arm_mean_cell(arm, text),
          missing_cell(),
          missing_cell(),
          missing_cell(),
          missing_cell(),
          missing_cell(),
          value_cell("control", "control")};
}

std::vector<TableCell> effect_cells(const LogArm& arm, const ArmEffect& effect, const ArmMetricText& text) {
  return {text_cell(arm.name),
          value_cell(arm.steps.empty() ? "-" : joined(arm.steps), arm.steps),
          count_cell(static_cast<std::int64_t>((arm.*(text.values)).size())),
          arm_mean_cell(arm, text),
          arm_difference_cell(effect, text.unit, text.digits),
          arm_bound_cell(effect, &ConfidenceInterval::low, text.unit, text.digits),
          arm_bound_cell(effect, &ConfidenceInterval::high, text.unit, text.digits),
          arm_p_cell(effect.p),
          arm_p_cell(effect.adjusted_p),
          arm_verdict_cell(effect)};
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

Table loss_table(const ArmComparison& comparison) {
  Table table = effects_table(kLossText);
  const std::string target = format_fixed(comparison.rule.target, 2);
  table.columns.push_back(number_column("target_p", "p of < " + target, 1));
  table.columns.push_back(number_column("z_rule", "z rule", 4));
  table.columns.push_back(text_column("meets", "meets the rule", 1));
  const auto add = [&](std::vector<TableCell> cells, std::size_t arm) {
    for (TableCell& cell : target_cells(comparison, arm)) cells.push_back(std::move(cell));
    table.rows.push_back(std::move(cells));
  };
  add(control_cells(comparison.arms[comparison.control], kLossText), comparison.control);
  for (std::size_t i = 0; i < comparison.pairs.size(); ++i) {
    const std::size_t arm = comparison.pairs[i].candidate;
    add(effect_cells(comparison.arms[arm], comparison.loss[i], kLossText), arm);
  }
  return table;
}

Table time_table(const ArmComparison& comparison) {
  Table table = effects_table(kTimeText);
  table.rows.push_back(control_cells(comparison.arms[comparison.control], kTimeText));
  for (std::size_t i = 0; i < comparison.pairs.size(); ++i)
    table.rows.push_back(effect_cells(comparison.arms[comparison.pairs[i].candidate], comparison.time[i], kTimeText));
  return table;
}

std::string arms_headline(const ArmComparison& comparison) {
  std::vector<std::string> improved;
  std::vector<std::string> regressed;
  for (std::size_t i = 0; i < comparison.pairs.size(); ++i) {
    const std::string& name = comparison.arms[comparison.pairs[i].candidate].name;
    if (comparison.loss[i].verdict == Verdict::kImproved) improved.push_back(name);
    if (comparison.loss[i].verdict == Verdict::kRegressed) regressed.push_back(name);
  }
  const std::size_t open = comparison.pairs.size() - improved.size() - regressed.size();
  std::vector<std::string> parts;
  if (!improved.empty()) parts.push_back(listed(improved) + (improved.size() == 1 ? " improves" : " improve") + " it");
  if (!regressed.empty())
    parts.push_back(listed(regressed) + (regressed.size() == 1 ? " regresses" : " regress") + " it");
  if (open > 0)
    parts.push_back("for " + counted(static_cast<std::int64_t>(open), "arm") + " there is not enough evidence");
  return "Validation loss against " + comparison.arms[comparison.control].name + ": " + joined(parts, "; ") + ".";
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
  return value_cell(arm_verdict(effect.verdict), to_string(effect.verdict),
                    effect.reason.empty() ? rounding : effect.reason);
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

Document arms_report(const ArmComparison& comparison) {
  Document document{.kind = "arms", .title = "Arms of logs against a control"};
  document.headline = arms_headline(comparison);
  Section body;
  body.tables.push_back(loss_table(comparison));
  body.tables.push_back(time_table(comparison));
  document.sections.push_back(std::move(body));
  document.warnings = comparison.problems;
  const bool has_equal_steps = std::all_of(comparison.arms.begin(), comparison.arms.end(), [&](const LogArm& arm) {
    return arm.steps == comparison.arms.front().steps;
  });
  if (!has_equal_steps)
    document.warnings.emplace_back("The arms differ in their number of steps: a difference is that of arm and steps.");
  for (const LogArm& arm : comparison.arms) {
    for (const std::string& flag : arm.flags) document.warnings.push_back(arm.name + ": " + flag);
  }
  document.reading = {
      "difference: mean of the arm less mean of the control. Holm p: Welch's two-sided p, adjusted over the arms of "
      "the "
      "table; below 0.05 and with 3 runs in each arm it is an effect. The intervals of a table hold together with 95 "
      "%.",
      "p of < " + format_fixed(comparison.rule.target, 2) +
          ": the rules' one-sided t test of one arm against the target. An arm that meets the rule is not thereby "
          "better "
          "than the control.",
      "Arms without any spread agree in every printed digit: the error is then that of rounding, 1e-4 nats or 1 ms. "
      "Times are compared on equal hardware only.",
  };
  return document;
}

}  // namespace nanobench::reports

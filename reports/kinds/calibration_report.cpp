#include <array>
#include <cmath>

#include "core/base/text.h"
#include "reports/gate/calibration.h"
#include "reports/kinds/kinds.h"

namespace nanobench::reports {
namespace {

constexpr std::array<int, 5> kRuns = {3, 5, 8, 12, 20};

TableCell loss_cell(const std::optional<double>& nats) {
  return number_cell(nats, [](double value) { return format_significant(value, 3) + " nats"; });
}

TableCell estimate_cell(const std::optional<Estimate>& estimate) {
  if (!estimate) return missing_cell();
  const ConfidenceInterval interval = interval_of(*estimate);
  const auto text = [](double log) { return format_percent(std::expm1(log), 2); };
  return value_cell(
      text(estimate->value),
      {{"value", std::expm1(estimate->value)}, {"low", std::expm1(interval.low)}, {"high", std::expm1(interval.high)}},
      "[" + text(interval.low) + ", " + text(interval.high) + "]");
}

Table margins_table(const Calibration& calibration, double power) {
  Table table{
      .id = "margins",
      .title = "Margins within which an unchanged candidate passes each check with a chance of " +
               format_percent(power, 0) + ", for n runs of each side",
      .columns = {number_column("runs", "n"), number_column("loss", "loss, nats"),
                  number_column("loss_drawn_anew", "loss, drawn anew", 2), number_column("time", "time"),
                  number_column("time_not_in_turn", "time, not in turn", 2), number_column("memory", "memory")}};
  for (const int n : kRuns) {
    const std::optional<GatePolicy> paired = derived_policy(calibration, {.n = n, .power = power});
    const std::optional<GatePolicy> apart =
        derived_policy(calibration, {.n = n, .is_interleaved = false, .draws_loss_anew = true, .power = power});
    if (!paired || !apart) continue;
    table.rows.push_back({count_cell(n), fixed_cell(paired->loss.margin, 5), fixed_cell(apart->loss.margin, 5),
                          percent_cell(paired->time.margin, 2), percent_cell(apart->time.margin, 2),
                          percent_cell(paired->memory.margin, 2)});
  }
  return table;
}

/// "Runs of one configuration differ in val loss by 0.0012 nats (sd over seeds), step time by 0.80 %. ..."
std::string calibration_headline(const Calibration& calibration, double power) {
  constexpr int kUsualRuns = 5;
  std::vector<std::string> parts;
  if (calibration.loss_sd)
    parts.push_back("val loss by " + format_significant(*calibration.loss_sd, 2) + " nats (sd over seeds)");
  if (calibration.loss_pair_sd)
    parts.push_back("runs of one seed by " + format_significant(*calibration.loss_pair_sd, 2) +
                    " nats (sd of a pair's difference, which sets the margin)");
  if (calibration.time_cv) parts.push_back("step time by " + format_percent(*calibration.time_cv, 2));
  if (parts.empty()) return "Too few runs to measure the noise of this machine.";
  std::string text = "Runs of one configuration differ in " + joined(parts) + ".";
  if (const std::optional<GatePolicy> policy = derived_policy(calibration, {.n = kUsualRuns, .power = power})) {
    text += " With " + std::to_string(kUsualRuns) + " runs a side, a gate can hold margins of " +
            format_significant(policy->loss.margin, 2) + " nats of loss and " + format_percent(policy->time.margin, 2) +
            " of step time.";
  }
  return text;
}

}  // namespace

Document calibration_report(const results::PlanRecord& plan, const std::string& machine, const Calibration& calibration,
                            double power) {
  Document document{.kind = "calibration", .title = "Noise of " + plan.suite + " at scale " + plan.scale};
  document.headline = calibration_headline(calibration, power);
  Section& section = document.sections.emplace_back();
  section.facts = {{"plan", "plan", count_cell(plan.id)},
                   {"machine", "machine", text_cell(machine)},
                   {"runs", "runs", count_cell(calibration.runs)},
                   {"pairs", "pairs", count_cell(calibration.pairs)},
                   {"reproducible", "same seed, same bits", yes_no_cell(calibration.is_reproducible)},
                   {"loss_sd", "loss, sd over seeds", loss_cell(calibration.loss_sd)},
                   {"loss_pair_sd", "loss, sd of a pair's difference", loss_cell(calibration.loss_pair_sd)},
                   {"time_cv", "step time, cv of one run", percent_cell(calibration.time_cv, 3)},
                   {"time_difference", "step time, second against first", estimate_cell(calibration.time_difference)},
                   {"memory_pair_sd", "peak memory, sd of a pair's ratio", percent_cell(calibration.memory_pair_sd, 3)},
                   {"drift", "step time, drift over " + format_duration(3600.0 * calibration.session_hours),
                    estimate_cell(calibration.drift)}};
  Table margins = margins_table(calibration, power);
  if (margins.rows.empty()) {
    document.warnings.emplace_back("Too few pairs to derive margins from: 3 are needed, and 6 or more are better.");
  } else {
    section.tables.push_back(std::move(margins));
  }
  document.reading.emplace_back(
      "One configuration ran under two names, so every difference is noise. Margins come from the spread of the pairs "
      "of one seed, and allow for the few pairs that it was estimated from: the chance holds on average over "
      "calibrations of this size.");
  document.reading.emplace_back(
      "Loss, drawn anew: for a candidate that rounds differently, whose losses at one seed differ as much as those of "
      "two seeds. Time, not in turn: for a baseline that was measured before.");
  return document;
}

}  // namespace nanobench::reports

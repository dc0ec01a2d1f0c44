#include "reports/kinds/calibration_report.h"

#include <array>
#include <cmath>

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr std::array<int, 5> kRuns = {3, 5, 8, 12, 20};

TableCell fraction_cell(const std::optional<double>& value) {
  if (!value) return missing_cell();
  return {.text = format_percent(*value, 3), .detail = "", .value = *value};
}

TableCell loss_cell(const std::optional<double>& value) {
  if (!value) return missing_cell();
  return {.text = format_significant(*value, 3) + " nats", .detail = "", .value = *value};
}

TableCell estimate_cell(const std::optional<Estimate>& estimate) {
  if (!estimate) return missing_cell();
  const ConfidenceInterval interval = interval_of(*estimate);
  return {.text = format_percent(std::expm1(estimate->value), 2),
          .detail = "[" + format_percent(std::expm1(interval.low), 2) + ", " +
                    format_percent(std::expm1(interval.high), 2) + "]",
          .value = {{"value", std::expm1(estimate->value)},
                    {"low", std::expm1(interval.low)},
                    {"high", std::expm1(interval.high)}}};
}

Table margins_table(const Calibration& calibration, double power) {
  Table table{.id = "margins",
              .title = "Margins that an unchanged candidate stays within, for n runs of each side, with a chance of " +
                       format_percent(power, 0) + " for each check",
              .columns = {{.key = "runs", .title = "n", .is_number = true},
                          {.key = "loss", .title = "loss, nats", .is_number = true},
                          {.key = "time", .title = "time", .is_number = true},
                          {.key = "memory", .title = "memory", .is_number = true}}};
  for (const int n : kRuns) {
    const std::optional<GatePolicy> policy = derived_policy(calibration, n, power);
    if (!policy) continue;
    table.rows.push_back(
        {count_cell(n),
         {.text = format_fixed(policy->loss.margin, 5), .detail = "", .value = policy->loss.margin},
         {.text = format_percent(policy->time.margin, 2), .detail = "", .value = policy->time.margin},
         {.text = format_percent(policy->memory.margin, 2), .detail = "", .value = policy->memory.margin}});
  }
  return table;
}

/// "One run's val loss has an sd of 0.0012 nats over seeds, its step time a cv of 0.8 %. ..."
std::string headline(const Calibration& calibration, double power) {
  std::string text;
  if (calibration.loss_sd)
    text = "val loss by " + format_significant(*calibration.loss_sd, 2) + " nats (sd over seeds)";
  if (calibration.time_cv)
    text += (text.empty() ? "" : ", ") + std::string("step time by ") + format_percent(*calibration.time_cv, 2);
  if (text.empty()) return "Too few runs to tell the noise of this machine.";
  text = "Runs of one configuration differ in " + text + ".";
  constexpr int kUsualRuns = 5;
  if (const std::optional<GatePolicy> policy = derived_policy(calibration, kUsualRuns, power)) {
    text += " With " + std::to_string(kUsualRuns) + " runs a side a gate can hold " +
            format_significant(policy->loss.margin, 2) + " nats of loss and " + format_percent(policy->time.margin, 2) +
            " of step time.";
  }
  return text;
}

}  // namespace

Document calibration_report(const results::PlanRecord& plan, const std::string& machine, const Calibration& calibration,
                            double power) {
  Document document{.kind = "calibration", .title = "Noise of " + plan.suite + " at scale " + plan.scale};
  document.headline = headline(calibration, power);
  Section& section = document.sections.emplace_back();
  section.facts = {
      {"plan", "plan", count_cell(plan.id)},
      {"machine", "machine", text_cell(machine)},
      {"runs", "runs", count_cell(calibration.runs)},
      {"pairs", "pairs", count_cell(calibration.pairs)},
      {"reproducible",
       "same seed, same bits",
       {.text = calibration.is_reproducible ? "yes" : "no", .detail = "", .value = calibration.is_reproducible}},
      {"loss_sd", "loss, sd over seeds", loss_cell(calibration.loss_sd)},
      {"loss_pair_sd", "loss, sd of a pair's difference", loss_cell(calibration.loss_pair_sd)},
      {"time_cv", "step time, cv of one run", fraction_cell(calibration.time_cv)},
      {"time_difference", "step time, second against first", estimate_cell(calibration.time_difference)},
      {"memory_pair_sd", "peak memory, sd of a pair's ratio", fraction_cell(calibration.memory_pair_sd)},
      {"drift", "step time, drift over " + format_duration(3600.0 * calibration.session_hours),
       estimate_cell(calibration.drift)}};
  Table margins = margins_table(calibration, power);
  if (margins.rows.empty()) {
    document.warnings.emplace_back("Too few pairs to derive margins from; 3 are needed, 6 or more are better.");
  } else {
    section.tables.push_back(std::move(margins));
  }
  document.reading.emplace_back(
      "The same configuration stood under two names, so every difference is noise. Loss margins suppose that two "
      "programs differ, with one seed, as two seeds do: for changes that keep the loss bits they are far too wide.");
  return document;
}

}  // namespace nanobench::reports

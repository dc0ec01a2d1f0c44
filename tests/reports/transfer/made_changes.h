// Changes that were never measured, for tests of what is made of them.
#pragma once

#include <optional>
#include <string>

#include "reports/transfer/transfer.h"

namespace nanobench::reports {

/// An effect on the loss with verdict by a plain t of 2.5; no `se`: one run.
inline MeasuredChange made_change(const std::string& name, const std::string& scale, double loss,
                                  std::optional<double> se = 0.001) {
  MeasuredChange change{.key = {.setting = name, .from = "off", .to = "on", .base_record = "record17", .base = ""},
                        .scale = scale,
                        .effect = {},
                        .sources = {{"base", -1.0}, {name, 1.0}},
                        .database = "made.db",
                        .plan_id = 1,
                        .suite = "made",
                        .data_name = "synthetic",
                        .hardware = "machine"};
  change.effect.contrast.effect = name;
  MeasuredEffect& effect = change.effect.loss;
  effect.value = loss;
  effect.n = se ? 3 : 1;
  effect.verdict = Verdict::kInconclusive;
  if (!se) return change;
  effect.estimate = Estimate{.value = loss, .se = *se, .df = 10.0};
  effect.interval = ConfidenceInterval{.low = loss - 2.5 * *se, .high = loss + 2.5 * *se, .level = 0.95};
  if (!effect.interval->contains(0.0)) effect.verdict = loss < 0.0 ? Verdict::kImproved : Verdict::kRegressed;
  return change;
}

/// The time at equal loss of a change, as a logarithm.
inline void set_equal_loss(MeasuredChange& change, double log_ratio, FeatureVerdict verdict) {
  constexpr double kReference = 100.0, kSe = 0.002;
  PlanEffects::Seconds& seconds = change.effect.seconds;
  seconds.reference_s = kReference;
  seconds.equal_loss.status = EqualLoss::Status::kConverted;
  seconds.equal_loss.seconds = kReference * std::expm1(log_ratio);
  seconds.equal_loss.estimate = {.value = kReference * log_ratio, .se = kReference * kSe, .df = 10.0};
  seconds.equal_loss.interval = {.low = kReference * std::expm1(log_ratio - 2.0 * kSe),
                                 .high = kReference * std::expm1(log_ratio + 2.0 * kSe),
                                 .level = 0.95};
  change.effect.verdict = verdict;
}

/// A step of a history with times at equal loss.
inline MeasuredChange made_step(const std::string& from, const std::string& to, const std::string& scale,
                                double log_ratio, FeatureVerdict verdict) {
  MeasuredChange change = made_change(to, scale, 0.001);
  change.key = {.setting = "record", .from = from, .to = to, .base_record = "", .base = ""};
  set_equal_loss(change, log_ratio, verdict);
  return change;
}

}  // namespace nanobench::reports

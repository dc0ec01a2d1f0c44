// Charts of logs beside the published claims.

#include <algorithm>
#include <vector>

#include "reports/audit/audit.h"
#include "reports/charts/charts.h"
#include "reports/charts/rows.h"
#include "reports/stats/t_tests.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr double kMsPerMinute = 60'000.0;
constexpr double kLevel = 0.95;

std::string name_of(const AuditGroup& group) {
  std::string name = group.folder + (group.subdir.empty() ? "" : "/" + group.subdir);
  if (group.planned_steps) name += ", " + std::to_string(*group.planned_steps) + " steps";
  return name;
}

/// Interval of the mean; absent for fewer than two values, or if all are equal.
std::optional<ConfidenceInterval> interval_of_mean(const std::vector<double>& values, double center) {
  const std::optional<OneSampleT> t = one_sample_t(values, center, Tail::kTwoSided, kLevel);
  return t ? std::optional(t->interval) : std::nullopt;
}

OrderedJson column_of(const char* title, const char* rows = "folder") {
  OrderedJson y = name_axis(rows, "");
  y["axis"] = {{"labelLimit", 260}};
  return {{"width", "container"},     {"autosize", {{"type", "fit-x"}, {"contains", "padding"}}},
          {"height", {{"step", 22}}}, {"title", nullptr},
          {"encoding", {{"y", y}}},   {"description", title}};
}

/// The means of the rows.
OrderedJson mean_layer(const char* axis, const OrderedJson& items, const OrderedJson& color) {
  return {{"mark", {{"type", "point"}, {"filled", true}, {"size", 60}, {"opacity", 1}}},
          {"encoding", {{"x", number_axis("mean", axis)}, {"color", color}, {"tooltip", items}}}};
}

/// By what was found in the group.
OrderedJson evidence_color() {
  return {{"field", "evidence"}, {"type", "nominal"}, {"title", "evidence"}};
}

OrderedJson interval_layer() {
  return {{"mark", {{"type", "rule"}, {"strokeWidth", 2}}},
          {"encoding", {{"x", {{"field", "low"}, {"type", "quantitative"}}}, {"x2", {{"field", "high"}}}}}};
}

std::vector<double> counted(const AuditGroup& group, std::optional<double> AuditedRun::*member) {
  std::vector<double> values;
  for (const AuditedRun& run : group.runs) {
    if (run.is_counted() && run.*member) values.push_back(*(run.*member));
  }
  return values;
}

OrderedJson target_line(double target) {
  return {{"mark", {{"type", "rule"}, {"strokeDash", {4, 4}}}},
          {"encoding", {{"x", {{"datum", target}}}, {"y", nullptr}, {"color", nullptr}}}};
}

/// A line through every run's loss.
OrderedJson run_layer(const char* axis, const OrderedJson& items) {
  return {{"mark", {{"type", "tick"}, {"opacity", 0.6}}},
          {"encoding", {{"x", number_axis("loss", axis)}, {"tooltip", items}}}};
}

/// The target as a line through the chart, or as a mark in each row where the tracks' targets differ.
OrderedJson target_layer(const Audit& audit) {
  const double target = audit.groups.front().rule.target;
  const bool is_one = std::all_of(audit.groups.begin(), audit.groups.end(),
                                  [&](const AuditGroup& group) { return group.rule.target == target; });
  if (is_one) return target_line(target);
  return {{"mark", {{"type", "tick"}, {"thickness", 2}, {"size", 18}}},
          {"encoding", {{"x", {{"field", "target"}, {"type", "quantitative"}}}}}};
}

}  // namespace

std::optional<Chart> audit_loss_chart(const Audit& audit) {
  Chart chart{
      .id = "losses",
      .title = "Losses of the logs against the target",
      .text =
          "Final validation loss of every run that counts, and the mean of each group with its 95 % "
          "interval. The target is the dashed line, or a bar in each row where tracks differ: a claim needs its mean "
          "to the left of it."};
  chart.data = {
      .id = "losses",
      .title = "",
      .columns = {text_column("folder", "group"), text_column("file", "file"), number_column("loss", "loss"),
                  number_column("mean", "mean"), number_column("low", "from"), number_column("high", "to"),
                  number_column("n", "n"), text_column("evidence", "evidence"), number_column("target", "target")}};
  for (const AuditGroup& group : audit.groups) {
    const std::string name = name_of(group);
    for (const AuditedRun& run : group.runs) {
      if (!run.is_counted()) continue;
      chart.data.rows.push_back({text_cell(name), text_cell(run.file.name), plotted_cell(run.loss), missing_cell(),
                                 missing_cell(), missing_cell(), missing_cell(), missing_cell(), missing_cell()});
    }
    if (!group.loss.mean) continue;
    const auto interval = interval_of_mean(counted(group, &AuditedRun::loss), group.rule.target);
    chart.data.rows.push_back({text_cell(name), missing_cell(), missing_cell(), plotted_cell(group.loss.mean),
                               low_cell(interval), high_cell(interval), count_cell(group.n),
                               text_cell(enum_name(group.verdict)), plotted_cell(group.rule.target)});
  }
  if (chart.data.rows.empty()) return std::nullopt;
  const char* axis = "validation loss, nats/token";
  chart.spec = column_of(axis);
  chart.spec["layer"] = {
      target_layer(audit),
      run_layer(axis, {tooltip("folder", "group"), tooltip("file", "file"), tooltip("loss", "loss", ".4f")}),
      interval_layer(),
      mean_layer(axis,
                 {tooltip("folder", "group"), tooltip("mean", "mean", ".5f"), tooltip("low", "from", ".5f"),
                  tooltip("high", "to", ".5f"), tooltip("n", "n", "d"), tooltip("evidence", "evidence")},
                 evidence_color())};
  return chart;
}

std::optional<Chart> arm_loss_chart(const ArmComparison& comparison) {
  Chart chart{
      .id = "arms",
      .title = "Final losses of the arms",
      .text =
          "Final validation loss of every run that counts, and the mean of each arm with its own 95 % interval. "
          "The dashed line is the target. The verdicts are those of the table, not of these intervals: two "
          "that overlap may still differ."};
  chart.data = {.id = "arms",
                .title = "",
                .columns = {text_column("arm", "arm"), text_column("log", "log"), number_column("loss", "loss"),
                            number_column("mean", "mean"), number_column("low", "from"), number_column("high", "to"),
                            number_column("n", "n"), text_column("verdict", "verdict")}};
  std::vector<std::string> verdicts(comparison.arms.size(), "control");
  for (std::size_t i = 0; i < comparison.pairs.size(); ++i)
    verdicts[comparison.pairs[i].candidate] = enum_name(comparison.loss[i].verdict);
  for (std::size_t i = 0; i < comparison.arms.size(); ++i) {
    const LogArm& arm = comparison.arms[i];
    for (std::size_t run = 0; run < arm.losses.size(); ++run) {
      const TableCell log = run < arm.curves.size() ? text_cell(arm.curves[run].name) : missing_cell();
      chart.data.rows.push_back({text_cell(arm.name), log, plotted_cell(arm.losses[run]), missing_cell(),
                                 missing_cell(), missing_cell(), missing_cell(), missing_cell()});
    }
    const auto interval = interval_of_mean(arm.losses, comparison.rule.target);
    chart.data.rows.push_back({text_cell(arm.name), missing_cell(), missing_cell(), plotted_cell(mean_of(arm.losses)),
                               low_cell(interval), high_cell(interval),
                               count_cell(static_cast<std::int64_t>(arm.losses.size())), text_cell(verdicts[i])});
  }
  const char* axis = "validation loss, nats/token";
  std::vector<std::string> names;
  for (const LogArm& arm : comparison.arms) names.push_back(arm.name);
  const OrderedJson color = cell_color("arm", names, false);
  chart.spec = column_of(axis, "arm");
  chart.spec["encoding"]["color"] = color;
  const OrderedJson items = {tooltip("arm", "arm"),         tooltip("mean", "mean", ".5f"),
                             tooltip("low", "from", ".5f"), tooltip("high", "to", ".5f"),
                             tooltip("n", "n", "d"),        tooltip("verdict", "verdict")};
  chart.spec["layer"] = {
      target_line(comparison.rule.target),
      run_layer(axis, {tooltip("arm", "arm"), tooltip("log", "log"), tooltip("loss", "loss", ".4f")}), interval_layer(),
      mean_layer(axis, items, color)};
  return chart;
}

std::optional<Chart> audit_time_chart(const Audit& audit) {
  Chart chart{
      .id = "times",
      .title = "Training time: recomputed beside claimed",
      .text =
          "Mean training time of the runs of each group with its 95 % interval. The bar across is the time that "
          "was published for the record of this folder."};
  chart.data = {.id = "times",
                .title = "",
                .columns = {text_column("folder", "group"), text_column("record", "record"),
                            number_column("mean", "minutes, mean"), number_column("low", "from"),
                            number_column("high", "to"), number_column("n", "n"),
                            number_column("claimed", "minutes, published"), text_column("evidence", "evidence")}};
  bool has_claims = false;
  for (const AuditGroup& group : audit.groups) {
    if (!group.train_ms.mean) continue;
    std::vector<double> minutes = counted(group, &AuditedRun::train_ms);
    for (double& value : minutes) value /= kMsPerMinute;
    const auto interval = interval_of_mean(minutes, 0.0);
    has_claims = has_claims || group.record != nullptr;
    chart.data.rows.push_back(
        {text_cell(name_of(group)), group.record != nullptr ? text_cell(group.record->id) : missing_cell(),
         plotted_cell(*group.train_ms.mean / kMsPerMinute), low_cell(interval), high_cell(interval),
         count_cell(group.train_ms.n),
         plotted_cell(group.record != nullptr ? std::optional(group.record->minutes) : std::nullopt),
         text_cell(enum_name(group.verdict))});
  }
  if (!has_claims) return std::nullopt;
  const char* axis = "training time, minutes";
  chart.spec = column_of(axis);
  const OrderedJson items = {tooltip("folder", "group"),
                             tooltip("record", "record"),
                             tooltip("mean", "mean", ".4f"),
                             tooltip("low", "from", ".4f"),
                             tooltip("high", "to", ".4f"),
                             tooltip("n", "n", "d"),
                             tooltip("claimed", "published", ".4~g")};
  const OrderedJson claimed = {{"mark", {{"type", "tick"}, {"thickness", 3}, {"size", 18}}},
                               {"encoding", {{"x", number_axis("claimed", axis)}, {"tooltip", items}}}};
  chart.spec["layer"] = {claimed, interval_layer(), mean_layer(axis, items, evidence_color())};
  return chart;
}

}  // namespace nanobench::reports

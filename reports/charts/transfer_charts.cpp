// Scatter plots of the changes that two scales share.
#include <algorithm>
#include <cmath>
#include <string>

#include "reports/charts/charts.h"
#include "reports/charts/rows.h"
#include "reports/transfer/transfer.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

/// An axis of both scales: from `low` to `high`; linear, or by a symmetric logarithm that is straight up to `straight`.
struct CommonAxis {
  double low = 0.0;
  double high = 0.0;
  std::optional<double> straight;
};

constexpr double kFarEffect = 20.0;  ///< of medians: a larger one would leave the others no room on a straight axis
constexpr double kMaxReach = 1.0;    ///< of the range of the effects: how far intervals may widen the axis

const char* axis_title_of(Question question) {
  switch (question) {
    case Question::kLoss: return "loss, nats/token";
    case Question::kTime: return "training clock, % change";
    case Question::kEqualLoss: break;
  }
  return "time at equal loss, % change";
}

double shown(Question question, double value) {
  return question == Question::kLoss ? value : 100.0 * std::expm1(value);
}

CommonAxis common_axis_of(const Table& data) {
  CommonAxis axis;
  std::vector<double> sizes;
  const auto include = [&](const TableCell& cell, double from, double to) {
    if (!cell.value.is_number()) return;
    axis.low = std::min(axis.low, std::max(cell.value.get<double>(), from));
    axis.high = std::max(axis.high, std::min(cell.value.get<double>(), to));
  };
  for (const auto& row : data.rows) {
    for (const std::size_t column : {1U, 4U}) {
      include(row[column], -kInfinity, kInfinity);
      sizes.push_back(std::abs(row[column].value.get<double>()));
    }
  }
  const double reach = kMaxReach * (axis.high - axis.low);
  const double from = axis.low - reach, to = axis.high + reach;
  for (const auto& row : data.rows) {
    for (const std::size_t column : {2U, 3U, 5U, 6U}) include(row[column], from, to);
  }
  const double middle = median(sizes).value_or(0.0);
  if (middle > 0.0 && *std::max_element(sizes.begin(), sizes.end()) > kFarEffect * middle) axis.straight = middle;
  return axis;
}

/// Whether an interval reaches beyond the axis.
bool cuts(const CommonAxis& axis, const Table& data) {
  const auto is_outside = [&](const TableCell& cell) {
    return cell.value.is_number() && (cell.value.get<double>() < axis.low || cell.value.get<double>() > axis.high);
  };
  return std::any_of(data.rows.begin(), data.rows.end(), [&](const std::vector<TableCell>& row) {
    return is_outside(row[2]) || is_outside(row[3]) || is_outside(row[5]) || is_outside(row[6]);
  });
}

OrderedJson scale_of_axis(const CommonAxis& axis) {
  OrderedJson scale = {{"domain", {axis.low, axis.high}}, {"nice", false}, {"padding", 8}};
  if (axis.straight) {
    scale["type"] = "symlog";
    scale["constant"] = *axis.straight;
  }
  return scale;
}

OrderedJson coordinate(const std::string& field, const std::string& title, const CommonAxis& axis) {
  OrderedJson json = number_axis(field, title);
  json["scale"] = scale_of_axis(axis);
  if (axis.straight) json["axis"] = {{"grid", false}, {"labelOverlap", true}};  // its ticks crowd at both ends
  return json;
}

OrderedJson transfer_spec(const ScalePair& pair, const CommonAxis& axis) {
  const std::string unit = axis_title_of(pair.question);
  const OrderedJson x = coordinate("small", pair.small + ": " + unit, axis);
  const OrderedJson y = coordinate("large", pair.large + ": " + unit, axis);
  const OrderedJson zero = {{"type", "rule"}, {"strokeDash", {2, 4}}, {"opacity", 0.5}};
  const OrderedJson reach = {{"type", "rule"}, {"opacity", 0.45}, {"clip", true}};
  const OrderedJson items = {tooltip("change", "change"),           tooltip("small", pair.small, "+.4~g"),
                             tooltip("small_low", "from", "+.4~g"), tooltip("small_high", "to", "+.4~g"),
                             tooltip("large", pair.large, "+.4~g"), tooltip("large_low", "from", "+.4~g"),
                             tooltip("large_high", "to", "+.4~g"),  tooltip("signs", "signs")};
  const OrderedJson color = {{"field", "signs"},
                             {"type", "nominal"},
                             {"title", "signs"},
                             {"scale", {{"domain", {"same", "opposite", "undecided"}}}}};
  const OrderedJson layers = {
      {{"data", {{"values", {{{"a", axis.low}}, {{"a", axis.high}}}}}},
       {"mark", {{"type", "line"}, {"strokeDash", {6, 4}}, {"color", "#888888"}}},
       {"encoding",
        {{"x", {{"field", "a"}, {"type", "quantitative"}}}, {"y", {{"field", "a"}, {"type", "quantitative"}}}}}},
      {{"mark", zero}, {"encoding", {{"x", {{"datum", 0}}}}}},
      {{"mark", zero}, {"encoding", {{"y", {{"datum", 0}}}}}},
      {{"mark", reach},
       {"encoding",
        {{"x", {{"field", "small_low"}, {"type", "quantitative"}}},
         {"x2", {{"field", "small_high"}}},
         {"y", y},
         {"color", color}}}},
      {{"mark", reach},
       {"encoding",
        {{"x", x},
         {"y", {{"field", "large_low"}, {"type", "quantitative"}}},
         {"y2", {{"field", "large_high"}}},
         {"color", color}}}},
      {{"mark", {{"type", "point"}, {"filled", true}, {"size", 60}}},
       {"encoding", {{"x", x}, {"y", y}, {"color", color}, {"tooltip", items}}}},
      {{"mark", {{"type", "text"}, {"align", "left"}, {"dx", 6}, {"dy", -6}, {"fontSize", 10}, {"limit", 160}}},
       {"encoding", {{"x", x}, {"y", y}, {"text", {{"field", "change"}}}}}}};
  return {{"width", 520}, {"height", 420}, {"layer", layers}};
}

std::optional<Chart> transfer_chart(const Transfer& transfer, const ScalePair& pair, std::size_t number) {
  Chart chart{
      .id = "transfer_" + std::to_string(number),
      .title = std::string("Effects on the ") + title_of(pair.question) + ": " + pair.small + " and " + pair.large,
      .text = "Each point is a change: its effect at " + pair.small + " from left to right, at " + pair.large +
              " upward, with the intervals of both. On the dashed diagonal both are equal; in the lower left and "
              "the upper right quarter the signs agree. Below 0 is better."};
  chart.data = {.id = chart.id,
                .title = "",
                .columns = {text_column("change", "change"), number_column("small", pair.small),
                            number_column("small_low", "from"), number_column("small_high", "to"),
                            number_column("large", pair.large), number_column("large_low", "from"),
                            number_column("large_high", "to"), text_column("signs", "signs")}};
  const auto end = [&](const TransferValue& value, double ConfidenceInterval::*which) {
    return plotted_cell(value.interval ? std::optional(shown(pair.question, *value.interval.*which)) : std::nullopt);
  };
  for (const std::size_t index : pair.changes) {
    const TransferChange& change = transfer.changes[index];
    const std::optional<TransferValue> small = change.value_at(pair.small, pair.question);
    const std::optional<TransferValue> large = change.value_at(pair.large, pair.question);
    if (!small || !large) continue;
    chart.data.rows.push_back({text_cell(change.name), plotted_cell(shown(pair.question, small->value)),
                               end(*small, &ConfidenceInterval::low), end(*small, &ConfidenceInterval::high),
                               plotted_cell(shown(pair.question, large->value)), end(*large, &ConfidenceInterval::low),
                               end(*large, &ConfidenceInterval::high),
                               text_cell(enum_name(signs_of(pair, *small, *large)))});
  }
  if (chart.data.rows.size() < 2) return std::nullopt;
  const CommonAxis axis = common_axis_of(chart.data);
  if (!(axis.high > axis.low)) return std::nullopt;
  if (axis.straight)
    chart.text += " The axes are logarithmic for large effects, because a few are far larger than most.";
  if (cuts(axis, chart.data)) chart.text += " Intervals that reach far beyond the effects are cut at the axes' ends.";
  chart.spec = transfer_spec(pair, axis);
  return chart;
}

}  // namespace

std::vector<Chart> transfer_charts(const Transfer& transfer, std::size_t max) {
  std::vector<Chart> charts;
  for (const ScalePair& pair : transfer.pairs) {
    if (charts.size() == max) break;
    if (std::optional<Chart> chart = transfer_chart(transfer, pair, charts.size() + 1))
      charts.push_back(std::move(*chart));
  }
  return charts;
}

}  // namespace nanobench::reports

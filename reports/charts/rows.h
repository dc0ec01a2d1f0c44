/// Cells, columns and axes that charts share.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "reports/charts/axis_range.h"
#include "reports/comparison/comparison.h"
#include "reports/document/document.h"
#include "reports/stats/estimate.h"

namespace nanobench::reports {

inline constexpr double kBytesPerMebibyte = 1024.0 * 1024.0;

/// A number of a chart's data, with as many digits as a plot shows.
inline TableCell plotted_cell(const std::optional<double>& value, int digits = 6) {
  return significant_cell(value, digits);
}
inline TableCell low_cell(const std::optional<ConfidenceInterval>& interval) {
  return plotted_cell(interval ? std::optional(interval->low) : std::nullopt);
}
inline TableCell high_cell(const std::optional<ConfidenceInterval>& interval) {
  return plotted_cell(interval ? std::optional(interval->high) : std::nullopt);
}

/// Names in the given order, not in alphabetical order.
inline core::OrderedJson name_axis(const std::string& field, const std::string& title = "") {
  core::OrderedJson axis = {{"field", field}, {"type", "nominal"}, {"sort", nullptr}};
  axis["title"] = title.empty() ? core::OrderedJson(nullptr) : core::OrderedJson(title);
  return axis;
}

inline core::OrderedJson number_axis(const std::string& field, const std::string& title) {
  return {{"field", field}, {"type", "quantitative"}, {"title", title}, {"scale", {{"zero", false}}}};
}

/// The colours of cells: the same name has the same colour in every chart of a page, because all scales list all names.
inline core::OrderedJson cell_color(const std::string& field, const std::vector<std::string>& names, bool has_legend) {
  core::OrderedJson color = {{"field", field}, {"type", "nominal"}, {"sort", nullptr}, {"title", nullptr}};
  color["scale"] = {{"domain", names}};
  if (!has_legend) color["legend"] = nullptr;
  return color;
}

inline std::vector<std::string> names_of(const std::vector<CellMeasures>& cells) {
  std::vector<std::string> names;
  for (const CellMeasures& cell : cells) names.push_back(cell.cell.label);
  return names;
}

inline std::vector<std::string> names_of(const ComparisonTable& table) {
  std::vector<std::string> names;
  for (const Comparison& row : table.rows) names.push_back(row.label);
  return names;
}

/// A scale of exactly this range and a little room, so that marks at its ends are whole; the usual one if it is empty.
inline core::OrderedJson range_scale(const AxisRange& range) {
  constexpr double kRoom = 0.04;
  if (!(range.high > range.low)) return {{"zero", false}};
  const double room = kRoom * (range.high - range.low);
  return {{"domain", {range.low - room, range.high + room}}, {"nice", false}, {"zero", false}};
}

/// Where an interval is drawn within the axis, and whether the axis cuts it: four cells, the last ones of a row.
inline std::vector<TableCell> drawn_cells(const std::optional<ConfidenceInterval>& interval, const AxisRange& range) {
  if (!interval) return {missing_cell(), missing_cell(), missing_cell(), missing_cell()};
  const double low = range.inside(interval->low), high = range.inside(interval->high);
  return {plotted_cell(low), plotted_cell(high), yes_no_cell(low != interval->low),
          yes_no_cell(high != interval->high)};
}

inline bool has_cut_ends(const Table& data) {
  return std::any_of(data.rows.begin(), data.rows.end(), [](const std::vector<TableCell>& row) {
    return row[row.size() - 1].value == true || row[row.size() - 2].value == true;
  });
}

/// Arrows at the ends of intervals that the axis cuts. The rows have "drawn_low", "drawn_high", "cut_low", "cut_high".
inline core::OrderedJson cut_layer(const char* end, const char* shape) {
  const std::string name = end;
  return {{"transform", {{{"filter", {{"field", "cut_" + name}, {"equal", true}}}}}},
          {"mark", {{"type", "point"}, {"shape", shape}, {"filled", true}, {"size", 60}, {"opacity", 1}}},
          {"encoding", {{"x", {{"field", "drawn_" + name}, {"type", "quantitative"}}}}}};
}

/// Bars from left to right in rows of `step` pixels, as wide as the page: the frame that "encoding" and marks go into.
inline core::OrderedJson bar_rows(int step) {
  return {
      {"width", "container"}, {"autosize", {{"type", "fit-x"}, {"contains", "padding"}}}, {"height", {{"step", step}}}};
}

inline core::OrderedJson tooltip(const std::string& field, const std::string& title, const std::string& format = "") {
  core::OrderedJson item = {{"field", field}, {"title", title}};
  item["type"] = format.empty() ? "nominal" : "quantitative";
  if (!format.empty()) item["format"] = format;
  return item;
}

}  // namespace nanobench::reports

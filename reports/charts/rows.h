/// Cells, columns and axes that charts share.
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "core/base/text.h"
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

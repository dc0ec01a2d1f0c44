/// Cells of a chart's data.
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "core/base/text.h"
#include "reports/document/document.h"

namespace nanobench::reports {

inline TableCell number_cell(double value, int digits = 6) {
  if (!std::isfinite(value)) return missing_cell();
  return {.text = format_significant(value, digits), .detail = "", .value = value};
}
inline TableCell number_cell(const std::optional<double>& value, int digits = 6) {
  return value ? number_cell(*value, digits) : missing_cell();
}

inline Column number_column(const std::string& key, const std::string& title) {
  return {.key = key, .title = title, .is_number = true};
}

inline Column text_column(const std::string& key, const std::string& title) {
  return {.key = key, .title = title};
}

/// Names in the order in which they are given, not in that of the alphabet.
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

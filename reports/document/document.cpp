#include "reports/document/document.h"

#include <algorithm>

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

/// The same with every string as it can be shown: a drawing shows what it is given.
void make_printable(core::OrderedJson& json) {
  if (json.is_string()) {
    json = printable(json.get_ref<const std::string&>());
  } else if (json.is_structured()) {
    for (core::OrderedJson& item : json) make_printable(item);
  }
}

}  // namespace

TableCell text_cell(const std::string& text) {
  return {.text = text, .detail = "", .value = text};
}

TableCell count_cell(std::int64_t count) {
  return {.text = std::to_string(count), .detail = "", .value = count};
}

TableCell missing_cell() {
  return {.text = "-", .detail = "", .value = nullptr};
}

std::vector<std::string> counted_texts(const std::vector<std::string>& texts) {
  std::vector<std::string> once;
  std::vector<int> times;
  for (const std::string& text : texts) {
    const auto at = static_cast<std::size_t>(std::find(once.begin(), once.end(), text) - once.begin());
    if (at == once.size()) {
      once.push_back(text);
      times.push_back(0);
    }
    ++times[at];
  }
  for (std::size_t i = 0; i < once.size(); ++i) {
    if (times[i] > 1) once[i] += " (" + std::to_string(times[i]) + " times)";
  }
  return once;
}

core::OrderedJson complete_spec(const Chart& chart) {
  core::OrderedJson rows = core::OrderedJson::array();
  for (const std::vector<TableCell>& row : chart.data.rows) {
    core::OrderedJson item = core::OrderedJson::object();
    for (std::size_t i = 0; i < chart.data.columns.size(); ++i) item[chart.data.columns[i].key] = row.at(i).value;
    rows.push_back(std::move(item));
  }
  core::OrderedJson spec = {{"$schema", "https://vega.github.io/schema/vega-lite/v5.json"}};
  spec.update(chart.spec);
  spec["data"] = {{"name", "data"}};
  spec["datasets"] = {{"data", std::move(rows)}};
  make_printable(spec);
  return spec;
}

}  // namespace nanobench::reports

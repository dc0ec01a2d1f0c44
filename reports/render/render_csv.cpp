#include <algorithm>

#include "reports/render/render.h"
#include "results/output_file.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;
using results::csv_field;

std::string csv_value(const OrderedJson& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return csv_field(value.get<std::string>());
  const std::string text = core::safe_dump(value);
  return value.is_primitive() ? text : csv_field(text);
}

/// The sub-columns of one column: "" for plain values, else the keys of its objects in order of first appearance.
std::vector<std::string> keys_of(const Table& table, std::size_t column) {
  std::vector<std::string> keys;
  for (const std::vector<TableCell>& row : table.rows) {
    const OrderedJson& value = row.at(column).value;
    if (!value.is_object()) continue;
    for (const auto& [key, unused] : value.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  if (keys.empty()) keys.emplace_back();
  return keys;
}

std::string csv_of(const Table& table) {
  std::vector<std::vector<std::string>> keys;
  std::string out;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    keys.push_back(keys_of(table, i));
    for (const std::string& key : keys.back()) {
      out += (out.empty() ? "" : ",") + csv_field(table.columns[i].key + (key.empty() ? "" : "." + key));
    }
  }
  out += "\r\n";
  for (const std::vector<TableCell>& row : table.rows) {
    bool is_first = true;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      for (const std::string& key : keys[i]) {
        const OrderedJson& value = row.at(i).value;
        const bool is_there = key.empty() || (value.is_object() && value.contains(key));
        out += (is_first ? "" : ",") + (is_there ? csv_value(key.empty() ? value : value.at(key)) : "");
        is_first = false;
      }
    }
    out += "\r\n";
  }
  return out;
}

}  // namespace

std::string render_csv(const Document& document) {
  for (const Section& section : document.sections) {
    if (!section.tables.empty()) return csv_of(section.tables.front());
  }
  Table facts{.columns = {{.key = "name"}, {.key = "value"}}};
  for (const Section& section : document.sections) {
    for (const Fact& fact : section.facts) facts.rows.push_back({text_cell(fact.key), fact.cell});
  }
  return csv_of(facts);
}

}  // namespace nanobench::reports

#include "reports/document/document.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

/// Makes every string of the specification printable, because a drawing escapes nothing.
void make_printable(core::OrderedJson& json) {
  if (json.is_string()) {
    json = printable(json.get_ref<const std::string&>());
  } else if (json.is_structured()) {
    for (core::OrderedJson& item : json) make_printable(item);
  }
}

}  // namespace

TableCell missing_cell() {
  return value_cell("-", nullptr);
}

TableCell text_cell(const std::string& text) {
  return value_cell(text, text);
}

TableCell text_or_missing(const std::string& text) {
  return text.empty() ? missing_cell() : text_cell(text);
}

TableCell told_unless(const std::string& text, const std::string& plain) {
  return value_cell(text == plain ? "" : text, text);
}

TableCell count_cell(std::int64_t count) {
  return value_cell(std::to_string(count), count);
}

TableCell count_cell(const std::optional<std::int64_t>& count) {
  return count ? count_cell(*count) : missing_cell();
}

TableCell seed_cell(std::uint64_t seed) {
  return value_cell(std::to_string(seed), seed);
}

TableCell yes_no_cell(bool is_so) {
  return value_cell(is_so ? "yes" : "no", is_so);
}

TableCell value_cell(std::string text, core::OrderedJson value, std::string detail) {
  return {.text = std::move(text), .detail = std::move(detail), .value = std::move(value)};
}

TableCell fixed_cell(const std::optional<double>& value, int digits) {
  return number_cell(value, [=](double number) { return format_fixed(number, digits); });
}

TableCell significant_cell(const std::optional<double>& value, int digits) {
  return number_cell(value, [=](double number) { return format_significant(number, digits); });
}

TableCell percent_cell(const std::optional<double>& fraction, int digits) {
  return number_cell(fraction, [=](double number) { return format_percent(number, digits); });
}

TableCell duration_cell(const std::optional<double>& seconds) {
  return number_cell(seconds, format_duration);
}

TableCell bytes_cell(const std::optional<std::int64_t>& bytes) {
  return bytes ? value_cell(format_bytes(static_cast<double>(*bytes)), *bytes) : missing_cell();
}

std::string chance_text(double probability) {
  if (probability > 0.99) return "> 99 %";
  return probability < 0.01 ? "< 1 %" : format_percent(probability, 0);
}

TableCell chance_cell(const std::optional<double>& probability) {
  return number_cell(probability, chance_text);
}

TableCell p_cell(const std::optional<double>& p) {
  return significant_cell(p, 2);
}

TableCell titled_cell(const std::string& title, const std::string& text) {
  TableCell cell = value_cell(title, text);
  if (title != text) cell.more = text;
  return cell;
}

std::vector<bool> shown_columns(const Table& table, std::size_t most) {
  std::vector<bool> shown(table.columns.size(), true);
  for (std::size_t count = table.columns.size(); count > std::max<std::size_t>(most, 1); --count) {
    std::size_t last = 0;
    for (std::size_t i = 1; i < table.columns.size(); ++i) {
      const bool is_later = !shown[last] || last == 0 || table.columns[i].priority >= table.columns[last].priority;
      if (shown[i] && is_later) last = i;
    }
    shown[last] = false;
  }
  return shown;
}

namespace {

bool is_empty(const TableCell& cell) {
  return (cell.text.empty() || cell.text == "-") && cell.detail.empty();
}

}  // namespace

Table without_empty_columns(const Table& table) {
  if (table.rows.empty()) return table;
  Table kept{.id = table.id, .title = table.title, .columns = {}, .rows = {}};
  kept.rows.resize(table.rows.size());
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const bool says_something =
        std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) { return !is_empty(row.at(i)); });
    if (i > 0 && !says_something) continue;
    kept.columns.push_back(table.columns[i]);
    for (std::size_t row = 0; row < table.rows.size(); ++row) kept.rows[row].push_back(table.rows[row].at(i));
  }
  return kept;
}

std::optional<double> number_of(const TableCell& cell) {
  const core::OrderedJson* value = &cell.value;
  for (const char* key : {"mean", "value", "completed", "seeds", "first"}) {
    if (!value->is_object()) break;
    if (const auto found = value->find(key); found != value->end()) value = &*found;
  }
  return value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
}

std::vector<Fact> told_facts(const std::vector<Fact>& facts) {
  std::vector<Fact> told;
  std::copy_if(facts.begin(), facts.end(), std::back_inserter(told),
               [](const Fact& fact) { return !is_empty(fact.cell); });
  return told;
}

std::vector<TextPart> text_parts(const std::string& text) {
  std::vector<TextPart> parts;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t open = text.find('`', at);
    const std::size_t close = open == std::string::npos ? open : text.find('`', open + 1);
    if (close == std::string::npos) break;
    if (open > at) parts.push_back({.text = text.substr(at, open - at)});
    if (close > open + 1) parts.push_back({.text = text.substr(open + 1, close - open - 1), .is_code = true});
    at = close + 1;
  }
  if (at < text.size()) parts.push_back({.text = text.substr(at)});
  return parts;
}

core::OrderedJson json_of(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? core::OrderedJson(*value) : core::OrderedJson(nullptr);
}

Column text_column(const std::string& key, const std::string& title, int priority) {
  return {.key = key, .title = title, .priority = priority};
}

Column number_column(const std::string& key, const std::string& title, int priority) {
  return {.key = key, .title = title, .is_number = true, .priority = priority};
}

Column wide_column(const std::string& key, const std::string& title, int priority) {
  return {.key = key, .title = title, .wraps = true, .priority = priority};
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

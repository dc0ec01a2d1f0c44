#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "core/base/base64.h"
#include "core/base/text.h"
#include "reports/render/render.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kMaxShownColumns = 240;  ///< of running text in a table; longer text shows only its beginning
constexpr std::size_t kShownColumns = 120;
constexpr std::size_t kMaxStaticRows = 200;  ///< a longer table under a chart is built when it is opened
constexpr std::size_t kMaxLowRows = 30;      ///< a longer table scrolls in its own frame, under its header

std::string cell_html(const TableCell& cell) {
  return escape_markup(cell.text) + (cell.detail.empty() ? "" : "<small>" + escape_markup(cell.detail) + "</small>");
}

/// The beginning of a long text, which opens on request: one row must not push the others off the screen.
std::string long_cell_html(const TableCell& cell) {
  return "<details class=\"long\"><summary>" + escape_markup(shortened(cell.text, kShownColumns)) + "</summary>" +
         cell_html(cell) + "</details>";
}

std::string class_of(const Column& column) {
  if (column.is_number) return " class=\"number\"";
  return column.wraps ? " class=\"wide\"" : "";
}

/// A scrolling frame that keyboards can reach and screen readers can name.
std::string scroll_tag(const std::string& name, std::size_t rows) {
  return std::string("<div class=\"scroll") + (rows > kMaxLowRows ? " tall" : "") +
         "\" tabindex=\"0\" role=\"region\" aria-label=\"" + escape_markup(name) + "\">";
}

void add_table(std::string& out, const Table& table, const std::string& name) {
  out += scroll_tag(name, table.rows.size()) + "<table>\n<thead><tr>";
  for (const Column& column : table.columns) {
    out += "<th scope=\"col\"" + class_of(column) + ">" + escape_markup(column.title) + "</th>";
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<TableCell>& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const bool is_long = table.columns[i].wraps && display_width(row.at(i).text) > kMaxShownColumns;
      out += "<td" + class_of(table.columns[i]) + ">" + (is_long ? long_cell_html(row[i]) : cell_html(row.at(i))) +
             "</td>";
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
}

void add_list(std::string& out, const std::vector<std::string>& items) {
  if (items.empty()) return;
  out += "<ul class=\"notes\">\n";
  for (const std::string& item : items) out += "<li>" + escape_markup(item) + "</li>\n";
  out += "</ul>\n";
}

/// A list; a long one is folded.
void add_remarks(std::string& out, const std::vector<std::string>& items) {
  if (items.size() <= kMaxShownRemarks) return add_list(out, items);
  out += "<details><summary>" + counted(static_cast<std::int64_t>(items.size()), "remark") + "</summary>\n";
  add_list(out, items);
  out += "</details>\n";
}

void add_folded(std::string& out, const char* summary, const std::vector<std::string>& items) {
  if (items.empty()) return;
  out += std::string("<details class=\"reading\"><summary>") + summary + "</summary>\n";
  add_list(out, items);
  out += "</details>\n";
}

/// One box with a line for each warning.
void add_warnings(std::string& out, const std::vector<std::string>& warnings) {
  if (warnings.empty()) return;
  const std::vector<std::string> lines = counted_texts(warnings);
  if (lines.size() == 1) {
    out += "<p class=\"warning\"><strong>Warning:</strong> " + escape_markup(lines.front()) + "</p>\n";
    return;
  }
  out += "<div class=\"warning\"><strong>" + std::to_string(lines.size()) + " warnings</strong>\n<ul>\n";
  const std::size_t shown = std::min(lines.size(), kMaxShownWarnings);
  for (std::size_t i = 0; i < shown; ++i) out += "<li>" + escape_markup(lines[i]) + "</li>\n";
  out += "</ul>\n";
  if (lines.size() > shown) {
    out += "<details><summary>" + std::to_string(lines.size() - shown) + " more</summary>\n<ul>\n";
    for (std::size_t i = shown; i < lines.size(); ++i) out += "<li>" + escape_markup(lines[i]) + "</li>\n";
    out += "</ul>\n</details>\n";
  }
  out += "</div>\n";
}

/// JSON that is safe inside a script element.
std::string json_in_script(const core::OrderedJson& json) {
  std::string out;
  for (const char c : core::safe_dump(json)) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string columns_json(const Table& table) {
  core::OrderedJson columns = core::OrderedJson::array();
  for (const Column& column : table.columns) columns.push_back({{"key", column.key}, {"title", column.title}});
  return core::safe_dump(columns);
}

/// The shortest text that reads back as the same number; for float32 values, as the same float.
void add_number(std::string& out, const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return;
  std::array<char, 32> buffer{};
  const auto narrow = static_cast<float>(*value);
  const bool is_narrow = static_cast<double>(narrow) == *value;
  char* const begin = buffer.data();
  char* const end = begin + buffer.size();
  const auto done = is_narrow ? std::to_chars(begin, end, narrow) : std::to_chars(begin, end, *value);
  out.append(begin, static_cast<std::size_t>(done.ptr - begin));
}

/// {"columns": [...], "blocks": [[names, "rows, one per line"]]}: a page reads it on request.
void add_full_data(std::string& out, const FullData& full) {
  if (full.blocks.empty()) return;
  core::OrderedJson columns = full.name_columns;
  for (const std::string& column : full.columns) columns.push_back(column);
  core::OrderedJson blocks = core::OrderedJson::array();
  for (const FullData::Block& block : full.blocks) {
    std::string rows;
    for (std::size_t i = 0; i < block.values.size(); ++i) {
      if (i > 0) rows += i % full.columns.size() == 0 ? '\n' : ',';
      add_number(rows, block.values[i]);
    }
    core::OrderedJson names = core::OrderedJson::array();
    for (const std::string& name : block.names) names.push_back(printable(name));
    blocks.push_back({std::move(names), std::move(rows)});
  }
  out += "<script type=\"text/plain\" class=\"full\">" +
         json_in_script({{"columns", std::move(columns)}, {"blocks", std::move(blocks)}}) + "</script>\n";
}

void add_chart(std::string& out, const Chart& chart, const char* heading) {
  const std::string table_name = chart.title + ": the data";
  const bool is_long = chart.data.rows.size() > kMaxStaticRows;
  out += "<figure id=\"chart_" + escape_markup(chart.id) + "\" data-chart=\"" + escape_markup(chart.id) +
         "\" data-columns=\"" + escape_markup(columns_json(chart.data)) + "\">\n<" + heading + ">" +
         escape_markup(chart.title) + "</" + heading + ">\n<div class=\"plot\"></div>\n<figcaption>" +
         escape_markup(chart.text) + "</figcaption>\n";
  out += "<div class=\"actions\"></div>\n";
  out += std::string("<details") + (is_long ? " data-fill" : "") + "><summary>The data as a table (" +
         std::to_string(chart.data.rows.size()) + " rows)</summary>";
  if (is_long) {
    out += scroll_tag(table_name, chart.data.rows.size()) + "</div>";
  } else {
    add_table(out, chart.data, table_name);
  }
  out += "</details>\n<script type=\"application/json\">" + json_in_script(complete_spec(chart)) + "</script>\n";
  add_full_data(out, chart.full);
  out += "</figure>\n";
}

void add_section(std::string& out, const Section& section) {
  out += "<section>\n";
  if (!section.title.empty()) out += "<h2>" + escape_markup(section.title) + "</h2>\n";
  for (const std::string& paragraph : section.paragraphs) out += "<p>" + escape_markup(paragraph) + "</p>\n";
  if (!section.facts.empty()) {
    out += "<dl>\n";
    for (const Fact& fact : section.facts) {
      out += "<dt>" + escape_markup(fact.title) + "</dt><dd>" + cell_html(fact.cell) + "</dd>\n";
    }
    out += "</dl>\n";
  }
  add_remarks(out, section.bullets);
  for (const Table& table : section.tables) {
    if (!table.title.empty()) out += "<h2>" + escape_markup(table.title) + "</h2>\n";
    add_table(out, table, table.title.empty() ? "Table" : table.title);
  }
  add_folded(out, "How to read this table", section.reading);
  for (const Chart& chart : section.charts) add_chart(out, chart, section.title.empty() ? "h2" : "h3");
  out += "</section>\n";
}

bool has_charts(const Document& document) {
  return std::any_of(document.sections.begin(), document.sections.end(),
                     [](const Section& section) { return !section.charts.empty(); });
}

/// "'sha256-...'", a script's name in a policy.
std::string policy_source(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return "'sha256-" + core::to_base64(bytes) + "'";
}

/// Nothing may be loaded, and only our two scripts may run, whatever an imported text contains. Vega compiles the
/// specifications' expressions, which are also ours.
std::string policy(bool has_scripts) {
  std::string text =
      "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
  if (has_scripts) {
    text +=
        "; script-src 'unsafe-eval' " + policy_source(vega_bundle().sha256) + " " + policy_source(page_script().sha256);
  }
  return text;
}

void add_scripts(std::string& out) {
  for (const EmbeddedBytes& script : {vega_bundle(), page_script()})
    out.append("<script>").append(script.text).append("</script>\n");
}

}  // namespace

std::string render_html(const Document& document) {
  const bool has_scripts = has_charts(document) && !vega_bundle().text.empty();
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out += "<meta http-equiv=\"Content-Security-Policy\" content=\"" + policy(has_scripts) + "\">\n";
  out += "<title>" + escape_markup(document.title) + "</title>\n<style>\n";
  out.append(page_style().text).append("</style>\n</head>\n<body>\n<main>\n");
  out += "<h1>" + escape_markup(document.title) + "</h1>\n";
  if (!document.headline.empty()) out += "<p class=\"headline\">" + escape_markup(document.headline) + "</p>\n";
  add_warnings(out, document.warnings);
  for (const Section& section : document.sections) add_section(out, section);
  add_remarks(out, document.notes);
  add_folded(out, "How to read this report", document.reading);
  out += "</main>\n";
  if (has_scripts) add_scripts(out);
  return out + "</body>\n</html>\n";
}

}  // namespace nanobench::reports

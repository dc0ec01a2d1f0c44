#include "reports/render/render.h"
#include "reports/text.h"

namespace nanobench::reports {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --soft: #59636e; --line: #d1d9e0; --stripe: #f6f8fa;
        --warn: #9a3c00; --warn-paper: #fff4e5; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --soft: #9aa4af; --line: #30363d; --stripe: #161b22;
          --warn: #ffb77c; --warn-paper: #2d1f10; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 90rem; background: var(--paper); color: var(--ink);
       font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.25rem; margin-top: 2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .92rem; }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { border-bottom: 2px solid var(--line); vertical-align: bottom; }
td.wide { min-width: 14rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tbody tr:nth-child(even) { background: var(--stripe); }
small { color: var(--soft); display: block; }
.warning { background: var(--warn-paper); color: var(--warn); border-left: 4px solid currentColor;
           padding: .5rem .8rem; margin: .5rem 0; }
.notes { color: var(--soft); font-size: .9rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dt { margin-top: .4rem; } }
@media print { body { max-width: none; padding: 0; } .scroll { overflow: visible; } table { font-size: .7rem; } }
)";

std::string cell_html(const TableCell& cell) {
  return escape_markup(cell.text) + (cell.detail.empty() ? "" : "<small>" + escape_markup(cell.detail) + "</small>");
}

std::string class_of(const Column& column) {
  if (column.is_number) return " class=\"number\"";
  return column.wraps ? " class=\"wide\"" : "";
}

void add_table(std::string& out, const Table& table) {
  if (!table.title.empty()) out += "<h2>" + escape_markup(table.title) + "</h2>\n";
  out += "<div class=\"scroll\"><table>\n<thead><tr>";
  for (const Column& column : table.columns) {
    out += "<th scope=\"col\"" + class_of(column) + ">" + escape_markup(column.title) + "</th>";
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<TableCell>& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      out += "<td" + class_of(table.columns[i]) + ">" + cell_html(row.at(i)) + "</td>";
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

void add_section(std::string& out, const Section& section) {
  if (!section.title.empty()) out += "<h2>" + escape_markup(section.title) + "</h2>\n";
  for (const std::string& paragraph : section.paragraphs) out += "<p>" + escape_markup(paragraph) + "</p>\n";
  if (!section.facts.empty()) {
    out += "<dl>\n";
    for (const Fact& fact : section.facts) {
      out += "<dt>" + escape_markup(fact.title) + "</dt><dd>" + cell_html(fact.cell) + "</dd>\n";
    }
    out += "</dl>\n";
  }
  add_list(out, section.bullets);
  for (const Table& table : section.tables) add_table(out, table);
}

}  // namespace

std::string render_html(const Document& document) {
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  // Nothing may be loaded or run, whatever an imported text holds.
  out += "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n";
  out += "<title>" + escape_markup(document.title) + "</title>\n<style>" + kStyle + "</style>\n</head>\n<body>\n";
  out += "<h1>" + escape_markup(document.title) + "</h1>\n";
  for (const std::string& warning : document.warnings) {
    out += "<p class=\"warning\">Warning: " + escape_markup(warning) + "</p>\n";
  }
  for (const Section& section : document.sections) add_section(out, section);
  add_list(out, document.notes);
  return out + "</body>\n</html>\n";
}

}  // namespace nanobench::reports

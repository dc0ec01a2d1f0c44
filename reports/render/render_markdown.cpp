#include <cctype>
#include <cstdio>
#include <string_view>

#include "reports/render/render.h"
#include "reports/text.h"

namespace nanobench::reports {
namespace {

/// Text that Markdown and the HTML inside it take literally.
std::string escape(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '|':
      case '`':
      case '*':
      case '_':
      case '[':
      case ']':
      case '\\':
        out += '\\';
        out += c;
        break;
      default: out += c;
    }
  }
  return out;
}

/// A path as the target of a link: what could end it is written in hexadecimal.
std::string link_target(const std::string& path) {
  std::string out;
  for (const char c : path) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(c)) || std::string_view("/._-~").find(c) != std::string_view::npos;
    if (is_plain) {
      out += c;
      continue;
    }
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
    out += code;
  }
  return out;
}

/// A spread stands beside its number, a remark on a line of its own.
std::string cell_text(const TableCell& cell) {
  if (cell.text.empty() || cell.detail.empty()) return escape(cell.text + cell.detail);
  return escape(cell.text) + (cell.value.is_string() ? "<br>" : " ") + escape(cell.detail);
}

void add_table(std::string& out, const Table& table) {
  if (!table.title.empty()) out += "### " + escape(table.title) + "\n\n";
  out += "|";
  for (const Column& column : table.columns) out += " " + escape(column.title) + " |";
  out += "\n|";
  for (const Column& column : table.columns) out += column.is_number ? " ---: |" : " --- |";
  out += "\n";
  for (const std::vector<TableCell>& row : table.rows) {
    out += "|";
    for (const TableCell& cell : row) out += " " + cell_text(cell) + " |";
    out += "\n";
  }
  out += "\n";
}

/// Where somebody has drawn it.
void add_chart(std::string& out, const Chart& chart) {
  if (chart.file.empty()) return;
  out += "### " + escape(chart.title) + "\n\n![" + escape(chart.title) + "](" + link_target(chart.file) + ")\n\n" +
         escape(chart.text) + "\n\n";
}

}  // namespace

std::string render_markdown(const Document& document) {
  std::string out = "# " + escape(document.title) + "\n\n";
  for (const Section& section : document.sections) {
    if (!section.title.empty()) out += "## " + escape(section.title) + "\n\n";
    for (const std::string& paragraph : section.paragraphs) out += escape(paragraph) + "\n\n";
    for (const Fact& fact : section.facts) out += "- **" + escape(fact.title) + "**: " + cell_text(fact.cell) + "\n";
    for (const std::string& bullet : section.bullets) out += "- " + escape(bullet) + "\n";
    if (!section.facts.empty() || !section.bullets.empty()) out += "\n";
    for (const Table& table : section.tables) add_table(out, table);
    for (const Chart& chart : section.charts) add_chart(out, chart);
  }
  for (const std::string& warning : document.warnings) out += "> **Warning:** " + escape(warning) + "\n\n";
  for (const std::string& note : document.notes) out += "- " + escape(note) + "\n";
  return out;
}

}  // namespace nanobench::reports

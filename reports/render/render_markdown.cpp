#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string_view>

#include "core/base/text.h"
#include "reports/render/render.h"

namespace nanobench::reports {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// Escapes text so that it is literal in Markdown and in the HTML inside it. A zero-width character keeps GitHub from
/// notifying the person behind an @name and from linking the thread behind a #number.
std::string escape(const std::string& text) {
  constexpr const char* kNothing = "&#8203;";
  std::string out;
  const std::string plain = printable(text);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[i], next = i + 1 < plain.size() ? plain[i + 1] : ' ';
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
      case '~':
      case '\\':
        out += '\\';
        out += c;
        break;
      case '@': out += is_word(next) ? std::string("@") + kNothing : "@"; break;
      case '#': out += is_word(next) ? std::string("#") + kNothing : "#"; break;
      default: out += c;
    }
  }
  return out;
}

/// The same at the beginning of a line, where headings, lists, rules and indented code begin.
std::string escape_line(const std::string& text) {
  std::string out = escape(text);
  out.erase(0, std::min(out.find_first_not_of(' '), out.size()));
  if (out.empty()) return out;
  const std::size_t digits = std::min(out.find_first_not_of("0123456789"), out.size());
  if (std::string_view("#+-=").find(out.front()) != std::string_view::npos) {
    out.insert(0, "\\");
  } else if (digits > 0 && digits < out.size() && (out[digits] == '.' || out[digits] == ')')) {
    out.insert(digits, "\\");
  }
  return out;
}

/// Running text with commands in it, at the beginning of a line or (is_line) in one.
std::string escape_prose(const std::string& text, bool is_line = true) {
  std::string out;
  for (const TextPart& part : text_parts(text)) {
    if (part.is_code) {
      out += "<code>" + escape(part.text) + "</code>";
    } else {
      out += out.empty() && is_line ? escape_line(part.text) : escape(part.text);
    }
  }
  return out;
}

/// A path as a link target; characters that could end it are percent-encoded.
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

/// Only pages on the web: files beside a page are not beside its Markdown.
std::string linked(const std::string& text, const std::string& address) {
  constexpr std::string_view kWeb = "https://";
  if (!address.starts_with(kWeb)) return text;
  return "[" + text + "](" + std::string(kWeb) + link_target(address.substr(kWeb.size())) + ")";
}

/// A spread stands beside its number, a remark on a line of its own.
std::string cell_text(const TableCell& cell) {
  if (cell.text.empty()) return escape(cell.detail);
  const std::string text = linked(escape(cell.text), cell.link);
  if (cell.detail.empty()) return text;
  return text + (cell.value.is_string() ? "<br>" : " ") + escape(cell.detail);
}

void append_table(std::string& out, const Table& whole) {
  const Table table = without_empty_columns(whole);
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

/// Only if a drawing exists.
void append_chart(std::string& out, const Chart& chart) {
  if (chart.file.empty()) return;
  out += "### " + escape(chart.title) + "\n\n![" + escape(chart.title) + "](" + link_target(chart.file) + ")\n\n" +
         escape_line(chart.text) + "\n\n";
}

void append_list(std::string& out, const std::vector<std::string>& items) {
  for (const std::string& item : items) out += "- " + escape_prose(item) + "\n";
  if (!items.empty()) out += "\n";
}

void append_folded(std::string& out, const std::string& summary, const std::vector<std::string>& items) {
  if (items.empty()) return;
  out += "<details><summary>" + summary + "</summary>\n\n";
  append_list(out, items);
  out += "</details>\n\n";
}

/// The answers, an item each.
void append_cards(std::string& out, const std::vector<Card>& cards) {
  for (const Card& card : cards) {
    out += "- **" + linked(escape(card.title), card.link) + (card.verdict.empty() ? "" : ": " + escape(card.verdict)) +
           "**";
    if (!card.text.empty()) out += " (" + escape(card.text) + ")";
    for (const std::string& line : card.lines) out += " " + escape_prose(line, false);
    out += "\n";
  }
  if (!cards.empty()) out += "\n";
}

/// A list; a long one is folded.
void append_remarks(std::string& out, const std::vector<std::string>& items) {
  if (items.size() <= kMaxShownRemarks) return append_list(out, items);
  append_folded(out, std::to_string(items.size()) + " remarks", items);
}

/// One block quote with a line for each warning.
void append_warnings(std::string& out, const std::vector<std::string>& warnings) {
  if (warnings.empty()) return;
  const std::vector<std::string> lines = counted_texts(warnings);
  if (lines.size() == 1) {
    out += "> **Warning:** " + escape_prose(lines.front(), false) + "\n\n";
    return;
  }
  out += "> **" + std::to_string(lines.size()) + " warnings**\n>\n";
  const std::size_t shown = std::min(lines.size(), kMaxShownWarnings);
  for (std::size_t i = 0; i < shown; ++i) out += "> - " + escape_prose(lines[i]) + "\n";
  out += "\n";
  append_folded(out, std::to_string(lines.size() - shown) + " more warnings",
                {lines.begin() + static_cast<std::ptrdiff_t>(shown), lines.end()});
}

}  // namespace

std::string render_markdown(const Document& document) {
  std::string out = "# " + escape(document.title) + "\n\n";
  if (!document.headline.empty()) out += "**" + escape_prose(document.headline, false) + "**\n\n";
  append_cards(out, document.cards);
  append_warnings(out, document.warnings);
  for (const Section& section : document.sections) {
    if (!section.title.empty()) out += "## " + escape(section.title) + "\n\n";
    for (const std::string& paragraph : section.paragraphs) out += escape_prose(paragraph) + "\n\n";
    const std::vector<Fact> facts = told_facts(section.facts);
    for (const Fact& fact : facts) out += "- **" + escape(fact.title) + "**: " + cell_text(fact.cell) + "\n";
    if (!facts.empty()) out += "\n";
    append_remarks(out, section.bullets);
    for (const Table& table : section.tables) append_table(out, table);
    append_folded(out, "How to read this table", section.reading);
    for (const Chart& chart : section.charts) append_chart(out, chart);
    for (const Link& link : section.links) {
      const std::string text = linked(escape(link.title), link.target);
      if (text != escape(link.title)) out += text + "\n\n";
    }
  }
  append_remarks(out, document.notes);
  append_folded(out, "How to read this report", document.reading);
  return out;
}

}  // namespace nanobench::reports

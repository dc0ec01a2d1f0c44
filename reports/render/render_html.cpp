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

constexpr std::size_t kMaxShownWidth = 240;  ///< of running text in a table; longer text shows only its beginning
constexpr std::size_t kShownWidth = 120;
constexpr std::size_t kMaxStaticRows = 200;  ///< a longer table under a chart is built when it is opened
constexpr std::size_t kMinSortedRows = 3;    ///< as in page.js
constexpr std::size_t kMaxLowRows = 30;      ///< a longer table scrolls in its own frame, under its header

/// Text with commands in it.
std::string prose_html(const std::string& text) {
  std::string out;
  for (const TextPart& part : text_parts(text))
    out += part.is_code ? "<code>" + escape_markup(part.text) + "</code>" : escape_markup(part.text);
  return out;
}

/// Only addresses that cannot run anything: pages on the web and files beside this one.
bool is_safe(const std::string& target) {
  if (target.starts_with("https://")) return true;
  return !target.empty() && target.find_first_of(":\\") == std::string::npos && target.front() != '/';
}

std::string link_html(const std::string& html, const std::string& target) {
  return is_safe(target) ? "<a href=\"" + escape_markup(target) + "\">" + html + "</a>" : html;
}

std::string detail_html(const TableCell& cell) {
  return cell.detail.empty() ? "" : "<small>" + escape_markup(cell.detail) + "</small>";
}

std::string cell_html(const TableCell& cell) {
  return link_html(escape_markup(cell.text), cell.link) + detail_html(cell);
}

/// A short text that opens on request: one row must not push the others off the screen.
std::string opening_html(const std::string& title, const std::string& rest, const std::string& detail) {
  return "<details class=\"long\"><summary>" + escape_markup(title) + "</summary>" + rest + "</details>" + detail;
}

std::string cell_html(const Column& column, const TableCell& cell) {
  if (!cell.more.empty()) return opening_html(cell.text, escape_markup(cell.more), detail_html(cell));
  const bool is_long = column.wraps && display_width(cell.text) > kMaxShownWidth;
  return is_long ? opening_html(shortened(cell.text, kShownWidth), cell_html(cell), "") : cell_html(cell);
}

/// The classes of a column's cells: "extra" ones appear on request.
std::string class_of(const Column& column, bool is_shown) {
  std::string names = column.is_number ? "number" : column.wraps ? "wide" : "";
  if (!is_shown) names += names.empty() ? "extra" : " extra";
  return names.empty() ? "" : " class=\"" + names + "\"";
}

/// A scrolling frame that keyboards can reach and screen readers can name.
std::string scroll_tag(const std::string& name, std::size_t rows) {
  return std::string("<div class=\"scroll") + (rows > kMaxLowRows ? " tall" : "") +
         "\" tabindex=\"0\" role=\"region\" aria-label=\"" + escape_markup(name) + "\">";
}

/// What a script sorts the rows by, where the text does not show it.
std::string key_of(const Column& column, const TableCell& cell) {
  const std::optional<double> number = column.is_number ? number_of(cell) : std::nullopt;
  return number ? " data-key=\"" + core::safe_dump(core::OrderedJson(*number)) + "\"" : "";
}

void add_rows(std::string& out, const Table& table, const std::vector<bool>& shown) {
  out += "<table>\n<thead><tr>";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    out += "<th scope=\"col\"" + class_of(column, shown[i]) + ">" + escape_markup(column.title) + "</th>";
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<TableCell>& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const Column& column = table.columns[i];
      out += "<td" + class_of(column, shown[i]) + key_of(column, row.at(i)) + ">" + cell_html(column, row[i]) + "</td>";
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
}

void add_table(std::string& out, const Table& table, const std::string& name) {
  out += scroll_tag(name, table.rows.size());
  add_rows(out, table, std::vector<bool>(table.columns.size(), true));
}

/// The columns that matter; a box, which needs no script, shows the others.
void add_section_table(std::string& out, const Table& whole, const std::string& name) {
  const Table table = without_empty_columns(whole);
  const std::vector<bool> shown = shown_columns(table);
  const bool has_more = std::find(shown.begin(), shown.end(), false) != shown.end();
  const std::string id = escape_markup(table.id);
  out += "<div class=\"table\" id=\"table_" + id + "\">\n";
  if (has_more) {
    out += "<input type=\"checkbox\" class=\"all\" id=\"all_" + id + "\"><label for=\"all_" + id + "\">All " +
           std::to_string(table.columns.size()) + " columns</label>\n";
  }
  out += scroll_tag(name, table.rows.size());
  add_rows(out, table, shown);
  out += "</div>\n";
}

void add_list(std::string& out, const std::vector<std::string>& items) {
  if (items.empty()) return;
  out += "<ul class=\"notes\">\n";
  for (const std::string& item : items) out += "<li>" + prose_html(item) + "</li>\n";
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
    out += "<p class=\"warning\"><strong>Warning:</strong> " + prose_html(lines.front()) + "</p>\n";
    return;
  }
  out += "<div class=\"warning\"><strong>" + std::to_string(lines.size()) + " warnings</strong>\n<ul>\n";
  const std::size_t shown = std::min(lines.size(), kMaxShownWarnings);
  for (std::size_t i = 0; i < shown; ++i) out += "<li>" + prose_html(lines[i]) + "</li>\n";
  out += "</ul>\n";
  if (lines.size() > shown) {
    out += "<details><summary>" + std::to_string(lines.size() - shown) + " more</summary>\n<ul>\n";
    for (std::size_t i = shown; i < lines.size(); ++i) out += "<li>" + prose_html(lines[i]) + "</li>\n";
    out += "</ul>\n</details>\n";
  }
  out += "</div>\n";
}

/// A line does not end between a number and its "%".
std::string with_whole_numbers(std::string html) {
  for (std::size_t at = html.find(" %"); at != std::string::npos; at = html.find(" %", at))
    html.replace(at, 1, "&nbsp;");
  return html;
}

/// The answers side by side.
void add_cards(std::string& out, const std::vector<Card>& cards) {
  if (cards.empty()) return;
  out += "<ul class=\"cards\" aria-label=\"The answers\">\n";
  for (const Card& card : cards) {
    out += std::string("<li class=\"card ") + enum_name(card.tone) + "\">\n<strong>" +
           link_html(escape_markup(card.title), card.link) + "</strong>\n";
    if (!card.verdict.empty()) out += "<span class=\"badge\">" + escape_markup(card.verdict) + "</span>\n";
    if (!card.text.empty()) out += "<p class=\"about\">" + escape_markup(card.text) + "</p>\n";
    for (const std::string& line : card.lines) out += "<p>" + with_whole_numbers(prose_html(line)) + "</p>\n";
    out += "</li>\n";
  }
  out += "</ul>\n";
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
         "\" data-columns=\"" + escape_markup(columns_json(chart.data)) + "\"" +
         (chart.is_curves ? " data-curves" : "") + ">\n<" + heading + ">" + escape_markup(chart.title) + "</" +
         heading + ">\n<div class=\"plot\">" + chart.still + "</div>\n<figcaption>" + escape_markup(chart.text) +
         "</figcaption>\n";
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

/// What a section holds below its title.
void add_content(std::string& out, const Section& section) {
  for (const std::string& paragraph : section.paragraphs) out += "<p>" + prose_html(paragraph) + "</p>\n";
  const std::vector<Fact> facts = told_facts(section.facts);
  if (!facts.empty()) {
    out += "<dl>\n";
    for (const Fact& fact : facts) {
      out += "<dt>" + escape_markup(fact.title) + "</dt><dd>" + cell_html(fact.cell) + "</dd>\n";
    }
    out += "</dl>\n";
  }
  add_remarks(out, section.bullets);
  const char* const heading = section.title.empty() ? "h2" : "h3";
  for (const Table& table : section.tables) {
    if (!table.title.empty())
      out += std::string("<") + heading + ">" + escape_markup(table.title) + "</" + heading + ">\n";
    const std::string& name = table.title.empty() ? section.title : table.title;
    add_section_table(out, table, name.empty() ? "Table" : name);
  }
  add_folded(out, "How to read this table", section.reading);
  for (const Chart& chart : section.charts) add_chart(out, chart, heading);
  for (const Link& link : section.links) out += "<p>" + link_html(escape_markup(link.title), link.target) + "</p>\n";
}

std::string anchor_of(std::size_t section) {
  return "section_" + std::to_string(section + 1);
}

void add_section(std::string& out, const Section& section, std::size_t number) {
  out += "<section id=\"" + anchor_of(number) + "\"" + (section.is_background ? " class=\"background\"" : "") + ">\n";
  if (!section.title.empty()) out += "<h2>" + escape_markup(section.title) + "</h2>\n";
  const bool is_folded = section.is_background && !section.title.empty();
  if (is_folded) out += "<details class=\"part\"><summary>Open this part</summary>\n";
  add_content(out, section);
  out += is_folded ? "</details>\n</section>\n" : "</section>\n";
}

/// Links to the sections, if there are enough to get lost in.
void add_contents(std::string& out, const std::vector<Section>& sections) {
  constexpr std::ptrdiff_t kMinSections = 4;
  const auto has_title = [](const Section& section) { return !section.title.empty(); };
  if (std::count_if(sections.begin(), sections.end(), has_title) < kMinSections) return;
  out += "<nav aria-label=\"Contents\">\n<ul>\n";
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (sections[i].title.empty()) continue;
    out += "<li><a href=\"#" + anchor_of(i) + "\">" + escape_markup(sections[i].title) + "</a></li>\n";
  }
  out += "</ul>\n</nav>\n";
}

bool has_charts(const Document& document) {
  return std::any_of(document.sections.begin(), document.sections.end(),
                     [](const Section& section) { return !section.charts.empty(); });
}

/// A report of so many changes that paper has room for the beginning of its tables, and for its main chart alone.
bool is_about_many(const Document& document) {
  const auto is_high = [](const Table& table) { return table.rows.size() > kMaxLowRows; };
  const bool has_high_table =
      std::any_of(document.sections.begin(), document.sections.end(), [&](const Section& section) {
        return !section.is_background && std::any_of(section.tables.begin(), section.tables.end(), is_high);
      });
  return has_high_table && !document.cards.empty() && !document.sections.front().charts.empty();
}

/// A table with an order to choose.
bool has_sorted_table(const Document& document) {
  const auto is_long = [](const Table& table) { return table.rows.size() >= kMinSortedRows; };
  return std::any_of(document.sections.begin(), document.sections.end(), [&](const Section& section) {
    return std::any_of(section.tables.begin(), section.tables.end(), is_long);
  });
}

/// "'sha256-...'", a script's name in a policy.
std::string policy_source(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return "'sha256-" + core::to_base64(bytes) + "'";
}

/// The scripts of a page: what draws charts, and what sorts tables.
std::vector<EmbeddedBytes> scripts_of(const Document& document) {
  const bool draws = has_charts(document) && !vega_bundle().text.empty();
  if (draws) return {vega_bundle(), page_script()};
  return has_sorted_table(document) ? std::vector<EmbeddedBytes>{page_script()} : std::vector<EmbeddedBytes>();
}

/// Nothing may be loaded, and only our scripts may run, whatever an imported text contains. Vega compiles the
/// specifications' expressions, which are also ours.
std::string policy(const std::vector<EmbeddedBytes>& scripts) {
  std::string text =
      "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
  if (scripts.empty()) return text;
  text += scripts.size() > 1 ? "; script-src 'unsafe-eval'" : "; script-src";
  for (const EmbeddedBytes& script : scripts) text += " " + policy_source(script.sha256);
  return text;
}

}  // namespace

std::string render_html(const Document& document) {
  const std::vector<EmbeddedBytes> scripts = scripts_of(document);
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out += "<meta http-equiv=\"Content-Security-Policy\" content=\"" + policy(scripts) + "\">\n";
  out += "<title>" + escape_markup(document.title) + "</title>\n<style>\n";
  out.append(page_style().text).append("</style>\n</head>\n<body>\n");
  out += is_about_many(document) ? "<main class=\"many\">\n" : "<main>\n";
  out += "<h1>" + escape_markup(document.title) + "</h1>\n";
  const std::string& answer = document.lead.empty() ? document.headline : document.lead;
  if (!answer.empty()) out += "<p class=\"headline\">" + prose_html(answer) + "</p>\n";
  add_cards(out, document.cards);
  add_warnings(out, document.warnings);
  add_contents(out, document.sections);
  for (std::size_t i = 0; i < document.sections.size(); ++i) add_section(out, document.sections[i], i);
  add_remarks(out, document.notes);
  add_folded(out, "How to read this report", document.reading);
  out += "</main>\n";
  for (const EmbeddedBytes& script : scripts) out.append("<script>").append(script.text).append("</script>\n");
  return out + "</body>\n</html>\n";
}

}  // namespace nanobench::reports

#include "tools/cli/help_markdown.h"

#include <algorithm>

#include "core/base/text.h"
#include "reports/render/render.h"

namespace nanobench::tools {
namespace {

constexpr std::size_t kProseColumns = 100;
constexpr std::size_t kMinColumns = 20;
constexpr std::size_t kCodeIndent = 4;
constexpr int kFixedColumns = 3;  ///< of a table; a narrow terminal drops the last of the others first

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// 1 to 6 for a heading, else 0.
std::size_t heading_level(std::string_view line) {
  const std::size_t level = std::min(line.find_first_not_of('#'), line.size());
  return level >= 1 && level <= 6 && level < line.size() && line[level] == ' ' ? level : 0;
}

/// The length of "- " or "12. " at the start of an item's text; 0 for other lines.
std::size_t bullet_length(std::string_view text) {
  if (text.starts_with("- ") || text.starts_with("* ")) return 2;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return digits > 0 && digits < 3 && text.substr(digits, 2) == ". " ? digits + 2 : 0;
}

bool is_fence(std::string_view line) {
  return trimmed(line).starts_with("```");
}

bool is_row(std::string_view line) {
  return trimmed(line).starts_with("|");
}

/// "| --- | ---: |"
bool is_rule(std::string_view line) {
  return is_row(line) && line.find_first_not_of("|-: ") == std::string_view::npos;
}

/// Reads a page block by block, each written after a blank line.
class PageWriter {
 public:
  PageWriter(std::string_view markdown, std::size_t width, bool has_color)
      : lines_(split_lines(markdown)), width_(std::max(width, kMinColumns)), has_color_(has_color) {}

  std::string text() {
    while (at_ < lines_.size()) {
      const std::string_view line = lines_[at_];
      if (trimmed(line).empty()) {
        ++at_;
      } else if (heading_level(line) > 0) {
        add_heading();
      } else if (is_fence(line)) {
        add_fenced_code();
      } else if (indent_of(line) >= kCodeIndent) {
        add_indented_code();
      } else if (is_row(line)) {
        add_table();
      } else {
        add_prose();
      }
    }
    return out_;
  }

 private:
  void begin_block() {
    if (!out_.empty()) out_ += "\n";
  }

  void add_heading() {
    const std::size_t level = heading_level(lines_[at_]);
    const std::string title = printable(plain_markdown(lines_[at_++].substr(level + 1)));
    begin_block();
    if (has_color_) {
      out_ += "\x1b[1m" + title + "\x1b[0m\n";
      return;
    }
    out_ += title + "\n";
    if (level <= 2) out_ += std::string(display_width(title), level == 1 ? '=' : '-') + "\n";
  }

  void add_code_line(std::string_view line) { out_ += std::string(kCodeIndent, ' ') + printable(line) + "\n"; }

  void add_fenced_code() {
    begin_block();
    for (++at_; at_ < lines_.size() && !is_fence(lines_[at_]); ++at_) add_code_line(lines_[at_]);
    ++at_;
  }

  void add_indented_code() {
    begin_block();
    const std::size_t indent = indent_of(lines_[at_]);
    std::size_t blank = 0;
    for (; at_ < lines_.size(); ++at_) {
      if (trimmed(lines_[at_]).empty()) {
        ++blank;
        continue;
      }
      if (indent_of(lines_[at_]) < kCodeIndent) break;
      out_ += std::string(blank, '\n');
      blank = 0;
      add_code_line(lines_[at_].substr(std::min(indent, indent_of(lines_[at_]))));
    }
  }

  void add_table() {
    reports::Table table;
    for (; at_ < lines_.size() && is_row(lines_[at_]); ++at_) {
      const std::vector<std::string> cells = markdown_cells(lines_[at_]);
      if (table.columns.empty()) {
        add_columns(table, cells);
      } else if (!is_rule(lines_[at_])) {
        std::vector<reports::TableCell>& row = table.rows.emplace_back();
        for (std::size_t i = 0; i < table.columns.size(); ++i)
          row.push_back(reports::text_cell(i < cells.size() ? plain_markdown(cells[i]) : ""));
      } else {
        align_numbers(table, lines_[at_]);
      }
    }
    begin_block();
    reports::Document document;
    document.sections.emplace_back().tables.push_back(std::move(table));
    out_ += reports::render_terminal(document, {.width = width_, .has_color = has_color_});
  }

  static void add_columns(reports::Table& table, const std::vector<std::string>& titles) {
    for (const std::string& title : titles) {
      const int priority = std::max(static_cast<int>(table.columns.size()) - kFixedColumns + 1, 0);
      table.columns.push_back(reports::wide_column("", printable(plain_markdown(title)), priority));
    }
  }

  static void align_numbers(reports::Table& table, std::string_view rule) {
    std::size_t column = 0;
    for (std::size_t i = 1; i < rule.size() && column < table.columns.size(); ++i) {
      if (rule[i] != '|') continue;
      const bool is_number = trimmed(rule.substr(0, i)).ends_with(':');
      if (is_number)
        table.columns[column] = reports::number_column("", table.columns[column].title, table.columns[column].priority);
      ++column;
    }
  }

  /// A paragraph, or one item of a list with its further lines.
  void add_prose() {
    const std::size_t indent = indent_of(lines_[at_]);
    const std::size_t bullet = bullet_length(lines_[at_].substr(indent));
    std::string text(lines_[at_].substr(indent + bullet));
    const std::string mark = std::string(indent, ' ') + std::string(lines_[at_].substr(indent, bullet));
    const bool continues_list = bullet > 0 && at_ == item_end_;
    for (++at_; at_ < lines_.size() && is_more_prose(lines_[at_]); ++at_)
      text += " " + std::string(trimmed(lines_[at_]));
    if (bullet > 0) item_end_ = at_;
    if (!continues_list) begin_block();
    bool is_first = true;
    for (const std::string& line : wrap(printable(plain_markdown(text)), prose_columns(mark.size()))) {
      out_ += (is_first ? mark : std::string(mark.size(), ' ')) + line + "\n";
      is_first = false;
    }
  }

  static bool is_more_prose(std::string_view line) {
    return !trimmed(line).empty() && bullet_length(trimmed(line)) == 0 && heading_level(line) == 0 && !is_fence(line) &&
           !is_row(line);
  }

  std::size_t prose_columns(std::size_t used) const {
    const std::size_t columns = std::min(width_, kProseColumns);
    return columns > used + kMinColumns ? columns - used : kMinColumns;
  }

  std::vector<std::string_view> lines_;
  std::size_t width_;
  bool has_color_;
  std::size_t at_ = 0;
  std::size_t item_end_ = 0;  ///< the line after the last item of a list
  std::string out_;
};

/// Length of the code span or the link at `at`, and its plain text; 0 if there is none.
std::size_t span_at(std::string_view text, std::size_t at, std::string& plain) {
  if (text[at] == '`') {
    const std::size_t close = text.find('`', at + 1);
    if (close == std::string_view::npos) return 0;
    plain = text.substr(at, close - at + 1);
    return close - at + 1;
  }
  const std::size_t middle = text[at] == '[' ? text.find("](", at) : std::string_view::npos;
  const std::size_t close = middle == std::string_view::npos ? middle : text.find(')', middle);
  if (close == std::string_view::npos) return 0;
  const std::string_view target = text.substr(middle + 2, close - middle - 2);
  plain = plain_markdown(text.substr(at + 1, middle - at - 1));
  if (target.starts_with("http")) plain += " <" + std::string(target) + ">";
  return close - at + 1;
}

}  // namespace

std::string render_page(std::string_view markdown, std::size_t width, bool has_color) {
  return PageWriter(markdown, width, has_color).text();
}

std::vector<std::string> markdown_cells(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with("|") || is_rule(line)) return {};
  std::vector<std::string> cells(1);
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|') {
      cells.back() += line[++i];
    } else if (line[i] == '|') {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  if (line.ends_with("|")) cells.pop_back();
  for (std::string& cell : cells) cell = std::string(trimmed(cell));
  return cells;
}

std::string plain_markdown(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::string plain;
    const std::size_t length = span_at(text, at, plain);
    if (length > 0) {
      out += plain;
      at += length;
    } else if (text.substr(at, 2) == "**") {
      at += 2;
    } else {
      out += text[at++];
    }
  }
  return out;
}

}  // namespace nanobench::tools

/// Markdown of our own pages as text for a terminal: headings, paragraphs, lists, tables and code. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nanobench::tools {

/// The page for a terminal of `width` columns. Paragraphs take at most 100 columns; code is never wrapped; a table that
/// is too wide is narrowed as reports narrow theirs. Control characters become visible ones.
std::string render_page(std::string_view markdown, std::size_t width, bool has_color);

/// The cells of a row "| a | b |", trimmed, with their Markdown; empty if the line is no such row or only a rule.
std::vector<std::string> markdown_cells(std::string_view line);

/// One line without its marks: the text of links, the words of "**bold**". Code keeps its backticks.
std::string plain_markdown(std::string_view text);

}  // namespace nanobench::tools

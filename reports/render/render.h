/// Formats a Document for people and programs. Pure, thread-safe. Each renderer escapes all text itself:
/// titles, reasons and texts may come from imported files.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "reports/document/document.h"

namespace nanobench::reports {

/// Lists of remarks longer than this are folded.
inline constexpr std::size_t kMaxShownRemarks = 3;

struct TerminalStyle {
  std::size_t width = 80;  ///< columns; tables wrap and drop columns to fit
  bool has_color = false;
  bool folds_notes = false;           ///< show only a few notes and the number of the others; else all
  std::string program = "nanobench";  ///< how the user starts it, for the commands of Document::next
};

/// Tables with aligned columns, for a terminal or a log.
std::string render_terminal(const Document& document, const TerminalStyle& style);

/// GitHub-flavoured Markdown.
std::string render_markdown(const Document& document);

/// {"schema_version", "kind", "title", "headline", "facts": {key: value}, "tables": {id: [{column: value}]}, "text",
/// "warnings", "notes"}, indented, with full precision. "notes" holds all remarks and how to read the tables.
std::string render_json(const Document& document);
core::OrderedJson to_json(const Document& document);

/// The first table, RFC 4180. A value that is an object becomes several columns: "val_loss.mean", "val_loss.sd".
std::string render_csv(const Document& document);

/// One self-contained page: dark and light themes, for narrow screens, printable.
std::string render_html(const Document& document);

/// A file inside a page, compiled into the program.
struct EmbeddedBytes {
  std::string_view text;
  std::string_view sha256;  ///< 64 hexadecimal digits
};

/// Vega, Vega-Lite and Vega-Embed as one script; empty in a program built without charts.
EmbeddedBytes vega_bundle();
/// reports/render/page/page.js and page.css
EmbeddedBytes page_script();
EmbeddedBytes page_style();

}  // namespace nanobench::reports

/// The content of a report, independent of its format: facts, tables, notes. Builders (kinds/) create it, and renderers
/// (render/) print it for people or machines. Plain values.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/json.h"

namespace nanobench::reports {

/// A value in two forms: for people and for machines.
struct TableCell {
  std::string text;         ///< for people; any UTF-8 text (renderers escape it)
  std::string detail;       ///< a spread or a remark, shown beside or below `text`; may be empty
  core::OrderedJson value;  ///< for machines: number, string, null, or an object of such
  std::string more = {};    ///< all of a text that `text` is the short title of; shown where somebody asks for it
  std::string link = {};    ///< address of the source; empty: none
};

/// "-" and null.
TableCell missing_cell();
TableCell text_cell(const std::string& text);
/// The same, or missing_cell() if the text is empty.
TableCell text_or_missing(const std::string& text);
/// The text, which people are not told if it is `plain`.
TableCell told_unless(const std::string& text, const std::string& plain);
TableCell count_cell(std::int64_t count);
TableCell count_cell(const std::optional<std::int64_t>& count);
TableCell seed_cell(std::uint64_t seed);
/// "yes" and true.
TableCell yes_no_cell(bool is_so);

/// Two forms of one value: for people, and for machines.
TableCell value_cell(std::string text, core::OrderedJson value, std::string detail = "");

/// A short title of `text`, which is the value and is shown on request; text_cell() if they are equal.
TableCell titled_cell(const std::string& title, const std::string& text);

/// A number, formatted for people by `format`; missing_cell() if it is absent or not finite.
template <class Format>
TableCell number_cell(const std::optional<double>& value, Format format) {
  return value && std::isfinite(*value) ? value_cell(format(*value), *value) : missing_cell();
}
/// The same with the formats of core/base/text.h.
TableCell fixed_cell(const std::optional<double>& value, int digits);
TableCell significant_cell(const std::optional<double>& value, int digits);
TableCell percent_cell(const std::optional<double>& fraction, int digits);
TableCell duration_cell(const std::optional<double>& seconds);
TableCell bytes_cell(const std::optional<std::int64_t>& bytes);
/// A probability that an estimated spread gives: whole percents, "> 99 %" above 0.99, and "< 1 %" below 0.01.
std::string chance_text(double probability);
TableCell chance_cell(const std::optional<double>& probability);
/// Two significant digits.
TableCell p_cell(const std::optional<double>& p);

/// Null if the value is absent or not finite.
core::OrderedJson json_of(const std::optional<double>& value);

struct Column {
  std::string key;    ///< stable name in JSON and CSV
  std::string title;  ///< for people; includes the unit
  bool is_number = false;
  bool wraps = false;  ///< running text that may take several lines
  int priority = 0;    ///< a narrow terminal drops the highest first; 0 always stays
};

Column text_column(const std::string& key, const std::string& title, int priority = 0);
Column number_column(const std::string& key, const std::string& title, int priority = 0);
/// A column of running text.
Column wide_column(const std::string& key, const std::string& title, int priority = 0);

struct Table {
  std::string id;     ///< stable name in JSON
  std::string title;  ///< may be empty
  std::vector<Column> columns;
  std::vector<std::vector<TableCell>> rows;  ///< each as long as columns
};

/// Columns that a page shows at once; the others appear on request.
inline constexpr std::size_t kMaxColumnsShown = 6;

/// Whether each column is among the `most` that matter: columns of a higher priority go first, then those further to
/// the right. All are, if there are no more than `most`.
std::vector<bool> shown_columns(const Table& table, std::size_t most = kMaxColumnsShown);

/// The table without the columns that say nothing in any row, for people. The first column stays, and so does every
/// column of a table without rows.
Table without_empty_columns(const Table& table);

/// What the rows are sorted by: the cell's number, the mean or the value of an object, or nothing.
std::optional<double> number_of(const TableCell& cell);

struct Fact {
  std::string key;    ///< stable name in JSON
  std::string title;  ///< for people
  TableCell cell;
};

/// Facts, collected one by one.
class FactList {
 public:
  void add(const std::string& key, const std::string& title, TableCell cell) {
    facts.push_back({.key = key, .title = title, .cell = std::move(cell)});
  }
  void add(const std::string& key, const std::string& title, const std::string& text) {
    add(key, title, text_cell(text));
  }
  /// Adds nothing if the text is empty.
  void add_if(const std::string& key, const std::string& title, const std::string& text) {
    if (!text.empty()) add(key, title, text);
  }

  std::vector<Fact> facts;
};

/// The facts that say something, for people.
std::vector<Fact> told_facts(const std::vector<Fact>& facts);

/// Running text or a command in it: "`nanobench show RUN` prints ..." has two parts.
struct TextPart {
  std::string text;
  bool is_code = false;
};
/// Splits at pairs of backticks, which are in no part. A backtick without a partner is text.
std::vector<TextPart> text_parts(const std::string& text);

/// A place to read on.
struct Link {
  std::string title;
  std::string target;  ///< a file beside the document, or an address on the web
};

/// One answer in plain words, before all numbers.
struct Card {
  enum class Tone {
    kBetter,  ///< proved
    kWorse,   ///< proved
    kSame,    ///< proved to be too small to matter
    kOpen,    ///< nothing is proved
    kPlain,   ///< no verdict
  };
  std::string key;      ///< stable name in JSON: "course", or the change
  std::string title;    ///< what it is about
  std::string text;     ///< that in some more words; may be empty
  std::string verdict;  ///< in two or three words; may be empty
  Tone tone = Tone::kPlain;
  std::vector<std::string> lines = {};  ///< a sentence each
  std::string link = {};                ///< of the title; empty: none
};

NB_ENUM_NAMES(Card::Tone, {Card::Tone::kBetter, "better"}, {Card::Tone::kWorse, "worse"}, {Card::Tone::kSame, "same"},
              {Card::Tone::kOpen, "open"}, {Card::Tone::kPlain, "plain"});

/// The full data behind a chart, if it is too large for a table: blocks of plain numbers.
struct FullData {
  struct Block {
    std::vector<std::string> names;             ///< one for each of name_columns
    std::vector<std::optional<double>> values;  ///< row by row, one for each of columns
  };
  std::vector<std::string> name_columns;  ///< stable names; equal within a block
  std::vector<std::string> columns;       ///< stable names
  std::vector<Block> blocks;
};

/// A chart of a table.
struct Chart {
  std::string id;          ///< stable name: letters, digits, '_'
  std::string title;       ///< for people
  std::string text;        ///< what it shows, for readers who cannot see it
  core::OrderedJson spec;  ///< Vega-Lite v5 without data; its fields are keys of `data`
  Table data;              ///< each value a number, a string, a boolean or null
  FullData full;           ///< no blocks: the table is complete
  std::string file;        ///< name of the document's drawing of it; empty: none
  /// Curves of runs that readers zoom, smooth and group; `data` and `full` are those of loss_chart().
  bool is_curves = false;
  std::string still = {};  ///< a plain SVG drawing for readers without scripts (reports/charts/stills.h); may be empty
};

struct Section {
  std::string title;  ///< may be empty
  std::vector<std::string> paragraphs;
  std::vector<Fact> facts;
  std::vector<std::string> bullets;  ///< remarks on the facts; JSON lists them among the notes
  std::vector<Table> tables;
  std::vector<Chart> charts;
  std::vector<std::string> reading;  ///< how to read its tables; folded where possible
  std::vector<Link> links = {};      ///< where to read on
  bool is_background = false;        ///< for those who doubt or repeat the numbers: folded where possible, not printed
};

/// The chart's specification with its data: what Vega-Lite draws.
core::OrderedJson complete_spec(const Chart& chart);

/// A command that goes on from a result.
struct NextStep {
  std::string command;  ///< words after the program's name, quoted for a shell: "run speedrun_history --seeds 8"
  std::string gain;     ///< what it gives, and its price: "about 4 min; may decide record17"
};

struct Document {
  std::string kind;  ///< "comparison", "run", "list_runs", ...: stable
  std::string title;
  std::string headline;  ///< the answer in a few sentences; may be empty
  std::vector<Section> sections;
  std::vector<std::string> warnings;  ///< reasons to doubt the numbers
  std::vector<std::string> notes;     ///< further remarks on the numbers
  std::vector<std::string> reading;   ///< how to read the report; folded where possible
  std::vector<Card> cards = {};       ///< the answers, one by one
  std::string lead = {};              ///< the part of the headline that no card repeats; empty: all of it
  std::vector<NextStep> next = {};    ///< one to three; terminals print them last
};

/// Warnings that are always shown; further ones are folded or counted.
inline constexpr std::size_t kMaxShownWarnings = 8;

/// Each text once, in order of first appearance, with "(3 times)" after a repeated one.
std::vector<std::string> counted_texts(const std::vector<std::string>& texts);

/// Version of the JSON format; incremented when a key changes its meaning or is removed.
inline constexpr int kDocumentSchemaVersion = 2;

}  // namespace nanobench::reports

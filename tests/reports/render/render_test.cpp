#include "reports/render/render.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

const char* const kHostile = "<script>alert(1)</script> \"x\" & 'y' | `z` \x1b[31m =cmd()";

Document sample(const std::string& text) {
  Document document{.kind = "sample", .title = text};
  Section& section = document.sections.emplace_back();
  section.title = text;
  section.paragraphs = {text};
  section.facts = {{.key = "machine", .title = "machine", .cell = text_cell(text)}};
  section.bullets = {text};
  section.tables.push_back(
      {.id = "rows",
       .title = text,
       .columns = {{.key = "row", .title = "row"},
                   {.key = "changed", .title = "what changed", .wraps = true},
                   {.key = "loss", .title = "val loss", .is_number = true},
                   {.key = "peak", .title = "peak MiB", .is_number = true, .priority = 2},
                   {.key = "speed", .title = "published speed-up", .is_number = true, .priority = 1}},
       .rows = {{text_cell("record12"),
                 text_cell(text),
                 {.text = "3.2815", .detail = "±0.0012", .value = {{"mean", 3.2815}, {"sd", 0.0012}, {"n", 3}}},
                 count_cell(312),
                 missing_cell()},
                {text_cell("record13"),
                 text_cell("a longer text that says in some words what was changed here"),
                 {.text = "-", .detail = "", .value = {{"mean", nullptr}, {"sd", nullptr}, {"n", 0}}},
                 count_cell(7),
                 {.text = "1.234x", .detail = "", .value = 1.234}}}});
  document.warnings = {text};
  document.notes = {text};
  return document;
}

std::size_t widest_line(const std::string& text) {
  std::istringstream in(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(in, line);) widest = std::max(widest, display_width(line));
  return widest;
}

TEST(Terminal, FitsTheWidth) {
  for (const std::size_t width : {50U, 60U, 72U, 80U, 100U, 200U}) {
    const std::string text = render_terminal(sample("a title"), {.width = width});
    EXPECT_LE(widest_line(text), width) << text;
    EXPECT_NE(text.find("3.2815"), std::string::npos);
  }
}

TEST(Terminal, NarrowTablesStackSpreadsThenDropColumnsAndSaySo) {
  const std::string wide = render_terminal(sample("t"), {.width = 200});
  EXPECT_NE(wide.find("3.2815 ±0.0012"), std::string::npos) << wide;
  EXPECT_EQ(wide.find("left out"), std::string::npos);
  const std::string narrow = render_terminal(sample("t"), {.width = 55});
  EXPECT_EQ(narrow.find("3.2815 ±0.0012"), std::string::npos) << narrow;
  EXPECT_NE(narrow.find("±0.0012"), std::string::npos) << narrow;
  EXPECT_EQ(narrow.find("left out"), std::string::npos) << narrow;
  const std::string tiny = render_terminal(sample("t"), {.width = 45});
  EXPECT_NE(tiny.find("left out to fit: "), std::string::npos) << tiny;
  EXPECT_NE(tiny.find("peak MiB"), std::string::npos) << "the name of what was left out";
}

/// The widest line of a table with these texts.
std::size_t widest_line(const std::string& name, const std::string& text, std::size_t width) {
  Document document{.title = ""};
  Table table{.id = "t",
              .columns = {text_column("name", "name"), wide_column("text", "text"), number_column("loss", "loss"),
                          number_column("time", "time")}};
  const TableCell number = value_cell("+0.0005", 0.0005, "[-0.0094, +0.0104]");
  table.rows = {{text_cell(name), text_cell(text), number, number}};
  document.sections.emplace_back().tables.push_back(table);
  std::istringstream lines(render_terminal(document, {.width = width}));
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return widest;
}

TEST(Terminal, TablesFitEightyColumnsWithoutBreakingAWord) {
  const std::string text = "Orthogonalisation of the Muon update: newton_schulz -> svd";
  EXPECT_LE(widest_line("without muon_orthogonalizer", text, 80), 80U);
  Document document{.title = ""};
  Table table{.id = "t",
              .columns = {text_column("name", "name"), wide_column("text", "text"), number_column("loss", "loss", 1),
                          number_column("time", "time")}};
  const TableCell number = value_cell("+0.0005", 0.0005, "[-0.0094, +0.0104]");
  table.rows = {{text_cell("without muon_orthogonalizer"), text_cell(text), number, number}};
  document.sections.emplace_back().tables.push_back(table);
  for (const std::size_t width : {60U, 80U, 100U}) {
    const std::string rendered = render_terminal(document, {.width = width});
    for (const char* word : {"Orthogonalisation", "newton_schulz", "muon_orthogonalizer", "+0.0104]"})
      EXPECT_NE(rendered.find(word), std::string::npos) << word << " at " << width << ":\n" << rendered;
  }
  EXPECT_LE(widest_line(std::string(200, 'n'), std::string(200, 't'), 80), 80U) << "then words are broken";
}

TEST(Terminal, SaysNothingWhereThereIsNothing) {
  Document document{.title = ""};
  Section& section = document.sections.emplace_back();
  section.facts = {{.key = "a", .title = "known", .cell = text_cell("yes")},
                   {.key = "b", .title = "unknown", .cell = missing_cell()},
                   {.key = "c", .title = "of a trainer", .cell = told_unless("external", "external")}};
  Table table{.id = "t", .columns = {text_column("row", "row"), number_column("mib", "MiB"), number_column("n", "n")}};
  table.rows = {{text_cell("a"), missing_cell(), count_cell(1)}};
  section.tables.push_back(table);
  EXPECT_EQ(render_terminal(document, {.width = 80}), "known  yes\nrow  n\n---  -\na    1\n");
}

TEST(Terminal, LongWordsCostNoOtherColumnItsWords) {
  Document document{.title = ""};
  Table table{.id = "t", .columns = {text_column("arm", "arm")}};
  for (int i = 0; i < 4; ++i) table.columns.push_back(wide_column("text" + std::to_string(i), "why"));
  const std::string text = "a p of 0.3";
  table.rows = {{text_cell("2026-02-03_VeTuned"), text_cell(text), text_cell(text), text_cell(text), text_cell(text)}};
  document.sections.emplace_back().tables.push_back(table);
  const std::string rendered = render_terminal(document, {.width = 60});
  EXPECT_NE(rendered.find("2026-02-03_VeTuned"), std::string::npos) << rendered;
}

TEST(Terminal, ANameIsNotRepeatedBelowItself) {
  Document document{.title = ""};
  Table table{.id = "t", .columns = {text_column("steps", "steps"), text_column("row", "row")}};
  table.rows = {{text_cell("0 to 9"), text_cell("a")},
                {text_cell("0 to 9"), text_cell("b")},
                {text_cell("10 to 19"), text_cell("a")}};
  document.sections.emplace_back().tables.push_back(table);
  EXPECT_EQ(render_terminal(document, {.width = 80}),
            "steps     row\n--------  ---\n0 to 9    a\n          b\n10 to 19  a\n");
}

TEST(Terminal, ColorsOnlyWhenAsked) {
  EXPECT_EQ(render_terminal(sample("t"), {.width = 80}).find('\x1b'), std::string::npos);
  EXPECT_NE(render_terminal(sample("t"), {.width = 80, .has_color = true}).find('\x1b'), std::string::npos);
}

TEST(Terminal, TextCannotSteerIt) {
  EXPECT_EQ(render_terminal(sample(kHostile), {.width = 80}).find('\x1b'), std::string::npos);
}

TEST(Markdown, EscapesAndAligns) {
  const std::string text = render_markdown(sample(kHostile));
  EXPECT_EQ(text.find("<script>"), std::string::npos);
  EXPECT_NE(text.find("\\|"), std::string::npos);
  EXPECT_NE(text.find("| row | what changed | val loss |"), std::string::npos) << text;
  EXPECT_NE(text.find("| --- | --- | ---: |"), std::string::npos) << text;
  EXPECT_NE(text.find("| 3.2815 ±0.0012 |"), std::string::npos) << text;
}

TEST(Html, IsSelfContainedAndEscaped) {
  const std::string text = render_html(sample(kHostile));
  EXPECT_EQ(text.find("<script"), std::string::npos);
  EXPECT_EQ(text.find("http"), text.find("http-equiv")) << "nothing may point outside";
  EXPECT_EQ(text.find("src="), std::string::npos);
  EXPECT_NE(text.find("&lt;script&gt;"), std::string::npos);
  EXPECT_NE(text.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_NE(text.find("name=\"viewport\""), std::string::npos);
  EXPECT_NE(text.find("3.2815<small>±0.0012</small>"), std::string::npos);
}

TEST(Json, HasVersionFactsTablesAndFullPrecision) {
  Document document = sample("t");
  document.sections[0].tables[0].rows[0][2].value["mean"] = 0.1 + 0.2;
  const core::Json json = core::Json::parse(render_json(document));
  EXPECT_EQ(json.at("schema_version"), kDocumentSchemaVersion);
  EXPECT_EQ(json.at("kind"), "sample");
  EXPECT_EQ(json.at("facts").at("machine"), "t");
  const core::Json& rows = json.at("tables").at("rows");
  EXPECT_EQ(rows.at(0).at("loss").at("mean").get<double>(), 0.1 + 0.2);
  EXPECT_TRUE(rows.at(1).at("loss").at("mean").is_null());
  EXPECT_TRUE(rows.at(0).at("speed").is_null());
  EXPECT_EQ(json.at("warnings").size(), 1U);
  EXPECT_EQ(json.at("notes").size(), 2U) << "the section's bullet and the note";
}

TEST(Json, BrokenUtf8IsReplaced) {
  const core::Json json = core::Json::parse(render_json(sample("bad \xff")), nullptr, /*allow_exceptions=*/false);
  EXPECT_FALSE(json.is_discarded());
}

TEST(Csv, FlattensObjectsAndQuotes) {
  const std::string text = render_csv(sample("a \"quoted\", text"));
  EXPECT_EQ(text.substr(0, text.find("\r\n")), "row,changed,loss.mean,loss.sd,loss.n,peak,speed");
  EXPECT_NE(text.find("record12,\"a \"\"quoted\"\", text\",3.2815,0.0012,3,312,\r\n"), std::string::npos) << text;
  EXPECT_NE(text.find(",,,0,7,1.234\r\n"), std::string::npos) << text;
}

TEST(Csv, TextIsNoFormula) {
  EXPECT_NE(render_csv(sample("=HYPERLINK(1)")).find("'=HYPERLINK(1)"), std::string::npos);
}

Document with_remarks(std::size_t count) {
  Document document{.kind = "sample", .title = "a title", .headline = "3 of 5 <b>changes</b> pay."};
  Section& section = document.sections.emplace_back();
  section.tables.push_back({.id = "rows", .title = "", .columns = {{.key = "a", .title = "a"}}, .rows = {}});
  section.reading = {"how to read the table"};
  for (std::size_t i = 0; i < count; ++i) {
    section.bullets.push_back("bullet " + std::to_string(i));
    document.notes.push_back("note " + std::to_string(i));
  }
  document.reading = {"how to read the report"};
  return document;
}

TEST(Headline, ComesFirstInEveryForm) {
  const Document document = with_remarks(1);
  const std::string terminal = render_terminal(document, {.width = 80});
  EXPECT_EQ(terminal.rfind("a title\n3 of 5 <b>changes</b> pay.\n\n", 0), 0U) << terminal;
  const std::string colored = render_terminal(document, {.width = 80, .has_color = true});
  EXPECT_NE(colored.find("\x1b[1m3 of 5"), std::string::npos) << colored;
  const std::string markdown = render_markdown(document);
  EXPECT_EQ(markdown.rfind("# a title\n\n**3 of 5 &lt;b&gt;changes&lt;/b&gt; pay.**\n\n", 0), 0U) << markdown;
  const std::string html = render_html(document);
  EXPECT_NE(html.find("</h1>\n<p class=\"headline\">3 of 5 &lt;b&gt;changes&lt;/b&gt; pay.</p>\n"), std::string::npos);
  EXPECT_EQ(to_json(document).at("headline"), document.headline);
  EXPECT_FALSE(to_json(sample("t")).contains("headline"));
  EXPECT_EQ(render_html(sample("t")).find("<p class=\"headline\""), std::string::npos);
  EXPECT_EQ(render_csv(document), "a\r\n") << "data only";
}

TEST(Warnings, EqualOnesAreCountedAndStandTogether) {
  Document document = sample("t");
  document.warnings = {"busy", "hot", "busy", "busy"};
  EXPECT_NE(render_markdown(document).find("> **2 warnings**\n>\n> - busy (3 times)\n> - hot\n"), std::string::npos);
  EXPECT_NE(render_html(document).find("<li>busy (3 times)</li>\n<li>hot</li>"), std::string::npos);
  EXPECT_NE(render_terminal(document, {.width = 80}).find("WARNING: busy (3 times)\nWARNING: hot\n"),
            std::string::npos);
  EXPECT_EQ(to_json(document).at("warnings").size(), 4U) << "data is not folded";
}

TEST(Warnings, AWallOfThemIsFoldedAndCounted) {
  Document document = sample("t");
  document.warnings.clear();
  for (int i = 0; i < 20; ++i) document.warnings.push_back("file " + std::to_string(i) + " is broken");
  const std::string html = render_html(document), markdown = render_markdown(document);
  const std::string few = render_terminal(document, {.width = 80, .folds_notes = true});
  EXPECT_NE(html.find("<li>file 7 is broken</li>\n</ul>\n<details><summary>12 more</summary>"), std::string::npos);
  EXPECT_NE(html.find("file 19"), std::string::npos);
  EXPECT_NE(markdown.find("> - file 7 is broken\n\n<details><summary>12 more warnings</summary>"), std::string::npos);
  EXPECT_NE(few.find("WARNING: 12 more warnings: --notes\n"), std::string::npos) << few;
  EXPECT_EQ(few.find("file 8 "), std::string::npos);
  EXPECT_NE(render_terminal(document, {.width = 80}).find("WARNING: file 19 is broken"), std::string::npos);
}

TEST(Remarks, HowToReadIsFoldedAway) {
  const Document document = with_remarks(2);
  const std::string html = render_html(document), markdown = render_markdown(document);
  for (const char* what : {"How to read this table", "How to read this report"}) {
    EXPECT_NE(html.find("<details class=\"reading\"><summary>" + std::string(what)), std::string::npos) << what;
    EXPECT_NE(markdown.find("<details><summary>" + std::string(what) + "</summary>\n\n- how"), std::string::npos)
        << what;
  }
  EXPECT_NE(html.find("<ul class=\"notes\">\n<li>note 0</li>"), std::string::npos) << "two notes are no wall";
  EXPECT_NE(render_html(with_remarks(4)).find("<details><summary>4 remarks</summary>"), std::string::npos);
  EXPECT_NE(render_markdown(with_remarks(4)).find("<details><summary>4 remarks</summary>"), std::string::npos);
  EXPECT_EQ(to_json(document).at("notes").size(), 6U);
}

TEST(Remarks, ATerminalShowsAFewAndCountsTheRest) {
  const std::string all = render_terminal(with_remarks(5), {.width = 80});
  const std::string few = render_terminal(with_remarks(5), {.width = 80, .folds_notes = true});
  for (const char* text : {"bullet 4", "note 4", "how to read the table", "how to read the report"}) {
    EXPECT_NE(all.find(text), std::string::npos) << text;
    EXPECT_EQ(few.find(text), std::string::npos) << text;
  }
  EXPECT_NE(few.find("bullet 2"), std::string::npos);
  EXPECT_NE(few.find("6 more notes on these numbers and how to read them: --notes\n"), std::string::npos) << few;
  EXPECT_EQ(all.find("--notes"), std::string::npos);
}

TEST(Html, ALongTextInATableShowsItsBeginning) {
  const std::string text = "begin " + std::string(300, 'x') + "<b> end";
  const std::string html = render_html(sample(text));
  EXPECT_NE(html.find("<td class=\"wide\"><details class=\"long\"><summary>begin x"), std::string::npos);
  EXPECT_NE(html.find("&lt;b&gt; end</details>"), std::string::npos) << "all of it is there";
  EXPECT_EQ(render_html(sample("short")).find("class=\"long\""), std::string::npos);
}

Document with_chart(const std::string& text, std::size_t rows) {
  Document document{.kind = "sample", .title = "t"};
  Chart chart{.id = "speed", .title = text, .text = text, .spec = {{"mark", "bar"}}};
  chart.data = {.id = "speed", .title = "", .columns = {{.key = "name", .title = text}}, .rows = {}};
  for (std::size_t i = 0; i < rows; ++i) chart.data.rows.push_back({text_cell(text)});
  document.sections.emplace_back().charts.push_back(std::move(chart));
  return document;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Html, ALongTableHasAFrameOfItsOwn) {
  Document document = sample("t");
  Table& table = document.sections.at(0).tables.at(0);
  while (table.rows.size() < 30) table.rows.push_back(table.rows.at(0));
  EXPECT_EQ(render_html(document).find("class=\"scroll tall\""), std::string::npos);
  table.rows.push_back(table.rows.at(0));
  EXPECT_NE(render_html(document).find("class=\"scroll tall\" tabindex=\"0\""), std::string::npos);
}

TEST(HtmlCharts, TextStaysText) {
  const std::string page = render_html(with_chart(kHostile, 3));
  const std::string ours = page.substr(0, page.find("</main>"));
  EXPECT_EQ(ours.find("<script>"), std::string::npos);
  EXPECT_EQ(count_of(ours, "<script type=\"application/json\">"), 1U);
  EXPECT_EQ(count_of(ours, "</script>"), 1U) << "the data ends the element itself";
  EXPECT_NE(ours.find("\\u003cscript>alert(1)"), std::string::npos);
}

TEST(HtmlCharts, APageCarriesTheScriptsThatItNeeds) {
  EXPECT_EQ(render_html(sample("t")).find("<script"), std::string::npos);
  EXPECT_EQ(render_html(sample("t")).find("script-src"), std::string::npos);
  Document longer = sample("t");
  std::vector<std::vector<TableCell>>& rows = longer.sections.at(0).tables.at(0).rows;
  rows.push_back(rows.at(0));
  const std::string sorted = render_html(longer);
  EXPECT_EQ(count_of(sorted, "<script>"), 1U) << "a table of three rows is sorted without a chart";
  EXPECT_EQ(count_of(sorted, "'sha256-"), 1U);
  EXPECT_EQ(sorted.find("unsafe-eval"), std::string::npos) << "only the chart library needs it";
  const std::string page = render_html(with_chart("t", 1));
  if (page.find("script-src") == std::string::npos) GTEST_SKIP() << "built without charts";
  EXPECT_EQ(count_of(page, "'sha256-"), 2U);
  EXPECT_GT(page.size(), 500'000U);
  EXPECT_LT(page.size(), 2'000'000U);
}

TEST(HtmlCharts, LongTablesWaitForTheReader) {
  const auto own_part = [](const std::string& page) { return page.substr(0, page.find("</main>")); };
  EXPECT_EQ(count_of(own_part(render_html(with_chart("t", 200))), "<td"), 200U);
  const std::string page = own_part(render_html(with_chart("t", 201)));
  EXPECT_EQ(count_of(page, "<td"), 0U);
  EXPECT_NE(page.find("<details data-fill>"), std::string::npos);
}

TEST(JsonCharts, AreCompleteSpecifications) {
  const core::OrderedJson chart = to_json(with_chart("a", 2)).at("charts").at("speed");
  EXPECT_EQ(chart.at("$schema"), "https://vega.github.io/schema/vega-lite/v5.json");
  EXPECT_EQ(chart.at("mark"), "bar");
  EXPECT_EQ(chart.at("datasets").at("data"), core::OrderedJson::parse(R"([{"name": "a"}, {"name": "a"}])"));
}

}  // namespace
}  // namespace nanobench::reports

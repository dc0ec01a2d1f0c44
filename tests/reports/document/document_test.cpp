#include "reports/document/document.h"

#include <gtest/gtest.h>

#include "reports/render/render.h"

namespace nanobench::reports {
namespace {

Table table_of(const std::vector<int>& priorities) {
  Table table{.id = "t", .title = "", .columns = {}, .rows = {{}}};
  for (std::size_t i = 0; i < priorities.size(); ++i) {
    table.columns.push_back(number_column("c" + std::to_string(i), "C" + std::to_string(i), priorities[i]));
    table.rows[0].push_back(count_cell(static_cast<std::int64_t>(i)));
  }
  return table;
}

TEST(ShownColumns, ThoseOfAHighPriorityGoFirstThenTheLast) {
  using Shown = std::vector<bool>;
  EXPECT_EQ(shown_columns(table_of({0, 2, 0, 1}), 4), (Shown{true, true, true, true}));
  EXPECT_EQ(shown_columns(table_of({0, 2, 0, 1}), 3), (Shown{true, false, true, true}));
  EXPECT_EQ(shown_columns(table_of({0, 2, 0, 1}), 2), (Shown{true, false, true, false}));
  EXPECT_EQ(shown_columns(table_of({9, 0, 0, 0}), 2), (Shown{true, true, false, false})) << "the first one stays";
}

TEST(EmptyColumns, GoFromWhatPeopleReadAndStayInJson) {
  Table table = table_of({0, 0, 0});
  table.rows[0][1] = missing_cell();
  EXPECT_EQ(without_empty_columns(table).columns.size(), 2U);
  Document document{.kind = "k", .title = "t"};
  document.sections.emplace_back().tables = {table};
  document.sections[0].facts = {{.key = "gone", .title = "gone fact", .cell = missing_cell()},
                                {.key = "here", .title = "here", .cell = count_cell(1)}};
  EXPECT_TRUE(to_json(document)["tables"]["t"][0].contains("c1"));
  EXPECT_TRUE(to_json(document)["facts"].contains("gone"));
  for (const std::string& text : {render_html(document), render_markdown(document)}) {
    EXPECT_EQ(text.find("C1"), std::string::npos);
    EXPECT_NE(text.find("C2"), std::string::npos);
    EXPECT_EQ(text.find("gone fact"), std::string::npos);
  }
  table.rows.push_back(table_of({0, 0, 0}).rows[0]);
  EXPECT_EQ(without_empty_columns(table).columns.size(), 3U) << "one row says something";
  table.rows.clear();
  EXPECT_EQ(without_empty_columns(table).columns.size(), 3U);
}

TEST(TextParts, AreSplitAtPairsOfBackticks) {
  const std::vector<TextPart> parts = text_parts("run `a b` then `c` or ` nothing");
  ASSERT_EQ(parts.size(), 5U);
  EXPECT_EQ(parts[1].text, "a b");
  EXPECT_TRUE(parts[1].is_code);
  EXPECT_EQ(parts[3].text, "c");
  EXPECT_EQ(parts[4].text, " or ` nothing");
  EXPECT_FALSE(parts[4].is_code);
}

TEST(NumberOf, IsWhatRowsAreSortedBy) {
  EXPECT_EQ(number_of(count_cell(7)), 7.0);
  EXPECT_EQ(number_of(value_cell("3.1", {{"mean", 3.1}, {"sd", 0.1}})), 3.1);
  EXPECT_EQ(number_of(value_cell("2/3", {{"completed", 2}, {"planned", 3}})), 2.0);
  EXPECT_FALSE(number_of(missing_cell()));
  EXPECT_FALSE(number_of(value_cell("-", {{"mean", nullptr}})));
}

Document linked(const std::string& target) {
  Document document{.kind = "k", .title = "t"};
  Table& table = document.sections.emplace_back().tables.emplace_back(table_of({0}));
  table.rows[0][0].link = target;
  document.sections[0].links = {{.title = "more", .target = target}};
  document.cards = {{.key = "a", .title = "A", .text = "", .verdict = "pays", .lines = {"Use `x`."}, .link = target}};
  return document;
}

TEST(Links, LeadToTheWebOrToAFileBesideThePage) {
  for (const char* good : {"https://github.com/x/y", "page_claims.html"}) {
    const std::string html = render_html(linked(good));
    std::size_t count = 0;
    for (std::size_t at = html.find(good); at != std::string::npos; at = html.find(good, at + 1)) ++count;
    EXPECT_EQ(count, 3U) << good;
  }
  for (const char* bad :
       {"javascript:alert(1)", "http://x", "/etc/passwd", "data:text/html,x", "file:///etc", "\\\\host\\x"})
    EXPECT_EQ(render_html(linked(bad)).find("href"), std::string::npos) << bad;
  EXPECT_NE(render_markdown(linked("https://github.com/x/y")).find("(https://github.com/x/y)"), std::string::npos);
  EXPECT_EQ(render_markdown(linked("page_claims.html")).find("page_claims"), std::string::npos);
}

TEST(Cards, AreInEveryFormatForReading) {
  const Document document = linked("https://github.com/x/y");
  EXPECT_NE(render_html(document).find("<code>x</code>"), std::string::npos);
  EXPECT_NE(render_markdown(document).find("<code>x</code>"), std::string::npos);
  const core::OrderedJson card = to_json(document)["cards"][0];
  EXPECT_EQ(card["verdict"], "pays");
  EXPECT_EQ(card["tone"], "plain");
  EXPECT_EQ(card["lines"][0], "Use `x`.");
  EXPECT_FALSE(to_json(Document{.kind = "k", .title = "t"}).contains("cards"));
}

TEST(Html, ManySectionsHaveContentsAndTheRestIsFolded) {
  Document document{.kind = "k", .title = "t"};
  for (const char* title : {"One", "Two", "Three"}) document.sections.push_back({.title = title});
  EXPECT_EQ(render_html(document).find("<nav"), std::string::npos) << "three are no labyrinth";
  document.sections.push_back({.title = "Four", .is_background = true});
  const std::string html = render_html(document);
  EXPECT_NE(html.find("href=\"#section_4\""), std::string::npos);
  EXPECT_NE(html.find("id=\"section_4\" class=\"background\""), std::string::npos);
  EXPECT_NE(html.find("<h2>Four</h2>\n<details class=\"part\">"), std::string::npos);
}

}  // namespace
}  // namespace nanobench::reports

// Help texts and pages on a terminal: wrapping, tables, and nothing that controls it.
#include "tools/cli/help_markdown.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/input_file.h"
#include "core/base/text.h"
#include "tools/cli/help_text.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;

TEST(HelpText, FitsTheTerminalWithTheSameWords) {
  const auto words_of = [](const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;) {
      if (word != "\\") words.push_back(word);
    }
    return words;
  };
  const fs::path folder = fs::path(NANOBENCH_SOURCE_DIR) / "tests" / "tools" / "golden";
  int wrapped = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string help = core::read_input(entry.path(), core::kAnySize);
    for (const std::size_t width : {80U, 100U, 132U}) {
      const std::string text = wrapped_help(help, width);
      EXPECT_EQ(words_of(text), words_of(help)) << entry.path();
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);)
        EXPECT_LE(display_width(line), width) << entry.path().filename() << ": " << line;
      wrapped += text != help ? 1 : 0;
    }
    EXPECT_EQ(wrapped_help(help, 1000), help);
  }
  EXPECT_GT(wrapped, 30);
}

TEST(HelpText, KeepsColumnsAndCommands) {
  EXPECT_EQ(wrapped_help("Options:\n"
                         "  --json              Print JSON instead of a table, and nothing else\n"
                         "\n"
                         "  nanobench run suite.json --seeds 5 --threads 1\n",
                         46),
            "Options:\n"
            "  --json              Print JSON instead of a\n"
            "                      table, and nothing else\n"
            "\n"
            "  nanobench run suite.json --seeds 5 \\\n"
            "    --threads 1\n");
}

// --- the renderer ---

TEST(RenderPage, HeadingsParagraphsAndLists) {
  EXPECT_EQ(
      render_page("# Title\n\nOne\ntwo `a b`, **bold** and [a link](x.md).\n\n- first\n  goes on\n- second\n\n## Next\n"
                  "1. one\n2. two\n",
                  80, false),
      "Title\n=====\n\nOne two `a b`, bold and a link.\n\n- first goes on\n- second\n\nNext\n----\n\n1. one\n2. two\n");
}

TEST(RenderPage, WrapsProseAndKeepsCode) {
  const std::string page =
      "one two three four five six\n\n    ./nanobench run   a_rather_long_suite_name\n\n      x\n\n"
      "- one two three four five six\n\n```\ncode   | x\n```\n";
  EXPECT_EQ(render_page(page, 22, false),
            "one two three four\nfive six\n\n    ./nanobench run   a_rather_long_suite_name\n\n      x\n\n"
            "- one two three four\n  five six\n\n    code   | x\n");
}

TEST(RenderPage, TablesAreAligned) {
  EXPECT_EQ(render_page("| name | n |\n|---|---:|\n| a | 1 |\n| c \\| [d](e) | 100 |\n", 80, false),
            "name     n\n-----  ---\na        1\nc | d  100\n");
  const std::string narrow =
      render_page("| name | meaning |\n|---|---|\n| a | one two three four five six seven eight |\n", 30, false);
  std::istringstream lines(narrow);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 30U) << line;
}

TEST(MarkdownCells, AreTrimmedAndKeepTheirMarks) {
  using Cells = std::vector<std::string>;
  EXPECT_EQ(markdown_cells("| a | [b](c) |"), (Cells{"a", "[b](c)"}));
  EXPECT_EQ(markdown_cells(" |a|| c "), (Cells{"a", "", "c"}));
  EXPECT_EQ(markdown_cells("| `a|b` | c \\| d |"), (Cells{"`a", "b`", "c | d"})) << "as on GitHub";
  EXPECT_TRUE(markdown_cells("| --- | ---: |").empty());
  EXPECT_TRUE(markdown_cells("a | b").empty());
}

TEST(RenderPage, SendsTheTerminalNoControlCharacters) {
  const std::string page =
      render_page("# a\x1b[2J\n\nb\x1b[2J\n\n    c\x1b[2J\n\n| d\x1b[2J |\n|---|\n| e\x1b[2J |\n", 80, false);
  EXPECT_EQ(page.find('\x1b'), std::string::npos) << page;
}

TEST(RenderPage, HeadingsAreBoldInColour) {
  EXPECT_EQ(render_page("# T\n", 80, true), "\x1b[1mT\x1b[0m\n");
}

}  // namespace
}  // namespace nanobench::tools

// `nanobench help`: its topics are the pages of docs/README.md, a command's help is its --help, and pages fit.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <set>
#include <sstream>

#include "core/base/text.h"
#include "tests/tools/run_command_line.h"
#include "tools/cli/help_markdown.h"
#include "tools/cli/help_topics.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;

TEST(HelpTopics, ArePagesAsInTheSourceTree) {
  std::set<std::string> names;
  std::set<std::string> pages;
  for (const HelpTopic& topic : help_topics()) {
    EXPECT_TRUE(names.insert(topic.name).second) << topic.name << " stands twice";
    pages.insert(topic.path);
    EXPECT_FALSE(topic.question.empty());
    const std::optional<std::string_view> text = page_text(topic.path);
    ASSERT_TRUE(text.has_value()) << topic.path << " is not compiled in";
    EXPECT_EQ(*text, read_text(fs::path(NANOBENCH_SOURCE_DIR) / topic.path)) << topic.path;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(NANOBENCH_SOURCE_DIR) / "docs")) {
    const std::string file = entry.path().filename().string();
    const bool is_page = entry.path().extension() == ".md" && file != "README.md";
    EXPECT_TRUE(!is_page || pages.contains("docs/" + file)) << file << " is missing in docs/README.md";
  }
  for (const char* name : {"gate", "designs", "statistics", "store", "external", "gpu", "slurm"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(HelpTopics, AreFoundByNameAndByPage) {
  for (const char* name : {"gate", "ci", "ci.md", "docs/ci.md"}) {
    const std::optional<HelpTopic> topic = find_topic(name);
    ASSERT_TRUE(topic.has_value()) << name;
    EXPECT_EQ(topic->path, "docs/ci.md");
  }
  EXPECT_FALSE(find_topic("nonsense").has_value());
}

void check_command_help(const CommandLine& shell, const CLI::App& level, const std::vector<std::string>& path) {
  for (const CLI::App* command : level.get_subcommands(nullptr)) {
    std::vector<std::string> words = path;
    words.push_back(command->get_name());
    std::vector<std::string> asked = words;
    asked.insert(asked.begin(), "help");
    const ProgramResult result = shell.run(asked);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    words.emplace_back("--help");
    const std::string help = shell.run(words).out;
    EXPECT_EQ(result.out.substr(0, help.size()), help);
    words.pop_back();
    check_command_help(shell, *command, words);
  }
}

TEST(HelpCommand, OfACommandIsItsHelp) {
  const CommandLine shell("help_commands");
  CLI::App app("", "nanobench");
  Session session;
  add_all_commands(app, session);
  check_command_help(shell, app, {});
}

TEST(HelpCommand, ListsEveryTopic) {
  const ProgramResult result = CommandLine("help_topics").run({"help"});
  EXPECT_EQ(result.exit_code, 0);
  for (const HelpTopic& topic : help_topics()) EXPECT_NE(result.out.find(topic.name), std::string::npos) << topic.name;
}

TEST(HelpCommand, PagesOfAnInstalledProgram) {
  const CommandLine shell("help_installed");
  fs::create_directories(shell.work() / "bin");
  fs::copy_file(fs::path(NANOBENCH_BIN_DIR) / "nanobench", shell.work() / "bin" / "nanobench");
  const std::string command = "cd / && NANOBENCH_ROOT=/nonexistent " +
                              quoted((shell.work() / "bin/nanobench").string()) + " help --page gate >" +
                              quoted((shell.work() / "out").string());
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(read_text(shell.work() / "out"), shell.run({"help", "ci"}).out);
  EXPECT_GT(read_text(shell.work() / "out").size(), 2000U);
}

TEST(HelpCommand, APageIsAskedForWhereACommandHasItsName) {
  const CommandLine shell("help_page");
  EXPECT_EQ(shell.run({"help", "--page", "trend"}).out, shell.run({"help", "docs/trend.md"}).out);
  EXPECT_NE(shell.run({"help", "trend"}).out, shell.run({"help", "--page", "trend"}).out);
}

TEST(HelpCommand, AnUnknownTopicIsRefusedWithTheNearest) {
  const ProgramResult result = CommandLine("help_unknown").run({"help", "statistic"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("statistics"), std::string::npos) << result.err;
  EXPECT_EQ(result.out, "");
}

TEST(HelpPages, FitTheTerminal) {
  const CommandLine shell("help_width");
  for (const HelpTopic& topic : help_topics()) {
    std::string_view markdown = *page_text(topic.path);
    for (const std::size_t width : {80U, 120U}) {
      std::istringstream lines(render_page(markdown, width, false));
      for (std::string line; std::getline(lines, line);) {
        const bool is_code = line.starts_with("    ");
        const bool is_long_word = line.find(' ') == std::string::npos;
        EXPECT_TRUE(is_code || is_long_word || display_width(line) <= width) << topic.path << ": " << line;
      }
    }
  }
}

}  // namespace
}  // namespace nanobench::tools

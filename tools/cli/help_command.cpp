// `nanobench help [TOPIC]`: the pages of documentation, and every command's --help.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "tools/cli/complete.h"
#include "tools/cli/help_markdown.h"
#include "tools/cli/help_text.h"
#include "tools/cli/help_topics.h"
#include "tools/cli/options.h"
#include "tools/cli/program.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;

struct HelpOptions {
  std::vector<std::string> words;
  bool is_page = false;
};

constexpr std::size_t kPageColumns = 100;  ///< without a terminal
constexpr const char* kHelpFooter =
    "Examples:\n"
    "  nanobench help                  the topics, one line each\n"
    "  nanobench help designs          a page of the documentation\n"
    "  nanobench help run              the same as nanobench run --help\n"
    "  nanobench help --page gate      the page, where a command has the same name\n"
    "  nanobench help glossary | less";

/// The command that the words name, such as "data prepare"; null if there is none.
const CLI::App* command_of(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* level = &app;
  for (auto word = words.begin(); word != words.end() && level != nullptr; ++word) level = subcommand_of(*level, *word);
  return level;
}

void print_topics() {
  reports::Table table{
      .id = "topics",
      .columns = {reports::text_column("topic", "topic"), reports::wide_column("question", "it answers"),
                  reports::text_column("page", "page", 1)}};
  for (const HelpTopic& topic : help_topics()) {
    table.rows.push_back(
        {reports::text_cell(topic.name), reports::text_cell(topic.question), reports::text_cell(topic.path)});
  }
  reports::Document document;
  document.title = "Topics of nanobench help";
  document.sections.emplace_back().tables.push_back(std::move(table));
  document.notes.push_back("`nanobench help TOPIC` prints the page; `nanobench --help` lists the commands.");
  print(document, false);
}

void print_command(const CLI::App& command, const std::vector<std::string>& words, bool has_page) {
  std::string above = "nanobench";
  for (std::size_t i = 0; i + 1 < words.size(); ++i) above += " " + words[i];
  std::cout << help_for(STDOUT_FILENO, command.help(above));
  if (has_page) std::cout << "\nThe page about it: nanobench help --page " << words.front() << "\n";
}

[[noreturn]] void fail_unknown_topic(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> known;
  for (const HelpTopic& topic : help_topics()) known.push_back(topic.name);
  for (const CLI::App* command : app.get_subcommands(nullptr)) known.push_back(command->get_name());
  const std::string name = joined(words, " ");
  throw Error(ErrorCode::kNotFound, "there is no topic or command " + name + core::suggestion(name, known) +
                                        "; `nanobench help` lists the topics");
}

void help(CLI::App& app, const HelpOptions& options) {
  if (options.words.empty()) return print_topics();
  const std::optional<HelpTopic> topic = options.words.size() == 1 ? find_topic(options.words.front()) : std::nullopt;
  const CLI::App* const command = options.is_page ? nullptr : command_of(app, options.words);
  if (command != nullptr) return print_command(*command, options.words, topic.has_value());
  const std::optional<std::string_view> page = topic ? page_text(topic->path) : std::nullopt;
  if (!page) fail_unknown_topic(app, options.words);
  std::cout << render_page(*page, terminal_width(STDOUT_FILENO, kPageColumns), has_color(STDOUT_FILENO));
}

}  // namespace

void add_help_command(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("help", "Print a page of the documentation, or a command's options");
  const auto options = std::make_shared<HelpOptions>();
  command->add_option("TOPIC", options->words, "Topic or command (default: list the topics)");
  command->add_flag("--page", options->is_page, "Print the page, where a command has the same name");
  command->footer(kHelpFooter);
  command->callback([&app, options] { help(app, *options); });
}

}  // namespace nanobench::tools

/// Completion of a command line that is being typed, read from the parser's own structure: commands, options and what
/// their values may be. Shell scripts (completion_command.cpp) ask for it by the hidden command
/// `nanobench complete WORD...`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/cli/complete_values.h"

namespace nanobench::tools {

/// Commands of the launcher `./nanobench`, which the program itself does not have.
const std::vector<std::string>& launcher_commands();

/// What may stand in place of the last of `words`, the arguments after the program's name; the last one may be empty.
/// Every candidate begins with it. With `has_launcher`, launcher_commands() are commands too.
Completion complete(CLI::App& app, const std::vector<std::string>& words, bool has_launcher = false);

/// Null if the level has no such command.
CLI::App* subcommand_of(CLI::App& level, const std::string& name);

/// Whether the option takes a value; flags do not.
bool takes_value(const CLI::Option& option);

/// `nanobench complete [--launcher] WORD...`. Prints one line, "words", "folders" or "files" (file names are candidates
/// too), then one line a candidate: the word, a tab, what it means. Returns the exit code.
int complete_main(CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace nanobench::tools

#include "tools/cli/program.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <iostream>

#include "core/base/build_info.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/process/resource_limits.h"
#include "suites/external/external_engine.h"
#include "suites/run/launched_engine.h"
#include "suites/run/mock_engine.h"
#include "suites/slurm/slurm_runner.h"
#include "tools/cli/complete.h"
#include "tools/cli/help_text.h"

namespace nanobench::tools {
namespace {

constexpr const char* kAbout =
    "nanobench: what did each change of the NanoGPT speedrun buy, on this hardware, and is it still true?\n";
constexpr const char* kProgramFooter =
    "Examples:\n"
    "  nanobench run suites/speedrun_history.json     train, measure, store and report the history\n"
    "  nanobench run suites/speedrun_history.json --scale smoke\n"
    "  nanobench report --format html --out report.html\n"
    "  nanobench COMMAND --help                       options and examples of one command\n"
    "  nanobench help                                 the topics of the documentation\n"
    "\n"
    "Exit codes: 0 success, 2 usage or configuration error, 4 a cell failed (incomplete evidence), 70 bug,\n"
    "130 interrupted (the same command continues).";

/// In the order of --help.
constexpr auto kCommands = std::to_array<void (*)(CLI::App&, Session&)>({
    add_run_command,        add_ablate_command,    add_suite_command,    add_new_command,      add_hunt_command,
    add_bench_command,      add_watch_command,     add_plan_command,     add_train_command,    add_profile_command,
    add_data_command,       add_list_command,      add_show_command,     add_diff_command,     add_reproduce_command,
    add_compare_command,    add_report_command,    add_evaluate_command, add_claims_command,   add_trend_command,
    add_transfer_command,   add_calibrate_command, add_gate_command,     add_baseline_command, add_bisect_command,
    add_audit_command,      add_import_command,    add_export_command,   add_db_command,       add_doctor_command,
    add_completion_command, add_help_command,
});

std::string version_line() {
  const core::BuildInfo& build = core::build_info();
  return "nanobench " + core::version_text() + ", " + build.compiler + ", " + build.build_type;
}

/// `message` may contain names of files and rows.
int fail(int code, const std::string& message) {
  std::cerr << "nanobench: " << printable(message) << "\n";
  return code;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

/// Whether it is a command of the launcher, given to the program by mistake.
bool is_launcher_command(const std::string& name) {
  return std::ranges::find(launcher_commands(), name) != launcher_commands().end();
}

/// Options of the command that the user meant, for a suggestion.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* level = &app; level != nullptr;) {
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    const std::vector<CLI::App*> chosen = level->get_subcommands();
    level = chosen.empty() ? nullptr : chosen.front();
  }
  return names;
}

/// What is wrong with the word in place of a part of a command, as in `new foo`; empty if that is not the mistake.
std::string unknown_part(const CLI::App& command) {
  const std::vector<std::string> parts = command_names(command), rest = command.remaining();
  if (parts.empty() || !command.get_subcommands().empty() || rest.empty() || rest.front().starts_with('-')) return "";
  return command.get_name() + " " + rest.front() + ": expected " + listed(parts, "or") +
         core::suggestion(rest.front(), parts);
}

/// CLI11's message, with the nearest known name if one was misspelt.
int report_parse_error(CLI::App& app, const CLI::ParseError& error) {
  std::string message = error.what();
  while (!message.empty() && (message.back() == '\n' || message.back() == '.')) message.pop_back();
  const auto* extras = dynamic_cast<const CLI::ExtrasError*>(&error);
  if (extras != nullptr) {
    const std::vector<std::string> rest = app.remaining(true);
    if (!rest.empty()) {
      const std::string& word = rest.front();
      const bool is_option = word.rfind('-', 0) == 0;
      const bool is_command = !is_option && app.get_subcommands().empty();
      const std::vector<std::string> known = is_option ? option_names(app) : command_names(app);
      message = std::string(is_option    ? "unknown option "
                            : is_command ? "unknown command "
                                         : "unexpected argument ") +
                word + (is_option || is_command ? core::suggestion(word.substr(0, word.find('=')), known) : "");
    }
  }
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (const std::string other = chosen.empty() ? "" : unknown_part(*chosen.front()); !other.empty()) message = other;
  const std::string command = chosen.empty() ? "nanobench" : "nanobench " + chosen.front()->get_name();
  return fail(core::kExitUsage, message + "; see `" + command + " --help`");
}

/// The first option whose value is an empty text, as a variable leaves it that is not set; empty if there is none.
/// `bench` takes such values: no command before or after.
std::string emptied_option(const std::vector<std::string>& argv) {
  if (argv.size() < 2 || argv[1] == "bench") return "";
  for (std::size_t i = 2; i < argv.size() && argv[i] != "--"; ++i) {
    if (!argv[i].starts_with("--")) continue;
    if (argv[i].ends_with('=')) return argv[i].substr(0, argv[i].size() - 1);
    if (i + 1 < argv.size() && argv[i + 1].empty()) return argv[i];
  }
  return "";
}

int parse_and_run(CLI::App& app, Session& session) {
  if (const std::string option = emptied_option(session.argv); !option.empty())
    return fail(core::kExitUsage, option + ": the value is empty; give one, or leave the option out");
  // CLI11 expects the arguments without the program's name, in reverse order.
  std::vector<std::string> arguments(session.argv.rbegin(), session.argv.rend() - 1);
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    std::cout << help_for(STDOUT_FILENO, app.help());
    return core::kExitSuccess;
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return report_parse_error(app, error);
  }
  return session.exit_code;
}

/// A closed pipe (`nanobench list | head`) is not an error; a full disk behind stdout is.
int check_output(int code) {
  std::cout.flush();
  if (std::cout.good() && std::fflush(stdout) == 0) return code;
  return code == core::kExitSuccess
             ? fail(core::kExitUsage, "could not write to the standard output; is the disk full?")
             : code;
}

/// Executes the command line; what is thrown is run_program's.
int execute(const std::vector<std::string>& arguments) {
  const std::string first = arguments.size() > 1 ? arguments[1] : "";
  if (first == "mock-engine") return suites::mock_engine_main({arguments.begin() + 2, arguments.end()});
  if (first == "launched-engine") return suites::launched_engine_main({arguments.begin() + 2, arguments.end()});
  if (first == "external-engine") return suites::external_engine_main({arguments.begin() + 2, arguments.end()});
  if (first == suites::kSlurmTaskCommand) return suites::slurm_task_main({arguments.begin() + 2, arguments.end()});
  if (is_launcher_command(first)) {
    return fail(core::kExitUsage,
                "`" + first + "` belongs to the launcher: run `./nanobench " + first + "` in the source folder");
  }
  std::ios::sync_with_stdio(false);
  Session session{.argv = arguments};
  CLI::App app(kAbout, "nanobench");
  add_all_commands(app, session);
  if (arguments.size() <= 1) {
    std::cerr << help_for(STDERR_FILENO, app.help());
    return core::kExitUsage;
  }
  if (first == "complete") return check_output(complete_main(app, {arguments.begin() + 2, arguments.end()}));
  return check_output(parse_and_run(app, session));
}

}  // namespace

void add_all_commands(CLI::App& app, Session& session) {
  app.footer(kProgramFooter);
  app.set_version_flag("-v,--version", version_line());
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(34);
  for (const auto add : kCommands) add(app, session);
}

int run_program(int count, const char* const* words) {
  core::end_plainly_without_memory();
  core::ignore_file_size_signal();
  try {
    return execute({words, words + count});
  } catch (const std::bad_alloc&) {
    return fail(core::kExitUsage, "out of memory");
  } catch (const std::exception& error) {
    std::cout.flush();
    const int code = core::exit_code_of(error);
    return fail(code, (code == core::kExitBug ? "bug: " : "") + std::string(error.what()));
  }
}

}  // namespace nanobench::tools

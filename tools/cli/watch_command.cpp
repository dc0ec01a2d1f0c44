// `nanobench watch`: a running suite, from another terminal.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>

#include "core/base/error.h"
#include "reports/kinds/kinds.h"
#include "reports/watch/plan_watcher.h"
#include "reports/watch/watch_state.h"
#include "suites/design/suite.h"
#include "suites/run/interrupt.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/terminal/full_screen.h"
#include "tools/terminal/terminal.h"
#include "tools/terminal/watch_view.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;
using reports::PlanWatcher;
using reports::WatchState;

struct WatchOptions {
  std::string suite;
  std::optional<std::int64_t> plan_id;
  std::string database;
  double interval_s = 1.0;
  bool is_once = false;
  bool waits = false;
  bool keeps = false;
  bool is_json = false;
};

constexpr std::size_t kWatchPipeColumns = 200;  // without a terminal, nothing is cut
constexpr const char* kWatchFooter =
    "Examples:\n"
    "  nanobench watch                      the suite that runs now, else the newest\n"
    "  nanobench watch leave_one_out        the newest plan of this suite\n"
    "  nanobench watch --wait               start before the suite does\n"
    "  nanobench watch --once               print the progress once\n"
    "  nanobench watch --json | jq .facts.remaining_s\n"
    "\n"
    "watch only reads, and does not slow the runner down. The key q, or Ctrl-C, ends the display but not the suite. "
    "The\n"
    "display ends when the suite has ended. Exit codes: 0 success, 2 no such plan, 130 interrupted.";

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

TerminalKind terminal_kind() {
  return {.has_color = has_color(STDOUT_FILENO), .is_utf8 = is_utf8_locale()};
}

/// The name in a suite file; any other text is itself a name.
std::optional<std::string> suite_name(const std::string& suite) {
  if (suite.empty()) return std::nullopt;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(suite, ignored)) return suite;
  return suites::read_suite_file(suite).name;
}

/// Whether the file, its tables or the plan are missing but may appear in a moment.
bool is_not_there_yet(const Error& error) {
  return error.code() == ErrorCode::kNotFound || error.code() == ErrorCode::kUnavailable;
}

/// The first reading; with --wait, waits until it succeeds. nullopt if interrupted.
std::optional<WatchState> first_state(PlanWatcher& watcher, const WatchOptions& options,
                                      suites::InterruptGuard& interrupts) {
  bool has_reported = false;
  while (interrupts.count() == 0) {
    try {
      return watcher.read(now_s());
    } catch (const Error& error) {
      if (!options.waits || !is_not_there_yet(error)) throw;
      if (!has_reported) write_to_stderr(std::string("waiting: ") + error.what() + "\n");
      has_reported = true;
    }
    interrupts.wait(options.interval_s);
  }
  return std::nullopt;
}

/// Prints plain, permanent lines.
void print_snapshot(const WatchState& state) {
  const WatchStyle style{.width = terminal_width(STDOUT_FILENO, kWatchPipeColumns), .terminal = terminal_kind()};
  for (const std::string& line : watch_lines(state, style)) std::cout << line << "\n";
  std::cout << std::flush;
}

/// The current state; if it cannot be read, the last known one with the reason.
WatchState next_state(PlanWatcher& watcher, const WatchState& last) {
  try {
    return watcher.read(now_s());
  } catch (const Error& error) {
    rethrow_internal(error);
    WatchState state = last;
    state.problem = std::string("cannot be read at the moment: ") + error.what();
    return state;
  }
}

/// The runner stays alive for a moment after the last run, perhaps with another plan.
bool is_over(const WatchState& state) {
  return state.has_ended() && !state.is_owner_alive && state.problem.empty();
}

/// Redraws until the suite has ended or the user quits. Returns the state shown last.
WatchState show_live(PlanWatcher& watcher, WatchState state, const WatchOptions& options,
                     const suites::InterruptGuard& interrupts) {
  using Clock = std::chrono::steady_clock;
  FullScreen screen(STDIN_FILENO, STDOUT_FILENO);
  const TerminalKind terminal = terminal_kind();
  Clock::time_point read_at = Clock::now();
  while (interrupts.count() == 0) {
    const WatchStyle style{
        .width = screen.width(), .height = screen.height(), .terminal = terminal, .has_keys = screen.has_keys()};
    if (!screen.draw(watch_lines(state, style)) || (is_over(state) && !options.keeps)) break;
    const double waited_s = std::chrono::duration<double>(Clock::now() - read_at).count();
    if (screen.wait(options.interval_s - waited_s, interrupts.fd()) == 'q') break;
    if (std::chrono::duration<double>(Clock::now() - read_at).count() < options.interval_s) continue;
    read_at = Clock::now();
    state = next_state(watcher, state);
  }
  return state;
}

int watch(const WatchOptions& options) {
  PlanWatcher watcher(database_file(options.database),
                      {.suite = suite_name(options.suite), .plan_id = options.plan_id});
  suites::InterruptGuard interrupts;
  std::optional<WatchState> state = first_state(watcher, options, interrupts);
  if (!state) return core::kExitInterrupted;
  if (options.is_json) {
    print(reports::watch_report(*state), true);
    return core::kExitSuccess;
  }
  const bool is_live = !options.is_once && is_terminal(STDOUT_FILENO) && (!is_over(*state) || options.keeps);
  if (is_live) state = show_live(watcher, std::move(*state), options, interrupts);
  print_snapshot(*state);
  return interrupts.count() > 0 ? core::kExitInterrupted : core::kExitSuccess;
}

}  // namespace

void add_watch_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("watch", "Watch a running suite from another terminal");
  const auto options = std::make_shared<WatchOptions>();
  command->add_option("SUITE", options->suite, "Name or file of a suite (default: the running suite, or the newest)");
  command->add_option("--plan", options->plan_id, "Number of a stored plan")->type_name("N");
  add_database_option(*command, options->database);
  add_seconds_option(*command, "--interval", [options](double seconds) { options->interval_s = seconds; },
                     "Time between two readings (default: 1s)", {0.1, 3600.0});
  command->add_flag("--once", options->is_once, "Print the progress once and end; the default without a terminal");
  command->add_flag("--wait", options->waits, "Wait until the database and the plan exist");
  command->add_flag("--keep", options->keeps, "Keep the display when the suite has ended");
  add_json_option(*command, options->is_json);
  command->footer(kWatchFooter);
  command->callback([options, &session] { session.exit_code = watch(*options); });
}

}  // namespace nanobench::tools

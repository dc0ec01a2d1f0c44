/// The command line: parses arguments, runs one command, turns errors into one sentence and an exit code.
///
/// A command is a function that adds itself to the parser. To add one: one file here with
/// `void add_NAME_command(CLI::App&, Session&)`, its declaration below, and its line in program.cpp's table; a missing
/// function is a link error.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace nanobench::tools {

/// One invocation of the program.
struct Session {
  std::vector<std::string> argv;  ///< as the user typed it; stored as provenance
  int exit_code = 0;              ///< set by the command's callback
};

void add_run_command(CLI::App& app, Session& session);
void add_ablate_command(CLI::App& app, Session& session);
void add_hunt_command(CLI::App& app, Session& session);
void add_bench_command(CLI::App& app, Session& session);
void add_watch_command(CLI::App& app, Session& session);
void add_plan_command(CLI::App& app, Session& session);
void add_train_command(CLI::App& app, Session& session);
void add_profile_command(CLI::App& app, Session& session);
void add_data_command(CLI::App& app, Session& session);
void add_list_command(CLI::App& app, Session& session);
void add_show_command(CLI::App& app, Session& session);
void add_diff_command(CLI::App& app, Session& session);
void add_reproduce_command(CLI::App& app, Session& session);
void add_compare_command(CLI::App& app, Session& session);
void add_report_command(CLI::App& app, Session& session);
void add_evaluate_command(CLI::App& app, Session& session);
void add_claims_command(CLI::App& app, Session& session);
void add_trend_command(CLI::App& app, Session& session);
void add_transfer_command(CLI::App& app, Session& session);
void add_calibrate_command(CLI::App& app, Session& session);
void add_gate_command(CLI::App& app, Session& session);
void add_baseline_command(CLI::App& app, Session& session);
void add_bisect_command(CLI::App& app, Session& session);
void add_suite_command(CLI::App& app, Session& session);
void add_new_command(CLI::App& app, Session& session);
void add_export_command(CLI::App& app, Session& session);
void add_db_command(CLI::App& app, Session& session);
void add_audit_command(CLI::App& app, Session& session);
void add_import_command(CLI::App& app, Session& session);
void add_doctor_command(CLI::App& app, Session& session);
void add_completion_command(CLI::App& app, Session& session);
void add_help_command(CLI::App& app, Session& session);

/// All of them, with the program's own options and texts.
void add_all_commands(CLI::App& app, Session& session);

/// main()'s arguments. Throws nothing: every error is one sentence. Returns the exit code (core/base/error.h).
int run_program(int count, const char* const* words);

}  // namespace nanobench::tools

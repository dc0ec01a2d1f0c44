/// One invocation of the program, and the contract of a command: a function that adds itself to the parser.
///
/// To add a command: one file here with `void add_NAME_command(CLI::App&, Session&)`, its declaration below, and its
/// line in commands.cpp; a missing function is a link error.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace nanobench::tools {

struct Session {
  std::vector<std::string> argv;  ///< as the user typed it; stored as provenance
  int exit_code = 0;              ///< set by the command's callback
};

void add_run_command(CLI::App& app, Session& session);
void add_ablate_command(CLI::App& app, Session& session);
void add_watch_command(CLI::App& app, Session& session);
void add_plan_command(CLI::App& app, Session& session);
void add_train_command(CLI::App& app, Session& session);
void add_profile_command(CLI::App& app, Session& session);
void add_data_command(CLI::App& app, Session& session);
void add_list_command(CLI::App& app, Session& session);
void add_show_command(CLI::App& app, Session& session);
void add_diff_command(CLI::App& app, Session& session);
void add_compare_command(CLI::App& app, Session& session);
void add_report_command(CLI::App& app, Session& session);
void add_claims_command(CLI::App& app, Session& session);
void add_trend_command(CLI::App& app, Session& session);
void add_calibrate_command(CLI::App& app, Session& session);
void add_gate_command(CLI::App& app, Session& session);
void add_baseline_command(CLI::App& app, Session& session);
void add_export_command(CLI::App& app, Session& session);
void add_db_command(CLI::App& app, Session& session);
void add_audit_command(CLI::App& app, Session& session);
void add_import_command(CLI::App& app, Session& session);
void add_doctor_command(CLI::App& app, Session& session);

/// All of them, in the order of --help.
using AddCommand = void (*)(CLI::App&, Session&);
const std::vector<AddCommand>& commands();

}  // namespace nanobench::tools

#include "tools/cli/session.h"

namespace nanobench::tools {

const std::vector<AddCommand>& commands() {
  static const std::vector<AddCommand> table = {
      add_run_command,     add_ablate_command,   add_watch_command,  add_plan_command,   add_train_command,
      add_profile_command, add_data_command,     add_list_command,   add_show_command,   add_diff_command,
      add_compare_command, add_report_command,   add_claims_command, add_trend_command,  add_calibrate_command,
      add_gate_command,    add_baseline_command, add_audit_command,  add_import_command, add_export_command,
      add_db_command,      add_doctor_command,
  };
  return table;
}

}  // namespace nanobench::tools

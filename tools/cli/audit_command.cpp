// `nanobench audit`: statistics and checks of speedrun logs, read-only.
#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "core/base/error.h"
#include "reports/audit/audit.h"
#include "reports/kinds/kinds.h"
#include "tools/cli/options.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;

struct AuditCommandOptions {
  std::vector<std::string> paths;
  double target = reports::AuditOptions{}.target;
  std::string rule = "t";
  bool has_runs = false;
  DocumentOptions document;
};

constexpr const char* kAuditFooter =
    "Folders are searched for *.txt, *.log, *.out and *.stdout. Runs are grouped by folder, sub-directory, number of\n"
    "steps, GPU and script. audit writes nothing but --out.\n"
    "\n"
    "Exit codes: 0 every group's mean loss is at or below the target with p < 0.01 (with --rule z: the z rule holds);\n"
    "1 a group can be tested and does not meet the rule; 2 usage; 3 no group fails, but some cannot be tested (one "
    "run,\n"
    "no final loss) or there is no log. Times are compared with the published ones and flagged, but never decide.\n"
    "\n"
    "Examples:\n"
    "  nanobench audit records/track_1_short/2025-01-04_SoftCap\n"
    "  nanobench audit logs/ --format md >>\"$GITHUB_STEP_SUMMARY\"\n"
    "  nanobench audit records/track_2_medium --target 2.92\n"
    "  nanobench audit records/track_3_optimization --rule z --runs --json\n"
    "  nanobench audit a.txt b.txt --out audit.html";

reports::AuditOptions audit_options(const AuditCommandOptions& options) {
  reports::AuditOptions audit;
  if (!std::isfinite(options.target) || options.target <= 0) {
    throw Error(ErrorCode::kInvalidArgument, "--target: expected a loss above 0, such as 3.28");
  }
  audit.target = options.target;
  if (options.rule != "t" && options.rule != "z") {
    throw Error(ErrorCode::kInvalidArgument, "--rule " + options.rule + ": expected t or z");
  }
  audit.rule = options.rule == "z" ? reports::AuditRule::kZ : reports::AuditRule::kT;
  return audit;
}

reports::Audit audit_of(const AuditCommandOptions& options) {
  reports::Auditor auditor(audit_options(options));
  const results::LogFiles found =
      results::find_log_files(std::vector<std::filesystem::path>(options.paths.begin(), options.paths.end()));
  for (const std::string& problem : found.problems) auditor.add_problem(problem);
  std::string text;
  for (const results::LogFile& file : found.files) {
    if (const std::optional<std::string> reason = results::read_log_file(file.path, text)) {
      auditor.add_problem(file.path.string() + " " + *reason);
    } else {
      auditor.add(file, results::read_speedrun_log(text));
    }
  }
  return auditor.finish();
}

int exit_code_of(reports::AuditVerdict verdict) {
  switch (verdict) {
    case reports::AuditVerdict::kMeets: return core::kExitSuccess;
    case reports::AuditVerdict::kDoesNotMeet: return core::kExitRegression;
    case reports::AuditVerdict::kInconclusive: break;
  }
  return core::kExitInconclusive;
}

int audit(const AuditCommandOptions& options) {
  const Format format = chosen_format(options.document);
  const reports::Audit result = audit_of(options);
  write(reports::audit_report(result, options.has_runs, format == Format::kHtml), format, options.document);
  return exit_code_of(result.verdict());
}

}  // namespace

void add_audit_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("audit", "Check speedrun logs: means, p-values, rules, repetitions");
  const auto options = std::make_shared<AuditCommandOptions>();
  command->add_option("PATH", options->paths, "Log files and folders of logs")->type_name("FILE|DIR")->required();
  command->add_option("--target", options->target, "Target of the validation loss (default: 3.28)")->type_name("LOSS");
  command->add_option("--rule", options->rule, "t: one-sided t test (default); z: known spread")->type_name("RULE");
  command->add_flag("--runs", options->has_runs, "Add a table with every run");
  add_document_options(*command, options->document);
  command->footer(kAuditFooter);
  command->callback([options, &session] { session.exit_code = audit(*options); });
}

}  // namespace nanobench::tools

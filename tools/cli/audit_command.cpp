// `nanobench audit`: statistics and checks of speedrun logs, read-only.
#include <CLI/CLI.hpp>
#include <memory>

#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/audit/audit.h"
#include "reports/kinds/kinds.h"
#include "tools/cli/log_arms.h"
#include "tools/cli/options.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;

struct AuditCommandOptions {
  std::vector<std::string> paths;
  LogRuleOptions rule;
  std::string test;
  std::optional<std::int64_t> step;
  bool has_runs = false;
  DocumentOptions document;
};

constexpr const char* kAuditFooter =
    "Folders are searched for *.txt, *.log, *.out and *.stdout. Runs are grouped by folder, sub-directory, number of\n"
    "steps, GPU and script; scripts that differ only in comments, annotations, run names, seeds, intervals of "
    "validations\n"
    "or messages are one.\n"
    "The path names the track (track_1..., track_2..., track_3...), and the track its target and rule: 3.28 and t, "
    "2.92\n"
    "and t, 3.28 and z. The step that counts is --step, the one that a README.md beside or above the logs names, "
    "where\n"
    "all runs of the group end, or the last planned one. audit writes nothing but --out.\n"
    "For one folder with up to three groups, audit prints five lines for a reviewer, with the further runs that would\n"
    "settle what is open.\n"
    "\n"
    "Exit codes: 0 every group meets its rule: the mean loss is at or below the target with p < 0.01 (rule t), or\n"
    "(target - mean) * sqrt(n) >= 0.004 (rule z); 1 a group can be tested and does not meet the rule; 2 usage; 3 no\n"
    "group fails, but some cannot be tested (one run, no final loss, a README without a log) or there is no log. "
    "Times\n"
    "are compared with the published ones and flagged, but never decide. Arms are compared, and never decide either.\n"
    "\n"
    "Examples:\n"
    "  nanobench audit records/track_1_short/2025-01-04_SoftCap\n"
    "  nanobench audit logs/ --format md >>\"$GITHUB_STEP_SUMMARY\"\n"
    "  nanobench audit medium_logs/ --track 2\n"
    "  nanobench audit records/track_3_optimization --runs --json\n"
    "  nanobench audit a.txt b.txt --out audit.html";

reports::AuditOptions audit_options(const AuditCommandOptions& options) {
  reports::AuditOptions audit = audit_options(options.rule);
  if (!options.test.empty()) {
    audit.rule = enum_value<reports::AuditRule>(options.test);
    if (!audit.rule) throw Error(ErrorCode::kInvalidArgument, "--rule " + options.test + ": expected t or z");
  }
  if (options.step && *options.step < 0)
    throw Error(ErrorCode::kInvalidArgument, "--step: expected a step of the logs, 0 or more");
  audit.step = options.step;
  return audit;
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
  const reports::Audit result = audit_logs(options.paths, audit_options(options));
  reports::Document document = reports::audit_report(result, options.has_runs, format == Format::kHtml);
  const std::string paths = shell_words(options.paths);
  if (!options.has_runs)
    document.next.push_back({.command = "audit " + paths + " --runs", .gain = "every run of the table, one by one"});
  document.next.push_back({.command = "audit " + paths + " --out audit.html", .gain = "the page with the charts"});
  write(document, format, options.document);
  return exit_code_of(result.verdict());
}

}  // namespace

void add_audit_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("audit", "Check speedrun logs: means, p-values, rules, repetitions");
  const auto options = std::make_shared<AuditCommandOptions>();
  command->add_option("PATH", options->paths, "Log files and folders of logs")->type_name("FILE|DIR")->required();
  add_log_rule_options(*command, options->rule);
  command->add_option("--rule", options->test, "t: one-sided t test; z: known spread (default: the track's)")
      ->type_name("RULE");
  command->add_option("--step", options->step, "Step whose loss counts, for all logs")->type_name("N");
  command->add_flag("--runs", options->has_runs, "Add a table with every run");
  add_document_options(*command, options->document);
  command->footer(kAuditFooter);
  command->callback([options, &session] { session.exit_code = audit(*options); });
}

}  // namespace nanobench::tools

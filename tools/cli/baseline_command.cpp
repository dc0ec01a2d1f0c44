// `nanobench baseline save|accept|list`: stored results that a gate compares with.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>

#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "reports/gate/arm.h"
#include "reports/kinds/kinds.h"
#include "results/records.h"
#include "tools/cli/git.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;

struct BaselineOptions {
  std::string name;
  std::string suite;
  std::optional<std::int64_t> plan;
  std::string reason;
  std::string revision;
  std::string out;
  std::string database;
  bool replaces = false;  ///< a file or a name that exists
  bool is_json = false;
};

constexpr const char* kBaselineFooter =
    "Examples:\n"
    "  nanobench baseline save main                                      the newest results under a name\n"
    "  nanobench baseline save main --suite smoke_gate --out baseline.json   also as a file beside the code\n"
    "  nanobench baseline save main --replace                            the name gets the newest results\n"
    "  nanobench baseline accept --reason \"wider head, slower as expected\"\n"
    "  nanobench baseline list";

results::PlanRecord plan_of(const results::Store& store, const BaselineOptions& options) {
  if (options.plan) return store.plan(*options.plan);
  const std::optional<std::string> suite =
      options.suite.empty() ? std::nullopt : std::optional<std::string>(options.suite);
  if (const auto plan = store.newest_plan(suite)) return *plan;
  throw Error(ErrorCode::kNotFound, store.file().string() + " holds no results" +
                                        (suite ? " of the suite " + *suite : std::string()) +
                                        "; `nanobench run SUITE` makes some");
}

/// Nothing can be compared with an incomplete baseline.
void require_whole(const results::Store& store, const results::PlanRecord& plan) {
  for (const results::PlanLine& line : plan.lines) {
    if (line.run_id && store.run(*line.run_id).is_completed()) continue;
    throw Error(ErrorCode::kConflict, "plan " + std::to_string(plan.id) + " of the suite " + plan.suite +
                                          " is incomplete: " + line.cell + ", seed " + std::to_string(line.seed) +
                                          " has no completed run; run the suite again, or choose another --plan");
  }
}

/// Revision of the sources that the plan measured. For an external trainer, this is the folder's current revision as
/// long as its files equal those of the runs, even if the runs were made from another commit with the same bytes.
std::string measured_revision(const results::Store& store, const results::PlanRecord& plan, const reports::Arm& arm) {
  const results::RunRecord run = store.run(*plan.lines.front().run_id);
  if (run.engine != results::kExternalEngine) return source_revision().value_or("");
  const core::Json config = core::json_or_null(run.config);
  if (!config.is_object()) return arm.revision;
  const std::string folder = core::string_in(config, "folder"), tree = core::string_in(config, "tree");
  const bool is_same = !tree.empty() && source_tree(folder, core::string_in(config, "suite_file")) == tree;
  return is_same ? source_revision(folder).value_or("") : arm.revision;
}

/// The folder of the measured sources: of an external trainer its own, else the working folder.
std::filesystem::path measured_folder(const results::RunRecord& run) {
  if (run.engine != results::kExternalEngine) return {};
  const core::Json config = core::json_or_null(run.config);
  return config.is_object() ? core::string_in(config, "folder") : "";
}

/// Later gates compare with what the name stands for, so it should be a commit of the main branch.
void warn_off_main(const results::RunRecord& run) {
  const std::filesystem::path folder = measured_folder(run);
  const std::optional<std::string> main = main_branch(folder), head = find_commit("HEAD", folder);
  if (!main || !head || is_ancestor(*head, *main, folder)) return;
  std::cerr << "warning: the checkout is not on " << *main
            << ", so this baseline holds changes that are not merged; gates will compare with them\n";
}

/// Called before anything is written.
void require_free(const BaselineOptions& options, const results::PlanRecord& plan,
                  const std::optional<results::BaselineRecord>& before) {
  if (options.replaces) return;
  std::error_code ignored;
  if (!options.out.empty() && std::filesystem::exists(options.out, ignored))
    throw Error(ErrorCode::kConflict,
                options.out + " exists already; choose another --out, or replace it with --replace");
  if (before && before->plan_id != plan.id) {
    throw Error(ErrorCode::kConflict, "the baseline " + before->name + " is plan " + std::to_string(before->plan_id) +
                                          " already; choose another name, or move it to plan " +
                                          std::to_string(plan.id) + " with --replace");
  }
}

void save(const BaselineOptions& options, const std::string& name, bool is_accepted) {
  results::Store store(database_file(options.database));
  const results::PlanRecord plan = plan_of(store, options);
  require_whole(store, plan);
  const std::optional<results::BaselineRecord> before = store.find_baseline(name);
  if (!is_accepted) {
    require_free(options, plan, before);
    warn_off_main(store.run(*plan.lines.front().run_id));
  }
  reports::Arm arm = reports::read_arm(store, plan, "baseline " + name);
  const std::string revision = options.revision.empty() ? measured_revision(store, plan, arm) : options.revision;
  if (!revision.empty()) arm.revision = revision;
  if (!options.out.empty()) core::write_file_atomically(options.out, to_json(arm).dump(1) + "\n");
  store.set_baseline(name, plan.id, {.reason = options.reason, .revision = revision, .is_accepted = is_accepted});
  std::cerr << (is_accepted ? "accepted plan " : "saved plan ") << plan.id << " of the suite " << plan.suite
            << " as baseline " << name;
  if (before && before->plan_id != plan.id) std::cerr << " (it was plan " << before->plan_id << ")";
  std::cerr << "\n";
}

/// "accepted-12": each plan has its own name, so that earlier baselines remain.
std::string accepted_name(const BaselineOptions& options) {
  if (!options.name.empty()) return options.name;
  const results::Store store(database_file(options.database), results::OpenMode::kReadOnly);
  return "accepted-" + std::to_string(plan_of(store, options).id);
}

void add_selection(CLI::App& command, BaselineOptions& options) {
  command.add_option("--suite", options.suite, "Take the newest results of this suite (default: of any suite)")
      ->type_name("NAME");
  command.add_option("--plan", options.plan, "Take this stored plan")->type_name("N");
  command
      .add_option("--revision", options.revision,
                  "Revision of the measured sources (default: from git, in this folder or the trainer's)")
      ->type_name("REV");
  command.add_option("--out", options.out, "Also write a file for `nanobench gate --baseline FILE`")->type_name("FILE");
  add_database_option(command, options.database);
}

void add_save(CLI::App& parent) {
  CLI::App* command = parent.add_subcommand("save", "Save stored results under a name");
  const auto options = std::make_shared<BaselineOptions>();
  command->add_option("NAME", options->name, "Name of the baseline")->required();
  command->add_option("--reason", options->reason, "Reason, stored with the baseline")->type_name("TEXT");
  add_selection(*command, *options);
  command->add_flag("--replace", options->replaces,
                    "Replace a file that exists, and move a name that has other results");
  command->footer("Example:\n  nanobench baseline save main --suite smoke_gate --out baseline.json");
  command->callback([options] { save(*options, options->name, /*is_accepted=*/false); });
}

void add_accept(CLI::App& parent) {
  CLI::App* command = parent.add_subcommand("accept", "Make stored results the new normal of their suite");
  const auto options = std::make_shared<BaselineOptions>();
  command->add_option("NAME", options->name, "Name of the baseline (default: accepted-PLAN)");
  command->add_option("--reason", options->reason, "Why the change is wanted; stored with the baseline")
      ->type_name("TEXT")
      ->required();
  add_selection(*command, *options);
  command->footer(
      "Example:\n  nanobench baseline accept --suite smoke_gate --reason \"wider head, slower as expected\"");
  command->callback([options] { save(*options, accepted_name(*options), /*is_accepted=*/true); });
}

void add_list(CLI::App& parent) {
  CLI::App* command = parent.add_subcommand("list", "List the stored baselines, the oldest first");
  const auto options = std::make_shared<BaselineOptions>();
  add_database_option(*command, options->database);
  add_json_option(*command, options->is_json);
  command->callback([options] {
    const results::Store store(database_file(options->database), results::OpenMode::kReadOnly);
    print(reports::baseline_list_report(store.baselines()), options->is_json);
  });
}

}  // namespace

void add_baseline_command(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("baseline", "Save, accept or list the results that a gate compares with");
  command->require_subcommand(1);
  command->footer(kBaselineFooter);
  add_save(*command);
  add_accept(*command);
  add_list(*command);
}

}  // namespace nanobench::tools

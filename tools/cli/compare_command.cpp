// `nanobench compare A B`: two sets of measured runs side by side.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/gate/gate.h"
#include "reports/kinds/kinds.h"
#include "tools/cli/gate_options.h"
#include "tools/cli/log_arms.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;
using reports::Arm;
using results::PlanRecord;
using results::RunRecord;
using results::Store;

struct CompareOptions {
  std::string a;
  std::vector<std::string> others;
  std::string b;  ///< the only one of `others`
  std::string control;
  LogRuleOptions rule;
  std::string suite;
  std::string database;
  GatePolicyOptions policy;
  DocumentOptions document;
};

constexpr const char* kPlanPrefix = "plan:";
constexpr std::size_t kMinRevision = 7;  // digits
constexpr const char* kCompareFooter =
    "Examples:\n"
    "  nanobench compare record16 record17            two cells of the newest suite\n"
    "  nanobench compare 12 15                        two runs: how their results differ\n"
    "  nanobench compare plan:3 plan:7                the same suite at two times\n"
    "  nanobench compare 3f2a91c 88d0e1b              two revisions of the sources that were measured\n"
    "  nanobench compare laptop.db server.db --suite speedrun_history\n"
    "  nanobench compare record16 record17 --out compare.html\n"
    "  nanobench compare logs/base logs/init logs/gate      folders of speedrun logs, the first is the control\n"
    "  nanobench compare OLD/ NEW/ --out page.html          the same as a page with curves\n"
    "  nanobench compare base.txt changed.txt               two logs: one run each proves nothing\n"
    "  nanobench compare ablation/ --control base           the folders in one folder\n"
    "\n"
    "Cells of the same name are compared; if each side has one cell, these two are. Losses are compared seed by seed,\n"
    "times only within one host. Logs and folders of logs are arms against a control, and are not stored: Welch's "
    "test\n"
    "and Holm's adjustment for loss, training clock, time to the target and time of a step, beside them the rules' "
    "test\n"
    "against the track's target. `diff` shows the settings, `gate` decides. Exit codes: 0 success, 2 usage.";

/// One side of the comparison; the runs of a plan were made in turn.
struct CompareInput {
  Arm arm;
  std::optional<std::int64_t> plan_id;  ///< plan of this database that the runs belong to
};

bool is_revision(const std::string& text) {
  return text.size() >= kMinRevision && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::optional<PlanRecord> newest_plan(const Store& store, const std::string& suite) {
  return store.newest_plan(suite.empty() ? std::nullopt : std::optional<std::string>(suite));
}

std::vector<RunRecord> runs_of_revision(const Store& store, const std::string& revision, const std::string& suite) {
  std::vector<RunRecord> found;
  std::map<std::int64_t, bool> is_wanted;  // by environment
  for (RunRecord& run : store.runs({.suite = suite})) {
    if (!run.environment_id) continue;
    const auto [wanted, is_new] = is_wanted.try_emplace(*run.environment_id, false);
    if (is_new) {
      const auto environment = store.environment(*run.environment_id);
      const auto fact = environment ? environment->facts.find("git_revision") : decltype(environment->facts.end()){};
      wanted->second = environment && fact != environment->facts.end() && fact->second.starts_with(revision);
    }
    if (wanted->second) found.push_back(std::move(run));
  }
  return found;
}

CompareInput side_of_database(const std::string& file, const std::string& suite) {
  const Store other(file, results::OpenMode::kReadOnly);
  const auto plan = newest_plan(other, suite);
  if (!plan) {
    throw Error(ErrorCode::kNotFound, file + " holds no results" + (suite.empty() ? "" : " of the suite " + suite));
  }
  return {.arm = reports::read_arm(other, *plan, file), .plan_id = std::nullopt};
}

CompareInput side_of_plan(const Store& store, const std::string& text) {
  const std::optional<std::int64_t> number = parse_count(text.substr(std::string(kPlanPrefix).size()));
  if (!number) throw Error(ErrorCode::kInvalidArgument, text + ": expected plan:N with the number of a plan");
  const PlanRecord plan = store.plan(*number);
  return {.arm = reports::read_arm(store, plan, text), .plan_id = plan.id};
}

CompareInput side_of_cell(const Store& store, const PlanRecord& plan, const std::string& label) {
  CompareInput side{.arm = reports::read_arm(store, plan, label), .plan_id = plan.id};
  std::erase_if(side.arm.cells, [&](const reports::ArmCell& cell) { return cell.label != label; });
  return side;
}

/// A file that is one, or the name of one that is missing.
bool is_database_name(const std::string& text) {
  return results::is_database(text) || std::filesystem::path(text).extension() == ".db";
}

/// The database that A and B are looked up in; nullopt if both are databases, so that this one may be absent.
std::optional<Store> own_store(const CompareOptions& options) {
  if (options.database.empty() && is_database_name(options.a) && is_database_name(options.b)) return std::nullopt;
  return std::optional<Store>(std::in_place, database_file(options.database), results::OpenMode::kReadOnly);
}

CompareInput read_side(const Store& store, const std::string& text, const std::string& suite) {
  if (text.starts_with(kPlanPrefix)) return side_of_plan(store, text);
  const auto plan = newest_plan(store, suite);
  std::vector<std::string> labels;
  if (plan) {
    for (const results::PlanCell& cell : plan->cells) labels.push_back(cell.label);
    if (std::find(labels.begin(), labels.end(), text) != labels.end()) return side_of_cell(store, *plan, text);
  }
  if (const auto run = parse_count(text); run && text.size() < kMinRevision)
    return {.arm = reports::read_arm(store, {store.run(*run)}, "run " + text), .plan_id = std::nullopt};
  if (std::filesystem::is_regular_file(text)) return side_of_database(text, suite);
  if (is_revision(text) && plan) {
    const std::vector<RunRecord> runs = runs_of_revision(store, text, plan->suite);
    if (!runs.empty()) return {.arm = reports::read_arm(store, runs, text), .plan_id = std::nullopt};
  }
  throw Error(ErrorCode::kNotFound, "\"" + text + "\" is not a run, plan:N, database, measured revision, or cell of " +
                                        (plan ? "the suite " + plan->suite : "a stored suite") +
                                        core::suggestion(text, labels));
}

std::vector<std::string> arguments_of(const CompareOptions& options) {
  std::vector<std::string> arguments = {options.a};
  arguments.insert(arguments.end(), options.others.begin(), options.others.end());
  return arguments;
}

/// Whether the arguments are logs. Throws Error{kInvalidArgument} for logs beside something else.
bool are_logs(const CompareOptions& options) {
  const std::vector<std::string> arguments = arguments_of(options);
  const auto other = std::find_if_not(arguments.begin(), arguments.end(), is_log_path);
  if (other == arguments.end()) return true;
  if (std::none_of(arguments.begin(), arguments.end(), is_log_path)) return false;
  const bool is_database = results::is_database(*other);
  throw Error(ErrorCode::kInvalidArgument,
              "compare: " + shell_words({*other}) + " is " + (is_database ? "a database" : "no folder or log") +
                  ", and logs are compared with logs only; `nanobench import` stores logs beside other runs");
}

void compare_stored(const CompareOptions& options) {
  const Format format = chosen_format(options.document);
  const std::optional<Store> store = own_store(options);
  const auto side = [&](const std::string& text) {
    return store ? read_side(*store, text, options.suite) : side_of_database(text, options.suite);
  };
  CompareInput a = side(options.a), b = side(options.b);
  bool has_other_configs = false;
  if (a.arm.cells.size() == 1 && b.arm.cells.size() == 1 && a.arm.cells[0].label != b.arm.cells[0].label) {
    a.arm.cells[0].label = b.arm.cells[0].label = a.arm.cells[0].label + " against " + b.arm.cells[0].label;
    has_other_configs = true;
  }
  const auto is_in_a = [&](const reports::ArmCell& cell) {
    return std::any_of(a.arm.cells.begin(), a.arm.cells.end(),
                       [&](const auto& other) { return other.label == cell.label; });
  };
  if (std::none_of(b.arm.cells.begin(), b.arm.cells.end(), is_in_a)) {
    throw Error(ErrorCode::kInvalidArgument,
                options.a + " and " + options.b + " have no cell in common; name one cell of each to compare two");
  }
  const bool is_one_plan = a.plan_id && a.plan_id == b.plan_id;
  reports::GateResult result =
      reports::evaluate_gate(a.arm, b.arm, policy_of(options.policy),
                             {.is_interleaved = is_one_plan, .allows_other_configs = has_other_configs});
  reports::Document document = reports::compare_report(result);
  document.next = {{.command = "compare " + shell_words({options.a, options.b}) + " --out compare.html",
                    .gain = "the same as a page"}};
  write(document, format, options.document);
}

void compare(CompareOptions& options) {
  if (are_logs(options)) {
    const Format format = chosen_format(options.document);
    const reports::ArmComparison comparison =
        compare_logs(arguments_of(options), options.control, audit_options(options.rule));
    reports::Document document = reports::arms_report(comparison, format == Format::kHtml);
    document.next = {{.command = "compare " + shell_words(arguments_of(options)) + " --out arms.html",
                      .gain = "the page, with the curves of every run"}};
    write(document, format, options.document);
    return;
  }
  if (!options.control.empty() || options.rule.is_given())
    throw Error(ErrorCode::kInvalidArgument, "--control, --target and --track are for logs");
  if (options.others.size() != 1) {
    throw Error(ErrorCode::kInvalidArgument,
                "compare: expected two arguments, or any number of logs and folders of logs, got " +
                    counted(static_cast<std::int64_t>(options.others.size()) + 1, "argument", "arguments") +
                    " of which none is a log: " + shell_words(arguments_of(options)));
  }
  options.b = options.others.front();
  compare_stored(options);
}

}  // namespace

void add_compare_command(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("compare", "Compare two cells, runs, plans, revisions or databases, or logs");
  const auto options = std::make_shared<CompareOptions>();
  command->add_option("A", options->a, "Cell, number of a run, plan:N, revision, database, log or folder of logs")
      ->required();
  command->add_option("B", options->others, "What to compare with A; differences above 0 are worse than A");
  command->add_option("--control", options->control, "Log or folder that the others are compared with (default: A)")
      ->type_name("ARM");
  add_log_rule_options(*command, options->rule);
  command->add_option("--suite", options->suite, "Cells and revisions of this suite (default: the newest)")
      ->type_name("NAME");
  add_gate_policy_options(*command, options->policy);
  add_database_option(*command, options->database);
  add_document_options(*command, options->document);
  command->footer(kCompareFooter);
  command->callback([options] { compare(*options); });
}

}  // namespace nanobench::tools

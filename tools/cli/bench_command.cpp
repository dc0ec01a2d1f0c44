// `nanobench bench`: measures any command, or several in turn, and compares them.
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>

#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/gate/gate.h"
#include "reports/kinds/kinds.h"
#include "suites/bench/bench_runner.h"
#include "tools/cli/gate_options.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/terminal/suite_progress.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;

struct BenchOptions {
  std::vector<std::string> commands;
  std::vector<std::string> names;
  std::vector<std::string> parameters;
  std::vector<std::string> metrics;
  suites::BenchRequest request;
  std::string timeout, budget, margin, turns;
  std::string baseline;
  bool is_gate = false;
  bool is_quiet = false;
  std::string database;
  DocumentOptions document;
};

constexpr double kMinMargin = 1e-6;
constexpr double kShortestTurn = 0.001;  // seconds
constexpr const char* kBenchFooter =
    "Examples:\n"
    "  nanobench bench -- ./a.out --size 64                  one command, its words after --\n"
    "  nanobench bench 'sort a.txt' 'sort -S1G a.txt'        two commands in turn, and a verdict\n"
    "  nanobench bench './sum {n}' --param n=1:8             a range; also n=1,2,4 and n=0:1:0.25\n"
    "  nanobench bench './old' './new' --gate --margin 2%    exit code 1 if the second one is slower\n"
    "  nanobench bench --warmup 3 --prepare 'make clean' 'make -j2' 'make -j4'\n"
    "  nanobench bench 'python3 train.py' --metric 'loss=val_loss: ([0-9.]+)' --runs 5\n"
    "  nanobench bench --turns 'make -C old check' 'make -C new check'   a slow moment meets both\n"
    "  nanobench bench --shell 'cat a.txt | wc -l' --export json --out bench.json\n"
    "\n"
    "A round runs each command once, in an order that is drawn anew. Without --shell a command is split into words by\n"
    "its quotes and backslashes, and nothing is expanded. {NAME} of a --param is replaced in commands, names, "
    "--input,\n"
    "and the commands around a run. A command that fails twice in a row in the same way is given up; the others go "
    "on.\n"
    "With --turns, one command at a time runs, the others are paused, and only the time while it runs counts.\n"
    "Ctrl-C keeps and reports what is measured. More in docs/bench.md.\n"
    "Exit codes: 0 success, 2 usage, 4 a command failed, 130 interrupted; with --gate or --baseline: 0 pass,\n"
    "1 regression, 3 inconclusive, 4 incomplete, 5 not comparable.";

/// The words after the first "--" of the command line, which are one command; empty without it.
std::vector<std::string> words_after_dashes(const std::vector<std::string>& argv) {
  const auto dashes = std::find(argv.begin(), argv.end(), "--");
  return dashes == argv.end() ? std::vector<std::string>() : std::vector<std::string>(dashes + 1, argv.end());
}

std::vector<suites::BenchCommand> commands_of(const BenchOptions& options, const Session& session) {
  const std::vector<std::string> words = words_after_dashes(session.argv);
  std::vector<suites::BenchCommand> commands;
  for (std::size_t i = 0; i + words.size() < options.commands.size(); ++i)
    commands.push_back({.text = options.commands[i], .words = {}, .name = ""});
  if (!words.empty()) commands.push_back({.text = "", .words = words, .name = ""});
  if (options.names.size() > commands.size()) {
    throw Error(ErrorCode::kInvalidArgument, "--name is given " + std::to_string(options.names.size()) + " times for " +
                                                 counted(static_cast<std::int64_t>(commands.size()), "command"));
  }
  for (std::size_t i = 0; i < options.names.size(); ++i) commands[i].name = options.names[i];
  return commands;
}

/// Throws Error{kInvalidArgument}, also for a time that would be read as a command.
std::optional<std::chrono::duration<double>> turn_of(const BenchOptions& options, const Session& session) {
  if (options.turns.empty()) return std::nullopt;
  const std::vector<std::string>& argv = session.argv;
  const auto flag = std::find(argv.begin(), std::find(argv.begin(), argv.end(), "--"), "--turns");
  if (flag != argv.end() && flag + 1 != argv.end() && number_with_unit(*(flag + 1)))
    throw Error(ErrorCode::kInvalidArgument, "--turns " + *(flag + 1) + ": join them, as in --turns=" + *(flag + 1));
  const double seconds = parse_duration(options.turns, "--turns");
  if (seconds < kShortestTurn) {
    throw Error(ErrorCode::kInvalidArgument,
                "--turns=" + options.turns + ": expected 1ms or more; a pause takes a part of a shorter turn");
  }
  return std::chrono::duration<double>(seconds);
}

suites::Bench bench_of(const BenchOptions& options, const Session& session) {
  suites::BenchRequest request = options.request;
  request.commands = commands_of(options, session);
  for (const std::string& text : options.parameters) request.parameters.push_back(suites::read_bench_parameter(text));
  for (const std::string& text : options.metrics) {
    request.metrics.push_back(suites::read_output_metric(text));
    const auto is_same = [&](const suites::OutputMetric& metric) { return metric.name == request.metrics.back().name; };
    if (std::count_if(request.metrics.begin(), request.metrics.end(), is_same) > 1)
      throw Error(ErrorCode::kInvalidArgument, "--metric " + request.metrics.back().name + " is given twice");
  }
  if (!options.timeout.empty()) request.timeout_s = parse_duration(options.timeout, "--timeout");
  if (!options.budget.empty()) request.budget_s = parse_duration(options.budget, "--budget");
  request.turn = turn_of(options, session);
  if (!options.margin.empty()) request.margin = parse_share(options.margin, "--margin", {kMinMargin, 1.0});
  std::error_code ignored;
  request.folder = std::filesystem::current_path(ignored).string();
  return suites::make_bench(request);
}

/// One line on a terminal; without one only messages.
class BenchProgress : public suites::BenchObserver {
 public:
  BenchProgress(DisplayHost host, const suites::Bench& bench, bool is_quiet)
      : host_(std::move(host)),
        lines_(host_.write, host_.is_live && !is_quiet && !bench.request.shows_output),
        cells_(bench.cells.size()),
        started_s_(host_.now_s()) {}

  void on_stage(const std::string& stage, const suites::BenchCell& cell) override {
    text_ = stage + ": " + cell.label;
    redraw(/*is_forced=*/false);
  }
  void on_run(const suites::BenchCell& cell, int round, const std::optional<int>& rounds) override {
    if (done_++ == 0) first_s_ = host_.now_s();
    text_ = "round " + std::to_string(round) + (rounds ? "/" + std::to_string(*rounds) : "") + rest_of(rounds) + "  " +
            cell.label;
    redraw(/*is_forced=*/false);
  }
  void on_tick() override { redraw(/*is_forced=*/true); }
  void on_message(const std::string& text) override { lines_.print("nanobench: " + printable(text)); }
  void finish() { lines_.clear(); }

 private:
  std::string rest_of(const std::optional<int>& rounds) const {
    if (!rounds || done_ < 2) return "";
    const double per_run = (host_.now_s() - first_s_) / static_cast<double>(done_ - 1);
    const double left = static_cast<double>(*rounds) * static_cast<double>(cells_) - static_cast<double>(done_ - 1);
    return "  " + format_duration(per_run * left) + " left";
  }

  void redraw(bool is_forced) {
    const double now = host_.now_s();
    if (!lines_.is_live() || (!is_forced && now - drawn_s_ < kRedrawAfter)) return;
    drawn_s_ = now;
    lines_.show({printable(text_)}, host_.width());
  }

  static constexpr double kRedrawAfter = 0.1;  // seconds
  DisplayHost host_;
  StatusLines lines_;
  std::size_t cells_;
  double started_s_, first_s_ = 0.0, drawn_s_ = 0.0;
  std::size_t done_ = 0;
  std::string text_;
};

/// Each command against the reference of the same plan.
reports::GateResult gate_in_plan(const results::Store& store, const suites::Bench& bench,
                                 const results::PlanRecord& plan, const reports::GatePolicy& policy) {
  const std::string& label = bench.cells[bench.reference].label;
  reports::Arm baseline = reports::read_arm(store, plan, label), candidate = baseline;
  candidate.name = "the other commands";
  const auto is_reference = [&](const reports::ArmCell& cell) { return cell.label == label; };
  const auto reference = std::find_if(baseline.cells.begin(), baseline.cells.end(), is_reference);
  NB_CHECK(reference != baseline.cells.end(), "the plan lacks its reference");
  const reports::ArmCell kept = *reference;
  std::erase_if(candidate.cells, is_reference);
  baseline.cells.clear();
  for (const reports::ArmCell& cell : candidate.cells) {
    baseline.cells.push_back(kept);
    baseline.cells.back().label = cell.label;
  }
  return reports::evaluate_gate(baseline, candidate, policy, {.is_interleaved = true, .allows_other_configs = true});
}

/// Prints the gate after the table, or alone as JSON, so that standard output is one document. Returns its exit code.
int judge(const BenchOptions& options, const results::Store& store, const suites::Bench& bench,
          const results::PlanRecord& plan, const std::optional<reports::Arm>& baseline, Format format) {
  reports::GatePolicy policy;
  policy.loss.gates = policy.memory.gates = policy.cost.gates = false;
  policy.time.margin = bench.request.margin;
  reports::GateResult result =
      baseline ? reports::evaluate_gate(*baseline, reports::read_arm(store, plan, "these commands"), policy, {})
               : gate_in_plan(store, bench, plan, policy);
  std::erase_if(result.checks, [](const reports::GateCheck& check) {
    return check.metric == reports::GateMetric::kLoss || check.metric == reports::GateMetric::kCost;
  });
  for (reports::GateCheck& check : result.checks) {
    if (check.metric == reports::GateMetric::kTime) check.name = "wall time";
  }
  const bool is_json = format == Format::kJson && options.document.out.empty();
  reports::Document document = reports::gate_report(result);
  document.next = reports::bench_report(store, plan).next;
  print(document, is_json, notes_of(options.document.has_notes));
  return reports::exit_code(result.answer);
}

/// Found before anything is measured. Throws Error{kNotFound} if there is none.
std::optional<reports::Arm> baseline_of(const BenchOptions& options, const results::Store& store) {
  if (options.baseline.empty()) return std::nullopt;
  const FoundBaseline found =
      find_baseline(store, {.name = options.baseline, .branch = "", .suite = options.request.suite, .folder = {}});
  if (!found.arm) throw Error(ErrorCode::kNotFound, found.how);
  return found.arm;
}

void check_gate(const BenchOptions& options, const suites::Bench& bench) {
  if (options.is_gate && options.baseline.empty() && bench.cells.size() < 2) {
    throw Error(ErrorCode::kInvalidArgument,
                "--gate compares commands with a reference, and there is one command; add another, or --baseline NAME");
  }
}

/// The table goes to the terminal also where a file is written. What may come next is said after the gate, if there is
/// one.
void show_report(const BenchOptions& options, const results::Store& store, const results::PlanRecord& plan,
                 Format format, bool is_judged) {
  const auto document_of = [&](bool has_runs) {
    reports::Document document = reports::bench_report(store, plan, has_runs);
    if (is_judged) document.next.clear();
    return document;
  };
  write(document_of(format == Format::kJson || format == Format::kCsv), format, options.document);
  if (!options.document.out.empty() && !options.is_quiet)
    print(document_of(false), /*is_json=*/false, notes_of(options.document.has_notes));
}

int exit_code_of(const suites::BenchResult& result) {
  if (result.is_interrupted) return core::kExitInterrupted;
  return result.failed > 0 || result.left_out > 0 ? core::kExitIncomplete : core::kExitSuccess;
}

int run_bench_command(const BenchOptions& options, const Session& session) {
  const Format format = chosen_format(options.document);
  const suites::Bench bench = bench_of(options, session);
  check_gate(options, bench);
  results::Store store(database_file(options.database));
  const std::optional<reports::Arm> baseline = baseline_of(options, store);
  if (const auto other = store.living_run()) {
    tell_on_stderr("nanobench: process " + std::to_string(other->owner.pid) + " is measuring " +
                   printable(other->cell) + " for this database; its run and these times disturb each other");
  }
  BenchProgress progress(stderr_display(), bench, options.is_quiet);
  const suites::BenchResult result = suites::run_bench(bench, store, session.argv, progress);
  progress.finish();
  if (!result.plan_id) {  // only then, because a failed run is one to store
    write_to_stderr("nanobench: interrupted before a run was completed; nothing is stored\n");
    return core::kExitInterrupted;
  }
  if (result.completed == 0 && result.not_started == result.failed && result.failed > 0) return core::kExitUsage;
  const results::PlanRecord plan = store.plan(*result.plan_id);
  const bool is_judged = options.is_gate || baseline;
  const bool is_gate_alone = is_judged && format == Format::kJson && options.document.out.empty();
  if (!is_gate_alone || result.is_interrupted)
    show_report(options, store, plan, format, is_judged && !result.is_interrupted);
  if (!options.is_quiet) {
    tell_on_stderr("\nstored in " + store.file().string() + " as plan " + std::to_string(plan.id) +
                   (result.is_interrupted ? "; interrupted, the runs so far count" : ""));
  }
  if (is_judged && !result.is_interrupted) return judge(options, store, bench, plan, baseline, format);
  return exit_code_of(result);
}

void add_hook_options(CLI::App& command, suites::BenchRequest& request) {
  const auto add = [&](const std::string& name, std::vector<std::string>& hooks, const std::string& text) {
    command.add_option(name, hooks, text + "; once for all commands, or once for each")
        ->type_name("COMMAND")
        ->expected(1)
        ->take_all()
        ->allow_extra_args(false);
  };
  add("--prepare", request.prepare, "Run this before each run of a command");
  add("--conclude", request.conclude, "Run this after each run of a command");
  add("--setup", request.setup, "Run this once, before everything");
  add("--cleanup", request.cleanup, "Run this once, after everything");
}

void add_count_options(CLI::App& command, BenchOptions& options) {
  suites::BenchRequest& request = options.request;
  command.add_option("--runs", request.runs, "Runs of each command (default: by the next three options)")
      ->type_name("N");
  command.add_option("--min-runs", request.min_runs, "Minimum number of runs of each command")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--max-runs", request.max_runs, "Maximum number of runs of each command")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--budget", options.budget, "As many as fit into this time for each command (default: 3s)")
      ->type_name("TIME");
  command.add_option("--warmup", request.warmup, "Runs of each command beforehand that do not count")
      ->type_name("N")
      ->capture_default_str();
  command.add_flag("--turns{100ms}", options.turns,
                   "All commands of a round are in memory, and run in turns of this time; another one: --turns=50ms");
  command.add_option("--order-seed", request.order_seed, "Seed of the order of commands in each round")
      ->type_name("N")
      ->capture_default_str();
}

void add_repeated(CLI::App& command, const std::string& name, std::vector<std::string>& values, const std::string& type,
                  const std::string& text) {
  command.add_option(name, values, text)->type_name(type)->expected(1)->take_all()->allow_extra_args(false);
}

void add_command_options(CLI::App& command, BenchOptions& options) {
  suites::BenchRequest& request = options.request;
  add_repeated(command, "--param", options.parameters, "NAME=VALUES",
               "Values of {NAME}: n=1,2,4 or a range n=1:8[:step]; several give all combinations");
  add_repeated(command, "--name", options.names, "NAME", "Name of a command in tables; once for each, in their order");
  command
      .add_option("--reference", request.reference,
                  "Command that the others are compared with: its number or its name (default: 1)")
      ->type_name("COMMAND");
  add_repeated(command, "--metric", options.metrics, "NAME=REGEX",
               "A number from the output: one group, the last match counts; NAME[UNIT]=REGEX gives a unit");
  command.add_flag("--shell", request.uses_shell, "Run the commands by sh -c: pipes, redirections, variables");
  command.add_option("--input", request.input, "Standard input of the commands (default: empty)")->type_name("FILE");
  command.add_flag("--show-output", request.shows_output, "Print the commands' output (default: discarded)");
  command.add_flag("--ignore-failure", request.ignores_failure, "An exit code other than 0 is no failure");
  command.add_option("--timeout", options.timeout, "End a run after this time, as a failure (default: 1h)")
      ->type_name("TIME");
}

}  // namespace

void add_bench_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("bench", "Measure any command, or several in turn, with a verdict");
  const auto options = std::make_shared<BenchOptions>();
  command->add_option("COMMAND", options->commands, "Commands, each in quotes; or the words of one command after --");
  add_count_options(*command, *options);
  add_hook_options(*command, options->request);
  add_command_options(*command, *options);
  command->add_option("--margin", options->margin, "Largest change of a time that does not matter (default: 1%)")
      ->type_name("SHARE");
  command->add_flag("--gate", options->is_gate, "Exit code 1 if a command is slower than the reference (as `gate`)");
  command
      ->add_option("--baseline", options->baseline,
                   "Compare with stored results by the same names: a baseline, or its file; implies --gate")
      ->type_name("NAME|FILE");
  command->add_option("--suite", options->request.suite, "Name under which the results are stored")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_flag("--quiet", options->is_quiet, "Print no progress, and with --out no table");
  add_database_option(*command, options->database);
  add_document_options(*command, options->document);
  command->add_option("--export", options->document.format, "The same as --format")->type_name("FORMAT");
  command->footer(kBenchFooter);
  command->callback([options, &session] { session.exit_code = run_bench_command(*options, session); });
}

}  // namespace nanobench::tools

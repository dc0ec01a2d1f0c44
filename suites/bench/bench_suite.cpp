#include "suites/bench/bench_suite.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/random.h"
#include "core/base/text.h"
#include "results/identity.h"
#include "suites/bench/command_words.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;

constexpr int kMaxBenchRuns = 10000;  // as many as seeds of a suite
constexpr std::size_t kMaxBenchCells = 1000;
constexpr std::size_t kMaxBenchTotal = 1'000'000;

void require_runs(int value, int low, const char* option) {
  if (low <= value && value <= kMaxBenchRuns) return;
  throw Error(ErrorCode::kInvalidArgument, std::string(option) + " " + std::to_string(value) + ": expected " +
                                               std::to_string(low) + " to " + std::to_string(kMaxBenchRuns));
}

void check_numbers(const BenchRequest& request) {
  if (request.commands.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "bench: no command; give one after --, as in `nanobench bench -- ./a.out --x`, or several in quotes");
  }
  if (request.runs) require_runs(*request.runs, 1, "--runs");
  require_runs(request.min_runs, 1, "--min-runs");
  require_runs(request.max_runs, 1, "--max-runs");
  require_runs(request.warmup, 0, "--warmup");
  if (request.min_runs > request.max_runs) {
    throw Error(ErrorCode::kInvalidArgument, "--min-runs " + std::to_string(request.min_runs) +
                                                 " is above --max-runs " + std::to_string(request.max_runs));
  }
  if (!(request.margin > 0.0) || request.margin > 1.0)
    throw Error(ErrorCode::kInvalidArgument, "--margin: expected a share above 0 and up to 100%, such as 1%");
}

void check_hooks(const BenchHooks& hooks, std::size_t commands, const char* option) {
  if (hooks.size() <= 1 || hooks.size() == commands) return;
  throw Error(ErrorCode::kInvalidArgument, std::string(option) + " is given " + std::to_string(hooks.size()) +
                                               " times for " + counted(static_cast<std::int64_t>(commands), "command") +
                                               "; give it once for all, or once for each");
}

/// Throws for a parameter that no command, hook or name uses.
void check_parameters(const BenchRequest& request) {
  std::string all = request.input;
  for (const BenchCommand& command : request.commands) {
    all += command.text;
    for (const std::string& word : command.words) all += word;
  }
  for (const BenchHooks* hooks : {&request.setup, &request.prepare, &request.conclude, &request.cleanup}) {
    for (const std::string& hook : *hooks) all += hook;
  }
  std::set<std::string> names;
  for (const BenchParameter& parameter : request.parameters) {
    if (!names.insert(parameter.name).second)
      throw Error(ErrorCode::kInvalidArgument, "--param " + parameter.name + " is given twice; join its values");
    if (all.find("{" + parameter.name + "}") == std::string::npos) {
      throw Error(ErrorCode::kInvalidArgument, "--param " + parameter.name + ": no command uses {" + parameter.name +
                                                   "}; write it where the value belongs, or leave the option out");
    }
  }
}

/// Words that run the text: by a shell, or split without one and then filled, so that a value stays one word.
std::vector<std::string> words_of(const std::string& text, const ParameterValues& values, bool uses_shell) {
  if (uses_shell) return {"sh", "-c", with_parameters(text, values)};
  std::vector<std::string> words = command_words(text);
  for (std::string& word : words) word = with_parameters(word, values);
  return words;
}

std::vector<std::string> words_of(const BenchCommand& command, const ParameterValues& values, bool uses_shell) {
  if (command.words.empty()) return words_of(command.text, values, uses_shell);
  if (uses_shell) {
    throw Error(ErrorCode::kInvalidArgument,
                "--shell does not go with a command after --, whose words are not joined; quote the command instead");
  }
  std::vector<std::string> words = command.words;
  for (std::string& word : words) word = with_parameters(word, values);
  return words;
}

std::optional<TimedCommand> hook_of(const BenchRequest& request, const BenchHooks& hooks, std::size_t command,
                                    const ParameterValues& values) {
  if (hooks.empty()) return std::nullopt;
  const std::string& text = hooks.size() == 1 ? hooks.front() : hooks[command];
  if (text.empty()) return std::nullopt;
  return TimedCommand{.words = words_of(text, values, request.uses_shell),
                      .input = "",
                      .shows_output = request.shows_output,
                      .keeps_output = false,
                      .timeout_s = request.timeout_s};
}

Json json_of_hook(const std::optional<TimedCommand>& hook) {
  return hook ? Json(hook->words) : Json();
}

/// What is stored with the runs of a cell, and the digest of what is run.
void describe_cell(const BenchRequest& request, BenchCell& cell) {
  Json run = {{"command", cell.command.words}, {"input", cell.command.input}};
  if (request.turn) run["turn_ms"] = std::chrono::duration<double, std::milli>(*request.turn).count();
  cell.config_digest = core::digest_of(core::safe_dump(run));
  Json config = run;
  config["folder"] = request.folder;
  config["margin"] = request.margin;
  config["warmup"] = request.warmup;
  config["ignores_failure"] = request.ignores_failure;
  config["timeout_s"] = request.timeout_s;
  config["setup"] = json_of_hook(cell.setup);
  config["prepare"] = json_of_hook(cell.prepare);
  config["conclude"] = json_of_hook(cell.conclude);
  config["cleanup"] = json_of_hook(cell.cleanup);
  config["parameters"] = Json::object();
  for (const auto& [name, value] : cell.parameters) config["parameters"][name] = value;
  config["metrics"] = Json::array();
  for (const OutputMetric& metric : request.metrics)
    config["metrics"].push_back({{"name", metric.name}, {"unit", metric.unit}, {"pattern", metric.pattern}});
  cell.config = core::safe_dump(config);
}

/// The command as it was typed, with its parameters. Parameters that it does not show are added in brackets.
std::string label_of_cell(const BenchCommand& command, const std::vector<std::string>& words,
                          const std::vector<BenchParameter>& parameters, const ParameterValues& values) {
  const std::string given = !command.name.empty()   ? command.name
                            : command.words.empty() ? command.text
                                                    : shell_words(command.words);
  const std::string filled =
      command.name.empty() && !command.words.empty() ? shell_words(words) : with_parameters(given, values);
  ParameterValues hidden;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (given.find("{" + parameters[i].name + "}") == std::string::npos) hidden.push_back(values[i]);
  }
  const std::string label = on_one_line(core::as_utf8(filled), filled.size());
  return hidden.empty() ? label : label + " (" + text_of(hidden) + ")";
}

/// Labels name the rows, so the second of two equal commands is "COMMAND #2".
void make_labels_unique(std::vector<BenchCell>& cells) {
  std::set<std::string> known;
  for (BenchCell& cell : cells) {
    std::string label = cell.label;
    for (int number = 2; !known.insert(label).second; ++number) label = cell.label + " #" + std::to_string(number);
    cell.label = label;
  }
}

std::size_t reference_of(const Bench& bench) {
  const std::string& wanted = bench.request.reference;
  if (wanted.empty()) return 0;
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < bench.cells.size(); ++i) {
    labels.push_back(bench.cells[i].label);
    if (wanted == labels.back() || wanted == std::to_string(i + 1)) return i;
  }
  throw Error(ErrorCode::kInvalidArgument,
              "--reference " + wanted + ": expected a number from 1 to " + std::to_string(labels.size()) +
                  " or one of the commands: " + listed_first(labels, 10, "; ") + core::suggestion(wanted, labels));
}

void check_residents(std::size_t cells) {
  if (cells >= 2 && cells <= kMaxResident) return;
  const std::string what = cells < 2
                               ? "there is one command, which has none to take turns with; add another, or leave "
                                 "--turns out"
                               : std::to_string(cells) + " commands would be in memory at once, but the maximum is " +
                                     std::to_string(kMaxResident) + "; give fewer";
  throw Error(ErrorCode::kInvalidArgument, "--turns: " + what);
}

void add_cells(const BenchRequest& request, std::size_t index, std::vector<BenchCell>& cells) {
  const BenchCommand& command = request.commands[index];
  for (const ParameterValues& values : combinations_of(request.parameters)) {
    BenchCell& cell = cells.emplace_back();
    cell.parameters = values;
    cell.command = {.words = words_of(command, values, request.uses_shell),
                    .input = with_parameters(request.input, values),
                    .shows_output = request.shows_output,
                    .keeps_output = !request.metrics.empty(),
                    .timeout_s = request.timeout_s};
    cell.label = label_of_cell(command, cell.command.words, request.parameters, values);
    cell.setup = hook_of(request, request.setup, index, values);
    cell.prepare = hook_of(request, request.prepare, index, values);
    cell.conclude = hook_of(request, request.conclude, index, values);
    cell.cleanup = hook_of(request, request.cleanup, index, values);
    describe_cell(request, cell);
  }
  if (cells.size() <= kMaxBenchCells) return;
  throw Error(ErrorCode::kInvalidArgument,
              "bench: more than " + std::to_string(kMaxBenchCells) + " commands with their parameters; give fewer");
}

}  // namespace

Bench make_bench(const BenchRequest& request) {
  check_numbers(request);
  const std::size_t commands = request.commands.size();
  check_hooks(request.setup, commands, "--setup");
  check_hooks(request.prepare, commands, "--prepare");
  check_hooks(request.conclude, commands, "--conclude");
  check_hooks(request.cleanup, commands, "--cleanup");
  check_parameters(request);
  Bench bench{.request = request, .cells = {}};
  for (std::size_t i = 0; i < commands; ++i) add_cells(request, i, bench.cells);
  const auto most = static_cast<std::size_t>(request.runs.value_or(request.max_runs));
  if (most * bench.cells.size() > kMaxBenchTotal) {
    throw Error(ErrorCode::kInvalidArgument, "bench: up to " +
                                                 format_count(static_cast<std::int64_t>(most * bench.cells.size())) +
                                                 " runs in all; " + format_count(kMaxBenchTotal) +
                                                 " are the most, so give fewer commands, values or --max-runs");
  }
  if (request.turn) check_residents(bench.cells.size());
  make_labels_unique(bench.cells);
  bench.reference = reference_of(bench);
  return bench;
}

std::vector<std::vector<std::size_t>> bench_order(std::size_t cells, std::size_t rounds, std::uint64_t order_seed) {
  core::SplitMix64 random(order_seed);
  std::vector<std::vector<std::size_t>> order;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<std::size_t>& one = order.emplace_back(cells);
    std::iota(one.begin(), one.end(), std::size_t{0});
    random.shuffle(one);
  }
  return order;
}

int rounds_within_budget(const BenchRequest& request, std::size_t cells, double round_s) {
  if (request.runs) return *request.runs;
  const double rounds = std::ceil(request.budget_s * static_cast<double>(cells) / std::max(round_s, 1e-6));
  return std::clamp(static_cast<int>(std::min(rounds, double{kMaxBenchRuns})), request.min_runs, request.max_runs);
}

std::string bench_digest(const BenchCell& cell, std::uint64_t round, const std::string& nonce) {
  return core::digest_of(
      core::safe_dump(Json({{"bench", cell.config_digest}, {"cell", cell.label}, {"round", round}, {"nonce", nonce}})));
}

results::NewPlan bench_plan(const Bench& bench, std::size_t rounds, const std::string& nonce,
                            const std::vector<std::string>& argv) {
  results::NewPlan plan;
  plan.suite = bench.request.suite;
  plan.title = "Commands, measured in turn";
  plan.design = results::Design::kCells;
  plan.scale = kBenchScale;
  plan.data_name = "none";
  plan.order_seed = bench.request.order_seed;
  plan.argv = argv;
  const std::string& reference = bench.cells[bench.reference].label;
  for (const BenchCell& cell : bench.cells) {
    results::PlanCell& row = plan.cells.emplace_back();
    row.label = cell.label;
    row.changes = {cell.label == reference ? "the reference" : shell_words(cell.command.words)};
    for (const auto& [name, value] : cell.parameters) row.features[name] = value;
    row.config_digest = cell.config_digest;
    if (cell.label == reference) continue;
    results::PlanContrast& contrast = plan.contrasts.emplace_back();
    contrast.effect = cell.label;
    contrast.meaning = cell.label + " against " + reference;
    contrast.coefficients = {{cell.label, 1.0}, {reference, -1.0}};
  }
  for (const std::vector<std::size_t>& round : bench_order(bench.cells.size(), rounds, plan.order_seed)) {
    const std::uint64_t number = plan.lines.size() / bench.cells.size() + 1;
    for (const std::size_t index : round) {
      plan.lines.push_back({.position = static_cast<std::int64_t>(plan.lines.size()),
                            .cell = bench.cells[index].label,
                            .seed = number,
                            .digest = bench_digest(bench.cells[index], number, nonce),
                            .run_id = std::nullopt});
    }
  }
  plan.digest = results::plan_digest(plan);
  return plan;
}

}  // namespace nanobench::suites

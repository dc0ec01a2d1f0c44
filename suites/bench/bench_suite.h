/// What `bench` measures: commands, times the values of parameters, in rounds. Pure, thread-safe.
///
/// Every round runs each command once, in an order that is drawn anew. A round is the block that all contrasts are
/// paired over, as the seed is in a suite, and it is stored as the seed of its runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/records.h"
#include "suites/bench/bench_parameter.h"
#include "suites/bench/output_metric.h"
#include "suites/bench/timed_command.h"

namespace nanobench::suites {

/// A command as it was given.
struct BenchCommand {
  std::string text;                ///< a command line
  std::vector<std::string> words;  ///< instead of `text`: words of its own; empty: `text` counts
  std::string name;                ///< its label; empty: the command itself
};

/// Commands around those that are measured: none, one for all, or one for each.
using BenchHooks = std::vector<std::string>;

struct BenchRequest {
  std::string suite = "bench";
  std::vector<BenchCommand> commands;
  std::vector<BenchParameter> parameters;
  BenchHooks setup;       ///< once before everything
  BenchHooks prepare;     ///< before each run of the command
  BenchHooks conclude;    ///< after each run
  BenchHooks cleanup;     ///< once after everything
  std::string reference;  ///< label or number, from 1; empty: the first
  std::vector<OutputMetric> metrics;
  bool uses_shell = false;
  bool ignores_failure = false;  ///< an exit code other than 0 is no failure
  bool shows_output = false;
  std::string input;
  double timeout_s = 3600.0;  ///< of each run; 0: none
  int warmup = 0;             ///< runs of each command that do not count
  std::optional<int> runs;    ///< of each command; absent: by the next three
  int min_runs = 10;
  int max_runs = 1000;
  double budget_s = 3.0;  ///< for each command
  /// The commands of a round are resident at once and run in turns of this time; absent: one after the other.
  std::optional<std::chrono::duration<double>> turn;
  std::uint64_t order_seed = 1;
  double margin = 0.01;  ///< the largest change of a time that is too small to matter
  std::string folder;    ///< where the commands run; provenance only
};

/// One command with one combination of parameters.
struct BenchCell {
  std::string label;  ///< unique
  ParameterValues parameters;
  TimedCommand command;
  std::optional<TimedCommand> setup, prepare, conclude, cleanup;
  std::string config;         ///< JSON that is stored with its runs
  std::string config_digest;  ///< of what is run: the command, its input, the shell
};

struct Bench {
  BenchRequest request;
  std::vector<BenchCell> cells;
  std::size_t reference = 0;
};

/// Throws Error{kInvalidArgument}: no command, words that only a shell understands, a parameter that nothing uses, a
/// reference that is none of the commands, hooks of another number than the commands, numbers out of range.
Bench make_bench(const BenchRequest& request);

/// The cells of each round, as indices, in the order in which they run; round 0 first. The first rounds do not depend
/// on the number of rounds.
std::vector<std::vector<std::size_t>> bench_order(std::size_t cells, std::size_t rounds, std::uint64_t order_seed);

/// Rounds that fit into the budget when one takes `round_s` seconds; within the limits of the request.
int rounds_within_budget(const BenchRequest& request, std::size_t cells, double round_s);

/// The plan of this many rounds. `nonce` sets its runs apart from those of every other plan: nothing is known of what
/// a command reads, so none is ever reused.
results::NewPlan bench_plan(const Bench& bench, std::size_t rounds, const std::string& nonce,
                            const std::vector<std::string>& argv);

/// The commands that can be resident together.
inline constexpr std::size_t kMaxResident = core::GroupGuard::kMaxGroups;

/// Scale of plans of `bench`, by which reports know them. Stored: do not change.
inline constexpr const char* kBenchScale = "commands";

/// The identity of a run of `bench`.
std::string bench_digest(const BenchCell& cell, std::uint64_t round, const std::string& nonce);

}  // namespace nanobench::suites

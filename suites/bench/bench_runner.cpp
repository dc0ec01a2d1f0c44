#include "suites/bench/bench_runner.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <list>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "results/metric.h"
#include "results/provenance.h"
#include "suites/bench/turns.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;
using BenchClock = std::chrono::steady_clock;

constexpr int kRoundsBeforePlan = 2;  ///< their time tells how many fit into the budget
constexpr std::chrono::seconds kStoreAge{1};
constexpr std::int64_t kUsMs = 1000;

double seconds_since(BenchClock::time_point time) {
  return std::chrono::duration<double>(BenchClock::now() - time).count();
}

/// A run that is not yet in the store.
struct MeasuredRun {
  std::size_t cell = 0;
  std::uint64_t round = 0;  ///< from 1
  std::int64_t position = 0;
  results::RunResult result;
  results::RunBatch batch;
};

class BenchRunner {
 public:
  BenchRunner(const Bench& bench, results::Store& store, const std::vector<std::string>& argv, BenchObserver& observer)
      : bench_(bench), store_(store), argv_(argv), observer_(observer), machine_(results::machine_info()) {
    nonce_ = results::utc_now() + " " + std::to_string(owner_.pid) + " on " + owner_.host;
    if (bench_.request.turn) guard_.emplace();
  }

  BenchResult run() {
    check_inputs();
    run_once("setup", &BenchCell::setup);
    warm_up();
    measure();
    if (!plan_id_ && !waiting_.empty()) make_plan(planned_rounds());
    flush();
    clean_up();
    result_.is_interrupted = interrupts_.count() > 0;
    result_.plan_id = plan_id_;
    return result_;
  }

 private:
  bool is_interrupted() const { return interrupts_.count() > 0; }

  /// A pipe would make us wait until somebody writes to it.
  void check_inputs() const {
    for (const BenchCell& cell : bench_.cells) {
      const std::string& input = cell.command.input;
      if (!input.empty() && !std::filesystem::is_character_file(input)) core::InputFile{input};
    }
  }

  TimedResult run_command(const TimedCommand& command, int earlier_signals = 0) {
    return run_timed(
        command, interrupts_, [this] { observer_.on_tick(); }, earlier_signals);
  }

  /// Each distinct command of this kind, once. Throws if one fails.
  void run_once(const std::string& stage, std::optional<TimedCommand> BenchCell::*hook) {
    std::set<std::vector<std::string>> done;
    for (const BenchCell& cell : bench_.cells) {
      const std::optional<TimedCommand>& command = cell.*hook;
      if (!command || is_interrupted() || !done.insert(command->words).second) continue;
      observer_.on_stage(stage, cell);
      const std::string failure = failure_of(*command, run_command(*command));
      if (!failure.empty() && !is_interrupted()) {
        throw Error(ErrorCode::kUnavailable,
                    "the " + stage + " command " + shell_words(command->words) + " failed: " + failure);
      }
    }
  }

  /// Runs although Ctrl-C ended the measurement: what setup made should not stay. A failure is only reported.
  void clean_up() {
    std::set<std::vector<std::string>> done;
    for (const BenchCell& cell : bench_.cells) {
      if (!cell.cleanup || !done.insert(cell.cleanup->words).second) continue;
      observer_.on_stage("cleanup", cell);
      const std::string failure = failure_of(*cell.cleanup, run_command(*cell.cleanup, interrupts_.count()));
      if (!failure.empty())
        observer_.on_message("the cleanup command " + shell_words(cell.cleanup->words) + " failed: " + failure);
    }
  }

  /// A failure is left to the first run that counts, which has a row for its reason.
  void warm_up() {
    std::set<std::size_t> failing;
    for (int i = 0; i < bench_.request.warmup; ++i) {
      for (std::size_t cell = 0; cell < bench_.cells.size() && !is_interrupted(); ++cell) {
        if (failing.contains(cell)) continue;
        observer_.on_stage("warm-up", bench_.cells[cell]);
        if (measured(cell, 0, 0).result.outcome != core::RunOutcome::kCompleted) failing.insert(cell);
      }
    }
  }

  /// Rounds of the plan, as far as is known.
  std::size_t planned_rounds() const {
    return static_cast<std::size_t>(rounds_.value_or(bench_.request.runs.value_or(bench_.request.min_runs)));
  }

  void measure() {
    if (bench_.request.runs) rounds_ = bench_.request.runs;
    const auto most = static_cast<std::size_t>(bench_.request.runs.value_or(bench_.request.max_runs));
    std::int64_t position = 0;
    double quickest_s = 0.0;
    int number = 0;
    for (const std::vector<std::size_t>& round : bench_order(bench_.cells.size(), most, bench_.request.order_seed)) {
      if (is_interrupted() || (rounds_ && number >= *rounds_)) return;
      const auto began = BenchClock::now();
      run_round(round, ++number, position);
      if (is_interrupted() || given_up_.size() == bench_.cells.size()) return;
      quickest_s = number == 1 ? seconds_since(began) : std::min(quickest_s, seconds_since(began));
      if (!rounds_ && (number == kRoundsBeforePlan || number >= bench_.request.max_runs))
        rounds_ = rounds_within_budget(bench_.request, bench_.cells.size(), quickest_s);
      if (!plan_id_ && rounds_) make_plan(planned_rounds());
    }
  }

  void run_round(const std::vector<std::size_t>& round, int number, std::int64_t& position) {
    if (guard_) return run_round_in_turns(round, number, position);
    for (const std::size_t cell : round) {
      const std::int64_t here = position++;
      if (is_interrupted()) return;
      if (is_left_out(cell)) continue;
      observer_.on_run(bench_.cells[cell], number, rounds_);
      if (!keep(measured(cell, static_cast<std::uint64_t>(number), here))) return;
    }
  }

  /// Whether the command is given up; its run is then counted.
  bool is_left_out(std::size_t cell) {
    const bool is_given_up = given_up_.contains(cell);
    if (is_given_up) ++result_.left_out;
    return is_given_up;
  }

  /// False for a run that was interrupted, which does not count.
  bool keep(MeasuredRun run) {
    if (is_interrupted() && run.result.outcome == core::RunOutcome::kInterrupted) return false;
    count(run.cell, run.result);
    waiting_.push_back(std::move(run));
    if (plan_id_ && BenchClock::now() - stored_ > kStoreAge) flush();
    return true;
  }

  /// A command of a round in turns: started with its first turn.
  class Resident : public PausedRun {
   public:
    Resident(BenchRunner& bench, MeasuredRun measured) : bench_(bench), measured_(std::move(measured)) {}

    bool run_turn() override { return run(bench_.bench_.request.turn); }
    void run_to_end() override { run(std::nullopt); }
    /// All are asked to end before one is waited for.
    void end_on_interrupt() {
      if (process_) process_->end_on_interrupt();
    }
    bool has_begun() const { return process_.has_value(); }
    MeasuredRun& measured() { return measured_; }
    const TimedResult& result() const { return process_->result(); }

   private:
    bool run(const std::optional<std::chrono::duration<double>>& turn) {
      const BenchCell& cell = bench_.bench_.cells[measured_.cell];
      if (!process_) {
        bench_.observer_.on_run(cell, static_cast<int>(measured_.round), bench_.rounds_);
        process_.emplace(cell.command, bench_.interrupts_, &*bench_.guard_);
      }
      return process_->run([this] { bench_.observer_.on_tick(); }, turn);
    }

    BenchRunner& bench_;
    MeasuredRun measured_;
    std::optional<TimedRun> process_;
  };

  /// What runs around the commands comes before the first turn and after the last.
  void run_round_in_turns(const std::vector<std::size_t>& round, int number, std::int64_t& position) {
    std::list<Resident> residents;
    for (const std::size_t cell : round) {
      const std::int64_t here = position++;
      if (is_interrupted()) return;
      if (is_left_out(cell)) continue;
      MeasuredRun run{
          .cell = cell, .round = static_cast<std::uint64_t>(number), .position = here, .result = {}, .batch = {}};
      if (prepare(run))
        residents.emplace_back(*this, std::move(run));
      else if (!keep(std::move(run)))
        return;
    }
    std::vector<PausedRun*> runs;
    for (Resident& resident : residents) runs.push_back(&resident);
    // Not the seed of the rounds: a pass would repeat their orders.
    take_turns(runs, ~bench_.request.order_seed + static_cast<std::uint64_t>(number),
               [this] { return is_interrupted(); });
    if (is_interrupted()) {
      for (Resident& resident : residents) resident.end_on_interrupt();
    }
    for (Resident& resident : residents) {
      if (!resident.has_begun()) continue;
      resident.run_to_end();
      conclude(resident.measured(), resident.result());
      keep(std::move(resident.measured()));
    }
  }

  void count(std::size_t cell, const results::RunResult& result) {
    if (result.outcome == core::RunOutcome::kCompleted) {
      ++result_.completed;
      failures_.erase(cell);
      return;
    }
    ++result_.failed;
    if (result.outcome == core::RunOutcome::kUnsupported) ++result_.not_started;
    note_failure(cell, result);
  }

  void note_failure(std::size_t cell, const results::RunResult& result) {
    if (result.outcome == core::RunOutcome::kInterrupted) return;
    const std::string& label = bench_.cells[cell].label;
    const std::string kind = without_digits(result.message);
    const auto [before, is_first] = failures_.try_emplace(cell, kind);
    const bool is_again = !is_first && before->second == kind;
    before->second = kind;
    if (is_first) observer_.on_message(label + ": " + result.message);
    if (!is_again && result.outcome != core::RunOutcome::kUnsupported) return;
    given_up_.insert(cell);
    if (is_again) observer_.on_message(label + " failed twice in the same way: its other runs are left out");
  }

  MeasuredRun measured(std::size_t index, std::uint64_t round, std::int64_t position) {
    MeasuredRun run{.cell = index, .round = round, .position = position, .result = {}, .batch = {}};
    if (prepare(run)) conclude(run, run_command(bench_.cells[index].command));
    return run;
  }

  /// Whether the command may run; if not, the run has its outcome.
  bool prepare(MeasuredRun& run) {
    run.result.message = around("prepare", bench_.cells[run.cell].prepare);
    if (run.result.message.empty()) return true;
    if (is_interrupted()) run.result.outcome = core::RunOutcome::kInterrupted;
    return false;
  }

  void conclude(MeasuredRun& run, const TimedResult& timed) {
    const BenchCell& cell = bench_.cells[run.cell];
    read(cell, timed, run);
    const std::string failure = is_interrupted() ? "" : around("conclude", cell.conclude);
    if (failure.empty() || run.result.outcome != core::RunOutcome::kCompleted) return;
    run.result = {};
    run.result.message = failure;
  }

  /// Why the command before or after a run failed; empty if it did not, or there is none.
  std::string around(const std::string& what, const std::optional<TimedCommand>& command) {
    if (!command) return "";
    const std::string failure = failure_of(*command, run_command(*command));
    return failure.empty() ? "" : "the " + what + " command " + shell_words(command->words) + " failed: " + failure;
  }

  void read(const BenchCell& cell, const TimedResult& timed, MeasuredRun& run) const {
    results::RunResult& result = run.result;
    result.outcome = outcome_of(timed);
    if (timed.start_error == 0) {
      result.exit_code = timed.exit.signal != 0 ? -timed.exit.signal : timed.exit.exit_code;
      result.peak_bytes = timed.exit.max_rss_bytes;
    }
    if (result.outcome != core::RunOutcome::kCompleted) {
      result.message = failure_of(cell.command, timed);
      keep_output(timed, run);
      return;
    }
    for (const OutputMetric& metric : bench_.request.metrics) {
      std::optional<double> value = last_value(metric, timed.out);
      if (!value) value = last_value(metric, timed.err);
      if (!value) {
        result.outcome = core::RunOutcome::kCrashed;
        result.message = "its output has no number for the metric " + metric.name + " (" + metric.pattern + ")";
        keep_output(timed, run);
        return;
      }
      add_sample(run, results::kMetricPrefix + metric.name, *value);
    }
    result.train_ms = timed.wall_ms;
    result.steps = result.timed_steps = 1;
    add_sample(run, results::kUserMs, static_cast<double>(timed.exit.user_us) / kUsMs);
    add_sample(run, results::kSystemMs, static_cast<double>(timed.exit.system_us) / kUsMs);
    if (guard_) add_sample(run, results::kTurns, timed.turns);
  }

  core::RunOutcome outcome_of(const TimedResult& timed) const {
    if (timed.start_error != 0) return core::RunOutcome::kUnsupported;
    if (timed.stop == TimedStop::kInterrupt) return core::RunOutcome::kInterrupted;
    if (timed.stop == TimedStop::kTimeout) return core::RunOutcome::kTimedOut;
    const bool is_ignored = bench_.request.ignores_failure && timed.exit.signal == 0;
    return timed.exit.is_success() || is_ignored ? core::RunOutcome::kCompleted : core::RunOutcome::kCrashed;
  }

  static void add_sample(MeasuredRun& run, const std::string& metric, double value) {
    run.batch.samples[metric].push_back({.step = 1, .value = value});
  }

  static void keep_output(const TimedResult& timed, MeasuredRun& run) {
    constexpr std::size_t kMaxStored = 8192;
    const std::string& text = timed.err.empty() ? timed.out : timed.err;
    if (text.empty()) return;
    const std::string end = core::as_utf8(text.substr(text.size() - std::min(text.size(), kMaxStored)));
    run.batch.messages.push_back({results::RunMessageKind::kOutput, end});
  }

  void make_plan(std::size_t rounds) {
    result_.rounds = static_cast<int>(rounds);
    plan_id_ = store_.ensure_plan(bench_plan(bench_, rounds, nonce_, argv_), /*is_fresh=*/true);
  }

  void flush() {
    stored_ = BenchClock::now();
    if (!plan_id_ || waiting_.empty()) return;
    if (facts_.empty()) facts_ = results::provenance_facts();
    for (const MeasuredRun& run : waiting_) {
      const results::RunClaim claim = store_.claim_run(row_of(run), owner_, /*is_fresh=*/true);
      const auto* claimed = std::get_if<results::Claimed>(&claim);
      NB_CHECK(claimed != nullptr, "another process has a run of this bench");
      store_.set_environment(claimed->run_id, facts_);
      store_.finish_run(claimed->run_id, run.result, run.batch);
    }
    waiting_.clear();
  }

  results::NewRun row_of(const MeasuredRun& run) const {
    const BenchCell& cell = bench_.cells[run.cell];
    results::NewRun row;
    row.digest = bench_digest(cell, run.round, nonce_);
    row.suite = bench_.request.suite;
    row.cell = cell.label;
    row.scale = kBenchScale;
    row.seed = run.round;
    row.config = cell.config;
    row.config_digest = cell.config_digest;
    row.data_name = row.data_digest = "none";
    row.dtype = "none";
    row.threads = machine_.cores;
    row.engine = results::kCommandEngine;
    row.engine_version = "1";
    row.hardware = results::hardware_class(machine_);
    row.plan_id = plan_id_;
    row.position = run.position;
    return row;
  }

  const Bench& bench_;
  results::Store& store_;
  const std::vector<std::string>& argv_;
  BenchObserver& observer_;
  InterruptGuard interrupts_;
  std::optional<core::GroupGuard> guard_;  ///< of commands in turns
  const results::Owner owner_ = results::this_process();
  const results::MachineInfo machine_;
  std::string nonce_;
  std::map<std::string, std::string> facts_;
  std::optional<int> rounds_;
  std::optional<std::int64_t> plan_id_;
  std::vector<MeasuredRun> waiting_;
  BenchClock::time_point stored_ = BenchClock::now();
  std::map<std::size_t, std::string> failures_;  ///< the last one of a cell, until it succeeds
  std::set<std::size_t> given_up_;
  BenchResult result_;
};

}  // namespace

BenchResult run_bench(const Bench& bench, results::Store& store, const std::vector<std::string>& argv,
                      BenchObserver& observer) {
  return BenchRunner(bench, store, argv, observer).run();
}

}  // namespace nanobench::suites

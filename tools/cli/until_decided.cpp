#include "tools/cli/until_decided.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <unordered_set>

#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/comparison/comparison.h"
#include "reports/effects/effects.h"
#include "reports/effects/spread_weights.h"
#include "reports/forecast/run_cost.h"
#include "reports/stats/sequential.h"
#include "results/host_load.h"
#include "tools/cli/places.h"
#include "tools/cli/quantity.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;
using Clock = std::chrono::steady_clock;

/// Alpha is spent evenly over the seeds: an early look may decide a large effect, which is what a budget is for.
constexpr double kEvenSpending = 1.0;

/// Looks after `first`, `first` + step, ... seeds: at most 50 looks.
results::SequentialLook looks_for(const suites::Suite& suite, int most, double alpha, int changes) {
  const int first = std::clamp(static_cast<int>(suite.seeds.size()), reports::kMinSeedsAdvised, most);
  return {.alpha = alpha,
          .family = std::max(1, changes),
          .first = first,
          .most = most,
          .step = reports::look_step(first, most),
          .look = 1,
          .spending_power = kEvenSpending};
}

/// A change without a verdict that more seeds may decide.
struct OpenChange {
  std::string name;
  std::set<std::string> cells;
  reports::SeedsForVerdict needed;
};

struct OpenChanges {
  std::vector<OpenChange> changes;  ///< those that need the fewest seeds first
  std::vector<OpenChange> futile;   ///< the seeds left can hardly decide them
  int undecidable = 0;              ///< more seeds will not decide them: their times come from different code
  int failing = 0;                  ///< a cell of theirs fails

  int undecided() const { return static_cast<int>(changes.size() + futile.size()) + undecidable + failing; }
};

/// Sorts by the smallest number of seeds that may decide.
int fewest_seeds(const OpenChange& change) {
  return change.needed.min_seeds.value_or(change.needed.seeds.value_or(std::numeric_limits<int>::max()));
}

bool has_cell_of(const OpenChange& change, const std::set<std::string>& cells) {
  return std::any_of(change.cells.begin(), change.cells.end(),
                     [&](const std::string& cell) { return cells.contains(cell); });
}

OpenChanges open_changes(const results::Store& store, std::int64_t plan_id, const std::set<std::string>& failing) {
  const results::PlanRecord plan = store.plan(plan_id);
  OpenChanges open;
  const reports::EffectRules rules{.weights = reports::spread_weights(store, plan),
                                   .earlier_loss = reports::earlier_loss_spread(store, plan)};
  const std::vector<reports::EffectResult> effects =
      reports::analyse_effects(plan, reports::read_cells(store, plan, {}), rules);
  const reports::EffectRules last = reports::final_rules_of(plan, rules);
  const std::vector<std::optional<reports::SeedsForVerdict>> needed = reports::seeds_needed(effects, last);
  for (std::size_t i = 0; i < effects.size(); ++i) {
    const reports::EffectResult& effect = effects[i];
    if (effect.verdict != reports::FeatureVerdict::kInconclusive) continue;
    OpenChange change{
        .name = effect.contrast.effect, .cells = {}, .needed = needed[i].value_or(reports::SeedsForVerdict{})};
    for (const auto& [label, coefficient] : effect.contrast.coefficients) change.cells.insert(label);
    if (has_cell_of(change, failing)) {
      ++open.failing;
      continue;
    }
    switch (reports::prospect_of(effect, last, plan.sequential->most)) {
      case reports::Prospect::kOpen: open.changes.push_back(std::move(change)); break;
      case reports::Prospect::kFutile: open.futile.push_back(std::move(change)); break;
      case reports::Prospect::kUndecidable: ++open.undecidable; break;
      case reports::Prospect::kByParts: break;
    }
  }
  std::stable_sort(open.changes.begin(), open.changes.end(),
                   [](const OpenChange& a, const OpenChange& b) { return fewest_seeds(a) < fewest_seeds(b); });
  return open;
}

std::set<std::string> cells_of(const std::vector<OpenChange>& changes) {
  std::set<std::string> cells;
  for (const OpenChange& change : changes) cells.insert(change.cells.begin(), change.cells.end());
  return cells;
}

std::string look_text(const results::SequentialLook& look, int seeds, int changes, const OpenChanges& open) {
  std::string text = "look " + std::to_string(look.look) + ", " + std::to_string(seeds) +
                     " seeds: " + std::to_string(changes - open.undecided()) + " of " + std::to_string(changes) +
                     " decided";
  if (open.failing > 0) text += ", " + std::to_string(open.failing) + " with a cell that fails";
  if (open.undecidable > 0) text += ", " + std::to_string(open.undecidable) + " cannot be decided";
  if (!open.futile.empty()) {
    text += ", " + std::to_string(open.futile.size()) + " will hardly be decided by " + std::to_string(look.most) +
            " seeds";
  }
  return text + "\n";
}

std::vector<std::string> names_of(const std::vector<OpenChange>& changes) {
  std::vector<std::string> names;
  for (const OpenChange& change : changes) names.push_back(change.name);
  return names;
}

/// Cells outside `cells` keep the seeds that they have.
void limit_cells(std::map<std::string, std::size_t>& limits, const suites::Plan& plan, std::size_t seeds,
                 const std::set<std::string>& cells) {
  for (const suites::Cell& cell : plan.matrix.cells) {
    if (!cells.contains(cell.label)) limits.emplace(cell.label, seeds);
  }
}

/// One command: looks until all is decided or the budget is spent.
class Search {
 public:
  Search(const suites::Suite& suite, const UntilDecided& rule, const SuiteRunOptions& options, const Session& session)
      : suite_(suite), rule_(rule), options_(options), session_(session), store_(database_file(options.database)) {
    options_.whole = [this] { return search_text(look_.look, spent_s(), rule_.budget_s); };
  }
  Search(const Search&) = delete;

  int run(int changes) {
    look_ = looks_for(suite_, rule_.max_seeds.value_or(UntilDecided::kMaxSeeds), rule_.alpha, changes);
    suites::SuiteRunResult result;
    OpenChanges open;
    for (;; ++look_.look) {
      const std::optional<suites::Plan> plan = next_plan(open);
      if (!plan) {
        --look_.look;  // the last one that there was
        return finish(result, open);
      }
      result = run_look(*plan);
      if (!result.is_interrupted) note_failing(result.plan_id);
      open = result.is_interrupted ? OpenChanges{} : open_changes(store_, result.plan_id, failing_);
      if (!options_.is_quiet && !result.is_interrupted) tell_on_stderr(look_text(look_, seeds(), changes, open));
      const std::set<std::string> cells = cells_of(going_on(open));
      if (cells.empty() || seeds() == look_.most || result.is_interrupted) return finish(result, open);
      limit_cells(limits_, *plan, plan->suite.seeds.size(), cells);
    }
  }

 private:
  int seeds() const { return seeds_at(look_.look); }
  int seeds_at(int look) const { return std::min(look_.most, look_.first + (look - 1) * look_.step); }
  double spent_s() const {
    return options_.slurm ? tasks_s_ : std::chrono::duration<double>(Clock::now() - begun_).count();
  }
  double left_s() const { return *rule_.budget_s - spent_s(); }

  suites::Plan plan_look(const std::map<std::string, std::size_t>& limits) const {
    suites::Suite part = suite_;
    part.seeds = seeds_up_to(suite_.seeds, seeds());
    part.sequential = look_;
    return plan_suite(part, options_, {.seed_limits = limits});
  }

  /// The open changes none of whose cells has got its last seed.
  std::vector<OpenChange> going_on(const OpenChanges& open) const {
    std::vector<OpenChange> changes = open.changes;
    std::erase_if(changes, [this](const OpenChange& change) {
      return std::any_of(change.cells.begin(), change.cells.end(),
                         [this](const std::string& cell) { return limits_.contains(cell); });
    });
    return changes;
  }

  /// The plan of this look for the open changes, or for as many of them as the budget holds; nullopt: for none.
  std::optional<suites::Plan> next_plan(const OpenChanges& open) {
    const suites::Plan plan = plan_look(limits_);
    if (!rule_.budget_s || look_.look == 1 || fits(plan)) return plan;
    const std::map<std::string, std::size_t> before = limits_;
    const auto seeds_before = static_cast<std::size_t>(seeds_at(look_.look - 1));
    std::vector<OpenChange> chosen;
    std::optional<suites::Plan> largest;
    for (const OpenChange& change : going_on(open)) {
      chosen.push_back(change);
      std::map<std::string, std::size_t> limits = before;
      limit_cells(limits, plan, seeds_before, cells_of(chosen));
      suites::Plan smaller = plan_look(limits);
      if (fits(smaller)) {
        largest = std::move(smaller);
        limits_ = std::move(limits);
      } else {
        chosen.pop_back();
      }
    }
    return largest;
  }

  bool fits(const suites::Plan& plan) const { return seconds_to_do(plan) <= left_s() + kOverrun * *rule_.budget_s; }

  /// What the runs of the plan that are still to be made will take, as far as that is known.
  double seconds_to_do(const suites::Plan& plan) const {
    const int jobs = jobs_of(plan, options_);
    const suites::RunnerOptions runner = runner_options();
    const std::map<std::string, double> seconds = reports::expected_seconds(store_, plan);
    double sum = 0.0;
    for (const suites::PlannedRun& run : plan.runs) {
      const std::string& label = plan.cell_of(run).label;
      if (failing_.contains(label)) continue;
      const bool is_done = suites::may_reuse(plan, run, runner) &&
                           store_.find_evidence(run.digest, suites::needed_evidence(run, jobs == 1));
      if (!is_done) sum += seconds_of(label, seconds);
    }
    return sum / jobs;
  }

  suites::RunnerOptions runner_options() const {
    return {.is_fresh = options_.is_fresh, .kept_seeds = kept_seeds_, .left_out = failing_, .argv = session_.argv};
  }

  /// A cell two of whose runs have no result gets no more: one may have failed by chance.
  void note_failing(std::int64_t plan_id) {
    const results::PlanRecord plan = store_.plan(plan_id);
    std::map<std::string, int> without_result;
    for (const results::PlanLine& line : plan.lines) {
      const bool has_result = line.run_id && store_.run(*line.run_id).is_evidence();
      if (!has_result && ++without_result[line.cell] == 2) failing_.insert(line.cell);
    }
  }

  suites::SuiteRunResult run_look(const suites::Plan& plan) {
    // Slurm and trainers have no pilots: where nothing is known of a cell, one seed of each is run first.
    if (rule_.budget_s && look_.look == 1 && (options_.slurm || plan.suite.external)) {
      if (reports::expected_seconds(store_, plan).size() < plan.matrix.cells.size()) {
        std::map<std::string, std::size_t> one_seed;
        limit_cells(one_seed, plan, 1, {});
        suites::SuiteRunResult result = run_runs(plan_look(one_seed), 1);
        if (result.is_interrupted) return result;
      }
      check_first_look(plan);
    }
    return run_runs(plan, static_cast<std::size_t>(seeds()));
  }

  /// Afterwards, so many of the first seeds need not be measured anew.
  suites::SuiteRunResult run_runs(const suites::Plan& plan, std::size_t seeds) {
    suites::RunnerOptions runner = runner_options();
    kept_seeds_ = seeds;
    if (options_.slurm) return run_tasks(plan, runner);
    if (rule_.budget_s && look_.look == 1 && !plan.suite.external) {  // after the pilots, which trainers lack
      runner.expected_seconds = [this](const suites::Plan& first) {
        check_first_look(first);
        return reports::expected_seconds(store_, first);
      };
    }
    return run_plan(plan, store_, runner, options_);
  }

  /// Adds what its new runs took to what is spent, and keeps what a run of each cell takes.
  suites::SuiteRunResult run_tasks(const suites::Plan& plan, const suites::RunnerOptions& runner) {
    const std::vector<results::RunRecord> newest = store_.runs({.limit = 1});
    const std::int64_t last_before = newest.empty() ? 0 : newest.back().id;
    suites::SuiteRunResult result = run_plan(plan, store_, runner, options_);
    store_.set_expected_seconds(result.plan_id, reports::expected_seconds(store_, plan));
    for (const results::RunRecord& run : store_.runs({.plan_id = result.plan_id})) {
      if (run.id > last_before)
        tasks_s_ +=
            results::used_seconds(store_.run_facts(run.id), run.started_at, run.finished_at.value_or("")).value_or(0.0);
    }
    return result;
  }

  /// Before the first run, after the pilots.
  void check_first_look(const suites::Plan& plan) const {
    if (fits(plan)) return;
    const double needed_s = seconds_to_do(plan) + spent_s();
    throw Error(ErrorCode::kInvalidArgument,
                "--budget " + format_duration(*rule_.budget_s) + ": the first look, at " + std::to_string(seeds()) +
                    " seeds of " + std::to_string(plan.matrix.cells.size()) + " cells, takes about " +
                    format_duration(needed_s) + "; give more, or fewer cells, or a smaller scale");
  }

  int finish(const suites::SuiteRunResult& result, const OpenChanges& open) {
    const bool has_remark = rule_.budget_s && !result.is_interrupted;
    return finish_run(store_, result, options_, session_, has_remark ? budget_text(result, open) : "");
  }

  std::string budget_text(const suites::SuiteRunResult& result, const OpenChanges& open) const {
    std::string text = format_duration(spent_s()) + " of the budget of " + format_duration(*rule_.budget_s) + " spent" +
                       (options_.slurm ? ", all tasks together." : ".");
    const std::map<std::string, double> seconds = store_.expected_seconds(result.plan_id);
    if (!open.futile.empty()) {
      text += " " + joined(names_of(open.futile), ", ") + " will hardly be decided by " + std::to_string(look_.most) +
              " seeds";
      double each = 0.0;
      for (const std::string& cell : cells_of(open.futile)) each += seconds_of(cell, seconds);
      text += each > 0.0 ? ", of " + format_duration(each) + " each." : ".";
    }
    if (open.failing > 0) text += " " + counted(open.failing, "change") + " cannot be decided, because a cell fails.";
    if (open.changes.empty()) return text + " No other seed would decide anything.";
    for (const OpenChange& change : open.changes) text += " " + price_of(change, seconds);
    return text + (seeds() == look_.most ? " These are all seeds of the plan; --max-seeds sets how many there may be."
                                         : " The same command with a larger budget continues.");
  }

  /// 0 where it is not known.
  static double seconds_of(const std::string& cell, const std::map<std::string, double>& seconds) {
    const auto known = seconds.find(cell);
    return known == seconds.end() ? 0.0 : known->second;
  }

  /// "record15 needs 4 to 77 seeds, 18 s each."
  static std::string price_of(const OpenChange& change, const std::map<std::string, double>& seconds) {
    double each = 0.0;
    for (const std::string& cell : change.cells) each += seconds_of(cell, seconds);
    std::string text = change.name + " is undecided";
    if (change.needed.min_seeds) text += "; it needs " + reports::seeds_range(change.needed) + " seeds";
    if (each > 0.0)
      text += (change.needed.min_seeds ? ", " : "; a seed takes ") + format_duration(each) +
              (change.needed.min_seeds ? " each" : "");
    return text + ".";
  }

  static constexpr double kOverrun = 0.05;  ///< of the budget: estimates are that uncertain

  const suites::Suite& suite_;
  const UntilDecided& rule_;
  SuiteRunOptions options_;
  const Session& session_;
  results::Store store_;
  results::SequentialLook look_;
  std::map<std::string, std::size_t> limits_;  ///< seeds of cells that get no more
  std::set<std::string> failing_;              ///< cells without results of two runs
  std::size_t kept_seeds_ = 0;                 ///< of the first seeds: those that this call has measured
  Clock::time_point begun_ = Clock::now();
  double tasks_s_ = 0.0;  ///< of the runs that Slurm made in this call; their wait in its queue costs nothing
};

}  // namespace

std::vector<std::uint64_t> seeds_up_to(const std::vector<std::uint64_t>& own, int count) {
  std::vector<std::uint64_t> seeds = own;
  const std::unordered_set<std::uint64_t> known(own.begin(), own.end());
  for (std::uint64_t next = 1; seeds.size() < static_cast<std::size_t>(count); ++next) {
    if (!known.contains(next)) seeds.push_back(next);
  }
  seeds.resize(static_cast<std::size_t>(count));
  return seeds;
}

std::string search_text(int look, double spent_s, const std::optional<double>& budget_s) {
  return "look " + std::to_string(look) + ", " + format_duration(spent_s) +
         (budget_s ? " of " + format_duration(*budget_s) + " spent" : " so far");
}

bool UntilDecided::is_sequential() const {
  if (max_seeds && !is_asked && !budget_s)
    throw Error(ErrorCode::kInvalidArgument, "--max-seeds needs --until-decided or --budget");
  if (max_seeds.value_or(kMaxSeeds) < reports::kMinSeedsAdvised)
    throw Error(ErrorCode::kInvalidArgument,
                "--max-seeds: expected " + std::to_string(reports::kMinSeedsAdvised) + " or more");
  return is_asked || budget_s;
}

void add_until_decided_options(CLI::App& command, UntilDecided& rule) {
  command.add_flag("--until-decided", rule.is_asked,
                   "Add seeds until every change has a verdict, by a sequential rule");
  command
      .add_option_function<std::string>(
          "--budget", [&rule](const std::string& text) { rule.budget_s = parse_duration(text, "--budget"); },
          "The same within this time (90s, 10min, 2h): seeds go where they decide most")
      ->type_name("TIME");
  command
      .add_option("--max-seeds", rule.max_seeds,
                  "Maximum number of seeds (default: 10), with --until-decided or --budget")
      ->type_name("N");
}

void check_max_seeds(const suites::Suite& suite, const UntilDecided& rule) {
  if (!rule.max_seeds || suite.seeds.size() <= static_cast<std::size_t>(*rule.max_seeds)) return;
  throw Error(ErrorCode::kInvalidArgument, "--max-seeds " + std::to_string(*rule.max_seeds) + ": the suite has " +
                                               std::to_string(suite.seeds.size()) +
                                               " seeds already; give more, or fewer with --seeds");
}

int run_until_decided(const suites::Suite& suite, const UntilDecided& rule, const SuiteRunOptions& options,
                      const Session& session) {
  check_max_seeds(suite, rule);
  const int changes = reports::single_changes(matrix_of(suite, options.catalogue).contrasts);
  if (changes == 0) {
    throw Error(ErrorCode::kInvalidArgument, suite.source + ": the design " + enum_name(suite.design) +
                                                 " has no change to decide on; leave " +
                                                 (rule.budget_s ? "--budget" : "--until-decided") + " out");
  }
  // Later rounds start from the source of the first.
  return Search(with_trainer_revision(suite), rule, options, session).run(changes);
}

}  // namespace nanobench::tools

#include "tools/cli/bisect_steps.h"

#include <algorithm>
#include <charconv>
#include <list>
#include <numeric>
#include <utility>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/forecast/run_cost.h"
#include "reports/gate/arm.h"
#include "suites/source/scratch_tree.h"
#include "tools/cli/places.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {
namespace {

using core::Error;
using reports::BisectStep;
using reports::Commit;
using reports::CommitVerdict;

/// A number for runs that belong to `name` alone: neither a gate nor another bisection takes them for its own.
std::int64_t arm_of(const std::string& name) {
  constexpr std::size_t kDigits = 12;
  const std::string digest = core::digest_of("bisect " + name).substr(0, kDigits);
  std::int64_t arm = 0;
  std::from_chars(digest.data(), digest.data() + digest.size(), arm, 16);
  return arm + 3;  // 1 and 2 are those of a gate
}

BisectStep skipped(const Commit& commit, const std::string& reason) {
  return {.commit = commit, .verdict = CommitVerdict::kSkipped, .reason = reason};
}

/// What a run of each cell takes, summed over the cells.
double seconds_of_seed(const results::Store& store, const suites::Plan& plan) {
  double sum = 0.0;
  for (const auto& [cell, seconds] : reports::expected_seconds(store, plan)) sum += seconds;
  return sum;
}

}  // namespace

std::string bisection_name(const std::string& suite_name) {
  return "bisection of " + suite_name;
}

/// The folders of the plans' trees, from one look to the next: what is built in them stays.
class BisectSteps::Held {
 public:
  explicit Held(const std::vector<const suites::Plan*>& plans) {
    for (const suites::Plan* plan : plans) {
      for (const suites::Cell& cell : plan->matrix.cells) {
        trees_.emplace_back(cell.external.at("source"));
        folders_.push_back(trees_.back().folder());
      }
    }
  }
  ~Held() {
    trees_.clear();
    suites::remove_trees(cache_folder(), folders_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  std::list<suites::ScratchTree> trees_;
  std::vector<std::filesystem::path> folders_;
};

BisectSteps::BisectSteps(BisectSetup setup, Commit good, results::Store& store)
    : setup_(std::move(setup)),
      good_commit_(std::move(good)),
      store_(store),
      looks_(setup_.first_seeds, setup_.max_seeds, setup_.policy.alpha),
      good_(plan_of(good_commit_, arm_of("good"))) {}

suites::Plan BisectSteps::plan_of(const Commit& commit, std::int64_t arm) const {
  suites::Suite suite = setup_.suite;
  suite.name = bisection_name(suite.name);
  if (setup_.builds != nullptr) {
    const suites::Engine engine =
        suites::native_engine(setup_.builds->of(commit.id).program, use_of(suite, setup_.run));
    SuiteRunOptions options = setup_.run;
    options.is_quiet = options.is_quiet || arm != arm_of("good");  // the data are then there
    return plan_suite(suite, options, {.engine = engine, .arm = arm});
  }
  suite.external->source->revision = commit.id;
  suite.external->source->base_tree.clear();
  return plan_suite(suite, setup_.run, {.engine = std::nullopt, .arm = arm});
}

/// Equal for equal sources.
std::string BisectSteps::tree_of(const Commit& commit, const suites::Plan& plan) const {
  if (setup_.builds != nullptr) return setup_.builds->of(commit.id).tree;
  std::string trees;
  for (const suites::Cell& cell : plan.matrix.cells) trees += cell.external.at("tree").get<std::string>() + " ";
  return trees;
}

std::optional<BisectStep> BisectSteps::test(const Commit& commit) {
  std::optional<suites::Plan> candidate;
  try {
    candidate = plan_of(commit, arm_of("candidate"));
  } catch (const Error& error) {
    core::rethrow_internal(error);
    return skipped(commit, error.what());
  }
  const std::string tree = tree_of(commit, *candidate);
  if (tree == tree_of(good_commit_, good_)) {
    return BisectStep{.commit = commit, .verdict = CommitVerdict::kGood, .reason = "its source is the good revision's"};
  }
  // With times, the good revision has runs beside each commit's, named by what they are beside.
  const suites::Plan good = shares_good_runs() ? good_ : plan_of(good_commit_, arm_of("good beside " + tree));
  std::optional<Held> held;
  if (setup_.keeps_trees) held.emplace(std::vector<const suites::Plan*>{&good, &*candidate});
  int seeds = 0;
  const std::optional<reports::GateResult> result = look_until_decided(good, *candidate, seeds);
  if (!result) return std::nullopt;
  BisectStep step = reports::judged_step(commit, *result, seeds);
  if (step.is_judged) {
    const double good_s = shares_good_runs() ? 0.0 : seconds_of_seed(store_, good);
    seconds_.push_back(seeds * (good_s + seconds_of_seed(store_, *candidate)));
  }
  return step;
}

std::optional<reports::GateResult> BisectSteps::look_until_decided(const suites::Plan& good,
                                                                   const suites::Plan& candidate, int& seeds) {
  tell("  1 seed");  // shows what does not run
  if (!run(good, candidate, 1, /*is_first=*/true)) return std::nullopt;
  const std::vector<std::uint64_t>& all = candidate.suite.seeds;
  for (int look = 1;; ++look) {
    seeds = looks_.seeds(look);
    const bool is_hopeless = look == 1 && has_failed(candidate, 1);
    if (!is_hopeless) tell("  " + counted(seeds, "seed") + " a side");
    if (!is_hopeless && !run(good, candidate, seeds, /*is_first=*/false)) return std::nullopt;
    auto [baseline, tested] = reports::read_arms(store_, store_.plan(good_plan_id_), store_.plan(candidate_plan_id_));
    reports::GateResult result =
        looks_.evaluate(std::move(baseline), std::move(tested), setup_.policy,
                        {.is_interleaved = !shares_good_runs(), .allows_other_configs = true}, all, look);
    if (is_hopeless || result.answer != reports::GateAnswer::kInconclusive || look == looks_.count()) return result;
  }
}

bool BisectSteps::run(const suites::Plan& good, const suites::Plan& candidate, int seeds, bool is_first) {
  const suites::RunnerOptions runner{
      .is_fresh = setup_.run.is_fresh && is_first, .max_seeds = static_cast<std::size_t>(seeds), .argv = setup_.argv};
  SuiteRunOptions silent = setup_.run;  // a step is a line: dozens of looks would print hundreds of them
  silent.is_quiet = true;
  const std::vector<suites::SuiteRunResult> results = run_in_turn({&good, &candidate}, store_, runner, silent);
  good_plan_id_ = results[0].plan_id;
  candidate_plan_id_ = results[1].plan_id;
  return !results.front().is_interrupted;
}

void BisectSteps::tell(const std::string& line) const {
  if (!setup_.run.is_quiet) tell_on_stderr(line);
}

bool BisectSteps::has_failed(const suites::Plan& candidate, int seeds) const {
  const results::PlanRecord plan = store_.plan(candidate_plan_id_);
  const std::size_t runs = static_cast<std::size_t>(seeds) * candidate.matrix.cells.size();
  for (const results::PlanLine& line : plan.lines) {
    if (static_cast<std::size_t>(line.position) >= runs) continue;
    if (!line.run_id) return true;
    const results::RunRecord record = store_.run(*line.run_id);
    if (record.result && record.result->outcome != core::RunOutcome::kCompleted &&
        record.result->outcome != core::RunOutcome::kDiverged)
      return true;
  }
  return false;
}

std::optional<double> BisectSteps::seconds_per_test() const {
  if (seconds_.empty()) return std::nullopt;
  return std::accumulate(seconds_.begin(), seconds_.end(), 0.0) / static_cast<double>(seconds_.size());
}

}  // namespace nanobench::tools

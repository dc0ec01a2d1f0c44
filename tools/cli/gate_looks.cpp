#include "tools/cli/gate_looks.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/forecast/run_cost.h"
#include "reports/stats/sequential.h"
#include "tools/cli/gate_noise.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;
using Clock = std::chrono::steady_clock;

/// A planned run of a later look is no missing evidence.
void keep_seeds(reports::Arm& arm, const std::vector<std::uint64_t>& seeds) {
  const std::unordered_set<std::uint64_t> kept(seeds.begin(), seeds.end());
  for (reports::ArmCell& cell : arm.cells) {
    std::erase_if(cell.runs, [&](const reports::ArmRun& run) { return !kept.contains(run.seed); });
  }
}

/// A gate that adds seeds until it has an answer. All looks are parts of one plan for each side.
class SequentialGate {
 public:
  SequentialGate(const GateOptions& options, const suites::Suite& suite, const reports::GatePolicy& policy,
                 results::Store& store, const Session& session)
      : options_(options), policy_(policy), store_(store), session_(session) {
    const int most = options.until.max_seeds.value_or(UntilDecided::kMaxSeeds);
    const int first = std::min(most, std::max<int>(static_cast<int>(suite.seeds.size()), policy_.min_runs));
    looks_.emplace(first, most, policy_.alpha);
    check_max_seeds(suite, options.until);
    suites::Suite whole = suite;
    whole.seeds = seeds_up_to(suite.seeds, most);
    plans_ = plan_both(options, whole);
    forecast_ = forecast();
    if (!options.is_forecast) counts_ = count_both(options, plans_->baseline, plans_->candidate);
  }

  int run(std::vector<std::string> notes) {
    if (options_.is_forecast) {
      const suites::Plan& plan = plans_->candidate;
      return print_forecast(options_,
                            {.forecast = forecast_,
                             .seed_s = seed_seconds(store_, {&plans_->baseline, &plan}),
                             .calibrate_command = calibrate_command(plan.suite, options_.suite, plan.threads)});
    }
    reports::GateResult result;
    for (int look = 1;; ++look) {
      const Arms arms = take(look);
      if (arms.is_interrupted) return report_interruption(store_, arms.plan_ids, session_.argv);
      result = looks_->evaluate(*arms.baseline, *arms.candidate, policy_, setting_of(options_, arms),
                                plans_->candidate.suite.seeds, look);
      if (look == 1) notes.insert(notes.end(), arms.notes.begin(), arms.notes.end());
      if (!options_.run.is_quiet) {
        tell_on_stderr("look " + std::to_string(look) + ", " + counted(looks_->seeds(look), "seed") +
                       " a side: " + enum_name(result.answer) + "\n");
      }
      if (result.answer != reports::GateAnswer::kInconclusive || look == looks_->count()) break;
      if (options_.until.budget_s && !fits_next(look)) {
        notes.push_back("The budget of " + format_duration(*options_.until.budget_s) + " holds no further seed, of " +
                        format_duration(seconds_per_seed()) + " each; the same command with more continues.");
        break;
      }
    }
    result.forecast = forecast_;
    return finish_gate(options_, std::move(result), std::move(notes));
  }

 private:
  /// The forecast of the last look, which has most of alpha.
  reports::PassForecast forecast() {
    const reports::GateSize size{.n = looks_->seeds(looks_->count()),
                                 .cells = static_cast<int>(plans_->candidate.matrix.cells.size())};
    reports::PassForecast chance =
        reports::forecast_pass(noise_of_plan(plans_->candidate, true, store_), policy_, size, looks_->last_alpha());
    chance.has_looks = looks_->count() > 1;
    return tell_forecast(options_, std::move(chance), plans_->candidate);
  }

  Arms take(int look) {
    look_ = look;
    if (options_.until.budget_s && look == 1 && plans_->candidate.suite.external && !knows_all_cells()) {
      // A trainer has no pilots: one seed of each cell tells what the others will take.
      const Arms arms = take_seeds(1, true);
      if (arms.is_interrupted) return arms;
      check_first_look();
      return take_seeds(looks_->seeds(1), false);
    }
    return take_seeds(looks_->seeds(look), look == 1);
  }

  Arms take_seeds(int seeds, bool is_first) {
    suites::RunnerOptions runner{.is_fresh = options_.run.is_fresh && is_first,
                                 .is_own_evidence = true,
                                 .max_seeds = static_cast<std::size_t>(seeds),
                                 .argv = session_.argv};
    if (options_.until.budget_s && is_first && !plans_->candidate.suite.external) {
      runner.expected_seconds = [this](const suites::Plan& plan) {
        if (plan.digest == plans_->candidate.digest) check_first_look();  // the second of the two, after all pilots
        return reports::expected_seconds(store_, plan);
      };
    }
    GateOptions options = options_;
    options.run.whole = [this] { return search_text(look_, spent_s(), options_.until.budget_s); };
    return run_both(options, *plans_, counts_, store_, runner);
  }

  double spent_s() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }
  double left_s() const { return *options_.until.budget_s - spent_s(); }
  /// Estimates are uncertain by about that much.
  double slack_s() const { return 0.05 * *options_.until.budget_s; }
  bool fits_next(int look) const { return seconds_to(look + 1) <= left_s() + slack_s(); }
  /// From the look before.
  double seconds_to(int look) const { return seconds_per_seed() * (looks_->seeds(look) - looks_->seeds(look - 1)); }

  bool knows_all_cells() const {
    const auto knows = [&](const suites::Plan& plan) {
      return reports::expected_seconds(store_, plan).size() == plan.matrix.cells.size();
    };
    return knows(plans_->baseline) && knows(plans_->candidate);
  }

  double seconds_per_seed() const {
    double sum = 0.0;
    for (const suites::Plan* const plan : {&plans_->baseline, &plans_->candidate}) {
      const std::map<std::string, double> seconds = reports::expected_seconds(store_, *plan);
      for (const auto& [cell, each] : seconds) sum += each;
    }
    return sum;
  }

  void check_first_look() const {
    const double needed = seconds_per_seed() * looks_->seeds(1);
    if (needed <= left_s() + slack_s()) return;
    throw Error(ErrorCode::kInvalidArgument, "--budget " + format_duration(*options_.until.budget_s) +
                                                 ": the first look, at " + counted(looks_->seeds(1), "seed") +
                                                 " a side, takes about " + format_duration(needed + spent_s()) +
                                                 "; give more, or fewer cells, or a smaller scale");
  }

  const GateOptions& options_;
  const reports::GatePolicy policy_;
  results::Store& store_;
  const Session& session_;
  std::optional<GateLooks> looks_;
  std::optional<BothPlans> plans_;
  Counts counts_;
  reports::PassForecast forecast_;
  int look_ = 1;
  Clock::time_point begun_ = Clock::now();
};

}  // namespace

GateLooks::GateLooks(int first, int most, double alpha)
    : first_(first), most_(most), step_(reports::look_step(first, most)), alpha_(alpha) {
  boundaries(1);  // checks them
}

const std::vector<reports::Look>& GateLooks::boundaries(int tests) {
  std::vector<reports::Look>& looks = boundaries_[tests];
  if (looks.empty())
    looks = reports::sequential_looks(first_, most_, step_, {.alpha = alpha_ / tests, .is_two_sided = false});
  return looks;
}

reports::GateResult GateLooks::evaluate(reports::Arm baseline, reports::Arm candidate, reports::GatePolicy policy,
                                        const reports::GateSetting& setting, const std::vector<std::uint64_t>& seeds,
                                        int look) {
  const std::vector<std::uint64_t> so_far(seeds.begin(), seeds.begin() + this->seeds(look));
  keep_seeds(baseline, so_far);
  keep_seeds(candidate, so_far);
  const int tests = std::max(1, evaluate_gate(baseline, candidate, policy, setting).tests);
  policy.alpha = tests * boundaries(tests)[static_cast<std::size_t>(look - 1)].nominal_p;
  reports::GateResult result = evaluate_gate(baseline, candidate, policy, setting);
  result.false_alarms = alpha_;
  result.notes.push_back("Look " + std::to_string(look) + " of " + std::to_string(count()) + ", at " +
                         counted(this->seeds(look), "seed") + " a side: the tests of this look share " +
                         format_significant(policy.alpha, 2) + " of alpha, those of all looks " +
                         format_significant(alpha_, 2) + ".");
  return result;
}

int run_gate_until_decided(const GateOptions& options, const suites::Suite& suite, const reports::GatePolicy& policy,
                           results::Store& store, const Session& session, std::vector<std::string> notes) {
  return SequentialGate(options, suite, policy, store, session).run(std::move(notes));
}

}  // namespace nanobench::tools

#include "reports/gate/bisection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/gate/gate_text.h"

namespace nanobench::reports {
namespace {

/// The halvings that leave one of `suspects` commits.
int halvings_of(std::size_t suspects) {
  return static_cast<int>(std::bit_width(suspects - 1));
}

/// The check that made the answer: of a regression the worst regressed one, of a pass the one nearest to its margin, of
/// an open one the worst that is open. In units of the margins, as long as there are any.
const GateCheck* telling_check(const GateResult& result) {
  const auto counts = [&](const GateCheck& check) {
    if (!check.gates) return false;
    if (result.answer == GateAnswer::kRegression) return check.verdict == Verdict::kRegressed;
    return result.answer == GateAnswer::kPass || check.verdict == Verdict::kInconclusive;
  };
  const auto harm = [&](const GateCheck& check) {
    const std::optional<double>& value = result.answer == GateAnswer::kRegression ? check.change : check.bound;
    if (!value || std::isnan(*value)) return -std::numeric_limits<double>::infinity();
    return check.margin > 0.0 ? *value / check.margin : *value * std::numeric_limits<double>::max();
  };
  const GateCheck* telling = nullptr;
  for (const GateCheck& check : result.checks) {
    if (counts(check) && (telling == nullptr || harm(check) > harm(*telling))) telling = &check;
  }
  return telling;
}

std::string reason_of(const GateResult& result, int seeds, const GateCheck* check) {
  switch (result.answer) {
    case GateAnswer::kPass:
    case GateAnswer::kRegression: return check == nullptr ? "" : reason_text(*check);
    case GateAnswer::kInconclusive:
      return "undecided after " + counted(seeds, "seed") +
             (check == nullptr ? "" : ": " + check->name + " of " + check->cell + ", " + reason_text(*check));
    case GateAnswer::kIncomplete:
    case GateAnswer::kNotComparable: break;
  }
  if (!result.problems.empty()) return text_of(result.problems.front());
  for (const GateCheck& one : result.checks) {
    if (one.gates && one.verdict == Verdict::kMissing) return one.name + " of " + one.cell + ": " + reason_text(one);
  }
  return "it cannot be compared";
}

CommitVerdict verdict_of(GateAnswer answer) {
  switch (answer) {
    case GateAnswer::kPass: return CommitVerdict::kGood;
    case GateAnswer::kRegression: return CommitVerdict::kBad;
    case GateAnswer::kInconclusive:
    case GateAnswer::kIncomplete:
    case GateAnswer::kNotComparable: break;
  }
  return CommitVerdict::kSkipped;
}

}  // namespace

Bisection::Bisection(std::size_t commits) : is_skipped_(commits, false) {
  if (commits == 0)
    throw core::Error(core::ErrorCode::kInvalidArgument, "a bisection needs at least one commit behind the good one");
  last_ = commits - 1;
}

std::optional<std::size_t> Bisection::next() const {
  const std::size_t suspects = last_ - first_ + 1;
  if (suspects == 1) return std::nullopt;
  const std::size_t middle = first_ + suspects / 2 - 1;
  std::optional<std::size_t> nearest;
  const auto distance = [&](std::size_t commit) { return commit > middle ? commit - middle : middle - commit; };
  for (std::size_t commit = first_; commit < last_; ++commit) {
    if (!is_skipped_[commit] && (!nearest || distance(commit) < distance(*nearest))) nearest = commit;
  }
  return nearest;
}

void Bisection::set(std::size_t commit, CommitVerdict verdict) {
  NB_CHECK(commit >= first_ && commit < last_, "only a suspect can be judged");
  switch (verdict) {
    case CommitVerdict::kGood: first_ = commit + 1; break;
    case CommitVerdict::kBad: last_ = commit; break;
    case CommitVerdict::kSkipped: is_skipped_[commit] = true; break;
    case CommitVerdict::kUnknown: break;
  }
}

std::vector<std::size_t> Bisection::suspects() const {
  std::vector<std::size_t> all;
  for (std::size_t commit = first_; commit <= last_; ++commit) all.push_back(commit);
  return all;
}

int Bisection::tests_left() const {
  return next() ? halvings_of(last_ - first_ + 1) : 0;
}

int tests_of_bisection(std::size_t commits) {
  return 1 + halvings_of(std::max<std::size_t>(commits, 1));
}

double alpha_of_test(double alpha, std::size_t commits) {
  return alpha / tests_of_bisection(commits);
}

double wrong_answer_bound(double alpha_of_test, int decisions) {
  return std::min(1.0, alpha_of_test * decisions);
}

int exit_code(BisectAnswer answer) {
  switch (answer) {
    case BisectAnswer::kFound: return core::kExitSuccess;
    case BisectAnswer::kNoDifference: return core::kExitRegression;
    case BisectAnswer::kSeveral:
    case BisectAnswer::kUndecided: return core::kExitInconclusive;
    case BisectAnswer::kIncomplete: break;
  }
  return core::kExitIncomplete;
}

int BisectResult::decisions() const {
  return static_cast<int>(
      std::count_if(steps.begin(), steps.end(), [](const BisectStep& step) { return step.is_judged; }));
}

const BisectStep* BisectResult::step_of(const Commit& commit) const {
  for (const BisectStep& step : steps) {
    if (step.commit.id == commit.id) return &step;
  }
  return nullptr;
}

BisectStep judged_step(const Commit& commit, const GateResult& result, int seeds) {
  const GateCheck* const check = telling_check(result);
  const bool is_judged = result.answer != GateAnswer::kIncomplete && result.answer != GateAnswer::kNotComparable;
  return {.commit = commit,
          .verdict = verdict_of(result.answer),
          .seeds = is_judged ? seeds : 0,
          .check = check == nullptr ? std::nullopt : std::optional(*check),
          .level = 1.0 - 2.0 * result.policy.alpha,
          .is_judged = is_judged,
          .reason = reason_of(result, seeds, check)};
}

}  // namespace nanobench::reports

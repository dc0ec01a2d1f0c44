#include "reports/gate/judge_checks.h"

#include <algorithm>
#include <optional>

#include "reports/stats/multiple.h"
#include "reports/stats/power.h"
#include "reports/stats/verdict.h"

namespace nanobench::reports {
namespace {

using POfCheck = std::optional<double> GatePValues::*;

double margin_on_scale(const GateCheck& check) {
  return to_scale(check.margin, check.is_ratio);
}

/// Before any adjustment. Without a margin, nothing but the same bits is equal.
GatePValues tests_of(const GateCheck& check, const Estimate& estimate, double alpha) {
  const double margin = margin_on_scale(check);
  GatePValues tests{.different = p_of(estimate),
                    .not_worse = p_of(estimate, Tail::kLess, margin),
                    .worse = p_of(estimate, Tail::kGreater)};
  if (margin > 0.0) tests.equal = equivalence(estimate, Margins::symmetric(margin), alpha).p;
  return tests;
}

class Judgement {
 public:
  Judgement(std::vector<GateCheck>& checks, const std::vector<OpenCheck>& open, double alpha)
      : checks_(checks), open_(open), alpha_(alpha) {}

  void judge_all() {
    for (const OpenCheck& open : open_) check_of(open).tests = tests_of(check_of(open), open.estimate, alpha_);
    for (const POfCheck test : {&GatePValues::equal, &GatePValues::different, &GatePValues::worse}) adjust(test);
    for (const OpenCheck& open : open_) judge(check_of(open), open.estimate);
  }

 private:
  GateCheck& check_of(const OpenCheck& open) const { return checks_[open.check]; }

  void adjust(POfCheck test) const {
    std::vector<std::optional<double>> all, gating;
    for (const OpenCheck& open : open_) {
      all.push_back(check_of(open).tests.*test);
      if (check_of(open).gates) gating.push_back(all.back());
    }
    all = holm(all);
    gating = holm(gating);
    std::size_t next = 0;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      GateCheck& check = check_of(open_[i]);
      check.tests.*test = check.gates ? gating[next++] : all[i];
    }
  }

  static void decide(GateCheck& check, Verdict verdict, GateTest test, const std::optional<double>& p) {
    check.verdict = verdict;
    check.test = test;
    check.p = p;
  }

  void judge(GateCheck& check, const Estimate& estimate) const {
    const double margin = margin_on_scale(check);
    check.bound = from_scale(interval_of(estimate, 1.0 - alpha_, Tail::kLess).high, check.is_ratio);
    check.best = from_scale(interval_of(estimate, 1.0 - alpha_, Tail::kGreater).low, check.is_ratio);
    check.pass_power = margin > 0.0 ? power_of(margin, {.se = estimate.se, .df = estimate.df},
                                               {.alpha = alpha_, .is_two_sided = false})
                                    : alpha_;
    const GatePValues& tests = check.tests;
    if (tests.equal && *tests.equal < alpha_) {
      decide(check, Verdict::kUnchanged, GateTest::kEqual, tests.equal);
    } else if (estimate.value < 0.0 && *tests.different < alpha_) {
      decide(check, Verdict::kImproved, GateTest::kDifferent, tests.different);
    } else if (*tests.not_worse < alpha_) {
      decide(check, Verdict::kNotWorse, GateTest::kNotWorse, tests.not_worse);
    } else if (*tests.worse < alpha_) {
      decide(check, Verdict::kRegressed, GateTest::kWorse, tests.worse);
    } else {
      decide(check, Verdict::kInconclusive, GateTest::kNotWorse, tests.not_worse);
    }
    check.reason = CheckReason::kTested;
    check.confidence = 1.0 - alpha_;
  }

  std::vector<GateCheck>& checks_;
  const std::vector<OpenCheck>& open_;
  double alpha_;
};

}  // namespace

void share_spreads(std::vector<GateCheck>& checks, std::vector<OpenCheck>& open) {
  for (const GateMetric metric : {GateMetric::kLoss, GateMetric::kTime}) {
    std::vector<OpenCheck*> members;
    std::vector<std::vector<double>> groups;
    for (OpenCheck& one : open) {
      if (checks[one.check].metric != metric || one.pairs.empty()) continue;
      members.push_back(&one);
      groups.push_back(one.pairs);
    }
    const auto means = moderated_means(groups, {.prior_df = metric == GateMetric::kTime ? kTimePriorDf : kLossPriorDf,
                                                .family = std::max(1, static_cast<int>(groups.size()))});
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!means[i]) continue;
      members[i]->estimate = means[i]->estimate;
      checks[members[i]->check].spread = means[i]->spread;
    }
  }
}

int judge_checks(std::vector<GateCheck>& checks, const std::vector<OpenCheck>& open, double alpha) {
  Judgement(checks, open, alpha).judge_all();
  return static_cast<int>(
      std::count_if(open.begin(), open.end(), [&](const OpenCheck& one) { return checks[one.check].gates; }));
}

}  // namespace nanobench::reports

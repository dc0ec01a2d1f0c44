#include "reports/audit/review.h"

#include <gtest/gtest.h>

#include "core/base/json.h"
#include "reports/kinds/audit_review.h"
#include "reports/kinds/kinds.h"
#include "reports/render/render.h"
#include "tests/golden/golden_data.h"
#include "tests/results/import/log_texts.h"

namespace nanobench::reports {
namespace {

/// Runs with these losses and times, each of its own curve, in one folder.
Audit audit_of(const std::vector<double>& losses, const std::vector<double>& ms, const AuditOptions& options = {},
               const std::string& folder = "logs") {
  Auditor auditor(options);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const std::string file = "run" + std::to_string(i) + ".txt";
    const std::string steps = "step:0/3 val_loss:10." + std::to_string(1000 + i) +
                              " train_time:0ms step_avg:nanms\n"
                              "step:2/3 val_loss:4.5 train_time:500ms step_avg:1.00ms\nstep:3/3 val_loss:" +
                              std::to_string(losses[i]) + " train_time:" + std::to_string(ms[i % ms.size()]) +
                              "ms step_avg:1.00ms\n";
    auditor.add({.path = folder + "/" + file, .folder = folder, .subdir = "", .name = file},
                results::read_speedrun_log(results::log_text(steps)));
  }
  return auditor.finish();
}

GroupReview review_of_runs(const std::vector<double>& losses, const AuditOptions& options = {}) {
  const Audit audit = audit_of(losses, {1000}, options);
  return review_of(audit.groups.front(), audit.options);
}

// The numbers of runs: computed elsewhere, by integrating the non-central t distribution.
TEST(GroupReview, SaysHowManyNewRunsWouldMeetTheRule) {
  EXPECT_EQ(review_of_runs({3.2796, 3.2800, 3.2786, 3.2782, 3.2801}).rule_runs, 18);
  EXPECT_EQ(review_of_runs({3.2774, 3.2790, 3.2777, 3.2764, 3.2813}).rule_runs, 17);
  EXPECT_EQ(review_of_runs({3.2771, 3.2764, 3.2797, 3.2787, 3.2769}).rule_runs, 7);
  EXPECT_FALSE(review_of_runs({3.2764, 3.2777, 3.2771, 3.2772, 3.2796}).rule_runs) << "the rule is met";
  EXPECT_FALSE(review_of_runs({3.2979, 3.2976, 3.3029, 3.2954, 3.2992}).rule_runs) << "the mean is above the target";
  EXPECT_FALSE(review_of_runs({3.2790}).rule_runs) << "no spread";
  EXPECT_FALSE(review_of_runs({3.2700, 3.2890, 3.2790}).rule_runs) << "above a thousand";
}

TEST(GroupReview, TheRuleOfAKnownSpreadNeedsRunsToo) {
  const GroupReview review = review_of_runs({3.2780, 3.2800, 3.2790, 3.2784}, {.rule = AuditRule::kZ});
  // margin 0.00115, sd 0.00087: (0.004 + 0.8416 sd) / margin, squared, is 16.9
  EXPECT_EQ(review.rule_runs, 17);
}

TEST(GroupReview, ThePublishedGainNeedsRunsOfBothSides) {
  const std::vector<double> losses = {3.2765, 3.2777, 3.281, 3.2799, 3.2764, 3.2777, 3.2776, 3.2794, 3.2779, 3.2783};
  const std::vector<double> ms = {95352, 95319, 95321, 95327, 95248, 95303, 95283, 95072, 95359, 95319};
  const Audit audit = audit_of(losses, ms, {}, "2026-02-03_VeTuned");
  const GroupReview review = review_of(audit.groups.front(), audit.options);
  EXPECT_NEAR(*review.published_gain_ms, 420, 1e-6);
  EXPECT_EQ(review.gain_runs, 3);
  // 3.27824 -+ 2.2622 * 0.0014623 / sqrt(10)
  EXPECT_NEAR(review.loss_interval->low, 3.27719, 1e-5);
  EXPECT_NEAR(review.loss_interval->high, 3.27929, 1e-5);
  EXPECT_NEAR(review.time_interval->high, 95349.7, 0.1);
  EXPECT_EQ(review.unfinished + review.repeated, 0);
}

TEST(GroupReview, TheReportHasFiveLinesForOneFolder) {
  const Audit audit = audit_of({3.2771, 3.2764, 3.2797, 3.2787, 3.2769}, {1000, 1001});
  const core::OrderedJson lines = to_json(audit_report(audit))["tables"]["review"];
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0]["question"], "evidence");
  EXPECT_EQ(lines[0]["answer"]["n"], 5);
  EXPECT_NEAR(lines[0]["answer"]["mean"].get<double>(), 3.27776, 1e-12);
  EXPECT_EQ(lines[1]["answer"]["verdict"], "does not meet the rule");
  EXPECT_EQ(lines[2]["answer"]["published_s"], nullptr);
  EXPECT_EQ(lines[4]["question"], "settle");
  EXPECT_EQ(lines[4]["answer"]["rule_runs"], 7);
}

TEST(GroupReview, SeveralFoldersOrNoRunHaveNoLines) {
  Audit audit = audit_of({3.2771, 3.2764}, {1000});
  EXPECT_TRUE(review_section(audit));
  Audit other = audit_of({3.2771}, {1000}, {}, "elsewhere");
  audit.groups.push_back(other.groups.front());
  EXPECT_FALSE(review_section(audit));
  EXPECT_FALSE(review_section(Audit{}));
  for (std::size_t i = 0; i < kMaxReviewedGroups; ++i) other.groups.push_back(other.groups.front());
  EXPECT_FALSE(review_section(other));
}

TEST(GroupReview, ALogWithoutLossOrTimeIsNoError) {
  Auditor auditor({});
  auditor.add({.path = "logs/a.txt", .folder = "logs", .subdir = "", .name = "a.txt"},
              results::read_speedrun_log("step:1/3 val_loss:5.0\n"));
  const Audit audit = auditor.finish();
  const core::OrderedJson lines = to_json(audit_report(audit))["tables"]["review"];
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0]["answer"]["mean"], nullptr);
  EXPECT_EQ(lines[2]["answer"]["mean_s"], nullptr);
  EXPECT_EQ(lines[4]["answer"]["unfinished"], 1);
}

}  // namespace
}  // namespace nanobench::reports

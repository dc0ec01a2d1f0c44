#include "reports/kinds/ci_output.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "reports/gate/gate.h"
#include "reports/kinds/kinds.h"
#include "reports/render/render.h"

namespace nanobench::reports {
namespace {

/// Many cells with hostile names: every third regressed, every third undecided, the rest fine.
GateResult result_with(int cells) {
  GateResult result;
  result.candidate.suite = "a <suite> & \"more\"";
  result.answer = GateAnswer::kRegression;
  for (int i = 0; i < cells; ++i) {
    GateCheck check;
    check.cell = "cell \"" + std::to_string(i) + "\" <b>|::error title=x::y\n%0A";
    check.name = "loss";
    check.is_ratio = false;
    check.change = 0.01 * i;
    check.tests.worse = 0.5 / (i + 1);
    check.verdict = i % 3 == 0 ? Verdict::kRegressed : i % 3 == 1 ? Verdict::kInconclusive : Verdict::kUnchanged;
    check.reason = CheckReason::kMismatch;
    check.mismatch = {MismatchKind::kMachine, "host " + std::to_string(i) + " & <more>", "another"};
    result.checks.push_back(check);
  }
  return result;
}

long count_of(const std::string& text, const std::string& part) {
  long count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

TEST(GateAnnotations, AtMostTenTheWorstFirstEachOnOneLine) {
  const std::string text = gate_annotations(result_with(30));
  EXPECT_EQ(count_of(text, "\n"), 10);
  EXPECT_EQ(count_of("\n" + text, "\n::error title="), 10) << "ten of the thirty have regressed";
  EXPECT_TRUE(text.ends_with(more_checks_text(10) + "\n")) << text;
  // The smallest p stands first.
  EXPECT_NE(text.substr(0, text.find('\n')).find("27"), std::string::npos) << text;
  EXPECT_EQ(text.find("%0A\n"), std::string::npos);
  EXPECT_NE(text.find("%250A"), std::string::npos) << "a percent sign is escaped";
}

TEST(GateAnnotations, WarningsForWhatIsUndecidedNothingForWhatPasses) {
  GateResult result = result_with(2);
  result.checks.erase(result.checks.begin());
  EXPECT_EQ(gate_annotations(result).rfind("::warning title=", 0), 0U);
  result.checks.front().gates = false;
  EXPECT_EQ(gate_annotations(result), "");
}

TEST(GateJunit, CountsAndEscapes) {
  const std::string text = gate_junit(result_with(9));
  EXPECT_EQ(count_of(text, "tests=\"9\" failures=\"3\" errors=\"0\" skipped=\"3\""), 2);
  EXPECT_EQ(count_of(text, "<testcase "), 9);
  EXPECT_EQ(count_of(text, "<failure "), 3);
  EXPECT_EQ(count_of(text, "<skipped "), 3);
  EXPECT_EQ(text.find("<b>"), std::string::npos);
  EXPECT_EQ(text.find("& "), std::string::npos);
}

TEST(GateJunit, NothingToCompareIsAnError) {
  const std::string text = gate_junit(GateResult{});
  EXPECT_EQ(count_of(text, "errors=\"1\""), 2);
  EXPECT_EQ(count_of(text, "<error "), 1);
}

TEST(GateMarkdown, HasItsMarkerAndStaysBelowTheLimit) {
  const std::string whole = gate_markdown(result_with(10));
  EXPECT_EQ(whole.rfind(kGateCommentMarker, 0), 0U);
  EXPECT_EQ(count_of(whole, "| " + enum_name(Verdict::kRegressed) + " |"), 4) << whole;
  EXPECT_EQ(whole.find("<b>"), std::string::npos);
  const std::string cut = gate_markdown(result_with(1000), 20000);
  EXPECT_LE(cut.size(), 20000U);
  EXPECT_TRUE(cut.ends_with(kGateCutNote));
}

GateCheck check_of(const std::string& cell, GateMetric metric, const std::string& name, double change, double margin,
                   Verdict verdict) {
  GateCheck check;
  check.cell = cell;
  check.metric = metric;
  check.name = name;
  check.is_ratio = metric != GateMetric::kLoss;
  check.change = change;
  check.margin = margin;
  check.verdict = verdict;
  return check;
}

// The only tests of these headlines: all others compare values.

TEST(GateHeadline, APassNamesItsMarginsAndARegressionItsWorst) {
  GateResult result;
  result.answer = GateAnswer::kPass;
  for (const char* cell : {"a", "b"}) {
    result.checks.push_back(check_of(cell, GateMetric::kLoss, "loss", 0.0, 0.001, Verdict::kUnchanged));
    result.checks.push_back(check_of(cell, GateMetric::kTime, "step time", 0.0, 0.005, Verdict::kUnchanged));
  }
  result.checks.push_back(check_of("b", GateMetric::kMemory, "peak memory", 0.0, 0.01, Verdict::kRegressed));
  result.checks.back().gates = false;
  EXPECT_EQ(gate_headline(result),
            "Pass: no metric is worse by more than its margin (0.0010 nats of loss, 0.5 % of step time) in 4 checks.");
  result.answer = GateAnswer::kRegression;
  result.checks[0].verdict = result.checks[3].verdict = Verdict::kRegressed;
  result.checks[0].change = 0.002;  // twice its margin
  result.checks[3].change = 0.05;   // ten times
  EXPECT_EQ(gate_headline(result), "Regression in 2 of 4 checks. Worst: step time of b, +5.00 %.");
  EXPECT_EQ(gate_report(result).headline, gate_headline(result));
  result.answer = GateAnswer::kIncomplete;
  EXPECT_EQ(gate_headline(result), "Incomplete: a cell failed or is missing.") << "every check has its verdict";
  result.checks.front().verdict = Verdict::kMissing;
  EXPECT_EQ(gate_headline(result), "Incomplete: a cell failed or is missing (1 of 4 checks without evidence).");
  result.checks.clear();
  EXPECT_EQ(gate_headline(result), "Incomplete: nothing that gates was measured, so there is no check.");
}

TEST(CompareHeadline, CountsVerdictsAndNamesWhatIsProved) {
  GateResult result;
  result.baseline.name = "old";
  result.candidate.name = "new";
  EXPECT_EQ(compare_report(result).headline, "new against old, nothing to compare.");
  result.checks = {check_of("a", GateMetric::kLoss, "loss", 0.01, 0.001, Verdict::kRegressed),
                   check_of("a", GateMetric::kTime, "step time", -0.031, 0.005, Verdict::kImproved),
                   check_of("a", GateMetric::kMemory, "peak memory", 0.0, 0.01, Verdict::kInconclusive)};
  EXPECT_EQ(compare_report(result).headline,
            "new against old, 3 checks: 1 improved, 1 inconclusive, 1 regressed. Proved worse: loss (+0.01000). Proved "
            "better: step time (-3.10 %).");
  for (const char* cell : {"b", "c", "d"})
    result.checks.push_back(check_of(cell, GateMetric::kLoss, "loss", 0.01, 0.001, Verdict::kRegressed));
  EXPECT_EQ(compare_report(result).headline,
            "new against old, 6 checks: 1 improved, 1 inconclusive, 4 regressed. Proved worse: loss of a (+0.01000), "
            "loss of b (+0.01000), loss of c (+0.01000) and 1 more. Proved better: step time of a (-3.10 %).");
}

TEST(GateReport, EveryFormHasEveryCheck) {
  const GateResult result = result_with(5);
  const Document document = gate_report(result);
  const core::OrderedJson json = to_json(document);
  EXPECT_EQ(json.at("tables").at("checks").size(), 5U);
  EXPECT_EQ(json.at("facts").at("exit_code"), 1);
  EXPECT_EQ(json.at("tables").at("checks").at(1).at("verdict"), "inconclusive");
  for (const GateCheck& check : result.checks) EXPECT_EQ(count_of(render_csv(document), check.mismatch.baseline), 1);
}

}  // namespace
}  // namespace nanobench::reports

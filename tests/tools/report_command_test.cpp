// What `nanobench report` says of effects that were planted: attribution, wild runs, peeking, looks.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/tools/gate_command_line.h"

namespace nanobench::tools {
namespace {

bool mentions(const core::Json& texts, const std::string& part) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const core::Json& text) { return text.get<std::string>().find(part) != std::string::npos; });
}

std::string factorial(const std::string& features) {
  return R"({"name": "f", "design": "factorial", "base": {"record": "record17"}, "features": )" + features +
         R"(, "scale": "smoke", "seeds": [1, 2, 3, 4, 5, 6], "threads": 1,
            "engine": {"mock": {"steps": 6, "loss_sigma": 0.0002, "cells": {
              "rotary": {"effect": -0.010}, "attention_skip": {"effect": 0.004},
              "rotary + attention_skip": {"effect": -0.012}}}}})";
}

TEST(ReportCommand, SharesOfAFactorialAreThosePlanted) {
  const CommandLine shell("shapley");
  shell.write("f.json", factorial(R"(["rotary", "attention_skip"])"));
  const ProgramResult result = shell.run({"run", "f.json", "--quiet", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const core::Json report = json_of(result);
  std::map<std::string, core::Json> shares;
  for (const core::Json& row : report.at("tables").at("shapley"))
    shares[row.at("change").get<std::string>()] = row.at("loss");
  ASSERT_EQ(shares.size(), 3U) << result.out;
  // Rotary alone -0.010, after the other -0.016; the other +0.004 and -0.002.
  for (const auto& [change, planted] :
       std::map<std::string, double>{{"rotary", -0.013}, {"attention_skip", 0.001}, {"all of them", -0.012}}) {
    EXPECT_LT(shares.at(change).at("se").get<double>(), 0.0003) << change;
    EXPECT_NEAR(shares.at(change).at("value").get<double>(), planted, 0.0005) << change;
  }
  EXPECT_NEAR(shares.at("rotary").at("value").get<double>() + shares.at("attention_skip").at("value").get<double>(),
              shares.at("all of them").at("value").get<double>(), 1e-12);
  EXPECT_NE(shell.run({"report"}).out.find("What each change contributes (Shapley)"), std::string::npos);
  shell.write("one.json", factorial(R"(["rotary"])"));
  EXPECT_EQ(shell.run({"run", "one.json", "--quiet"}).out.find("Shapley"), std::string::npos);
}

TEST(ReportCommand, APlanOfClaimsIsTheirLedger) {
  const CommandLine shell("claims_plan");
  shell.write(
      "c.json",
      R"({"name": "c", "design": "claims", "claims": ["seed004_value_embeddings_add_capacity"], "scale": "smoke",
    "seeds": [1, 2], "threads": 1, "engine": {"mock": {"steps": 6, "loss_sigma": 0.001}}})");
  const ProgramResult run = shell.run({"run", "c.json", "--quiet", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const ProgramResult asked = shell.run({"report", "--json"});
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  EXPECT_EQ(asked.out, run.out) << "what the run ended with";
  const core::Json report = json_of(asked);
  EXPECT_EQ(report.at("kind"), "claims_ledger");
  const core::Json& rows = report.at("tables").at("claims");
  ASSERT_EQ(rows.size(), 1U) << "the claims that the plan was made for";
  EXPECT_EQ(rows.at(0).at("claim"), "seed004_value_embeddings_add_capacity");
  EXPECT_EQ(rows.at(0).at("measured").at("n"), 2);
  EXPECT_EQ(report.at("facts").at("plan_id"), 1);
  const std::string again = report.at("tables").at("reproduce").at(0).at("command").get<std::string>();
  EXPECT_EQ(again, "nanobench run c.json --quiet --json --fresh");
  EXPECT_EQ(shell.run({"report", "--out", "c.html"}).exit_code, 0);
  EXPECT_NE(read_text(shell.work() / "c.html").find("1 claim. Measured here: 1 is "), std::string::npos);
}

constexpr const char* kLeaveOneOut =
    R"({"name": "loo", "design": "leave_one_out", "base": {"record": "record17"}, "features": ["rotary"],
        "scale": "smoke", "seeds": [1, 2], "threads": 1, "engine": {"mock": {"steps": 6, "loss_sigma": 0.001}}})";

TEST(ReportCommand, SeedsAddedAfterALookAreSaid) {
  const CommandLine shell("peeking");
  shell.write("s.json", kLeaveOneOut);
  const auto warnings_of = [&](const std::vector<std::string>& words) {
    const ProgramResult result = shell.run(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json_of(result).at("warnings");
  };
  const auto run = [&](const std::string& seeds) {
    return warnings_of({"run", "s.json", "--seeds", seeds, "--quiet", "--json"});
  };
  EXPECT_FALSE(mentions(run("2"), "look"));
  EXPECT_FALSE(mentions(run("2"), "look")) << "the same seeds again";
  EXPECT_TRUE(mentions(run("4"), "This is look 2 at results to which seeds were added (2 and 4 seeds)"));
  EXPECT_TRUE(mentions(run("7"), "This is look 3 at results to which seeds were added (2, 4 and 7 seeds)"));
  EXPECT_TRUE(mentions(run("7"), "This is look 3"));
  EXPECT_FALSE(mentions(run("2"), "look")) << "what was seen first was seen once";
  EXPECT_FALSE(mentions(run("11,12,13"), "look")) << "other seeds";
  EXPECT_FALSE(mentions(warnings_of({"run", "s.json", "--until-decided", "--max-seeds", "5", "--quiet", "--json"}),
                        "This is look"))
      << "planned looks";
}

TEST(ReportCommand, SaysHowManySeedsAnUndecidedChangeNeeds) {
  const CommandLine shell("seeds_needed");
  shell.write("s.json", R"({"name": "s", "design": "leave_one_out", "base": {"record": "record17"}, "features": [
      "value_embeddings", "rotary", "attention_skip", "window_granularity"], "scale": "smoke", "seeds": [1, 2, 3],
      "threads": 1, "engine": {"mock": {"steps": 40, "val_every": 2, "loss_sigma": 0.0005, "step_cv": 0.01,
      "cells": {"without rotary": {"step_ms": 10.16}}}}})");
  const core::Json report = json_of(shell.run({"run", "s.json", "--quiet", "--json"}));
  std::map<std::string, std::string> status;
  core::Json needed;
  for (const core::Json& row : report.at("tables").at("effects")) {
    status[row.at("effect").get<std::string>()] = row.at("seeds_needed").at("status").get<std::string>();
    if (row.at("effect") == "rotary") needed = row.at("seeds_needed");
  }
  EXPECT_EQ(status, (std::map<std::string, std::string>{{"value_embeddings", "within_noise"},
                                                        {"rotary", "told"},
                                                        {"attention_skip", "within_noise"},
                                                        {"window_granularity", "within_noise"}}));
  EXPECT_EQ(needed.at("seeds"), needed.at("more").get<int>() + 3);
  EXPECT_LE(needed.at("min_seeds"), needed.at("seeds"));
  EXPECT_GE(needed.at("max_seeds"), needed.at("seeds"));
  EXPECT_TRUE(report.at("tables").contains("reproduce"));
  EXPECT_TRUE(report.at("tables").contains("spreads"));
}

/// Eleven contrasts of very unequal spreads show that the plan's says little of one of them.
TEST(ReportCommand, UnequalSpreadsLowerTheWeightOfThePlan) {
  const CommandLine shell("spread_weights");
  core::Json suite = core::Json::parse(R"({"name": "s", "design": "sweep", "base": {"record": "record17"},
      "axes": [{"path": "/optimizer/hidden_matrices/lr", "values": [0.05]}], "scale": "smoke", "threads": 1,
      "seeds": [1, 2, 3, 4], "engine": {"mock": {"steps": 10, "val_every": 5, "loss_sigma": 0.001}}})");
  core::Json cells = {{"lr=0.05", {{"loss_sigma", 0.00001}}}};
  for (int i = 1; i < 12; ++i) {
    const int thousandths = 10 + i;
    suite["axes"][0]["values"].push_back(thousandths / 1000.0);
    std::string label = "lr=0.0" + std::to_string(thousandths);
    while (label.back() == '0') label.pop_back();
    cells[label]["loss_sigma"] = 0.00001 * std::pow(3.0, i % 8);
  }
  const auto loss_weight = [&] {
    shell.write("s.json", suite.dump());
    return json_of(shell.run({"run", "s.json", "--quiet", "--json"})).at("facts").at("loss_weight").get<double>();
  };
  EXPECT_EQ(loss_weight(), 4.0) << "equal spreads";
  suite["name"] = "unequal";
  suite["engine"]["mock"]["cells"] = cells;
  EXPECT_LT(loss_weight(), 2.0);
}

/// Only when asked, and never with the runs of the plan itself.
TEST(ReportCommand, EarlierPlansInformTheSpreadOfLosses) {
  const CommandLine shell("earlier_spread");
  shell.write("s.json", R"({"name": "s", "design": "leave_one_out", "base": {"record": "record17"}, "features": [
      "value_embeddings", "rotary"], "scale": "smoke", "threads": 1, "seeds": [1, 2, 3],
      "engine": {"mock": {"steps": 40, "val_every": 2, "loss_sigma": 0.0005, "step_cv": 0.01}}})");
  const auto plan_df = [&](const std::vector<std::string>& words) {
    const core::Json report = json_of(shell.run(words));
    return report.at("tables").at("effects").at(0).at("loss").at("plan_df").get<double>();
  };
  EXPECT_EQ(plan_df({"run", "s.json", "--quiet", "--json"}), 4.0);
  EXPECT_EQ(plan_df({"report", "--earlier-spread", "--json"}), 4.0) << "nothing is earlier";
  EXPECT_EQ(plan_df({"run", "s.json", "--seeds", "4,5,6,7", "--quiet", "--json"}), 6.0);
  EXPECT_EQ(plan_df({"report", "--json"}), 6.0) << "not without being asked";
  EXPECT_EQ(plan_df({"report", "--earlier-spread", "--json"}), 10.0);
  EXPECT_EQ(plan_df({"run", "s.json", "--seeds", "1,2,3,8", "--quiet", "--json"}), 6.0);
  EXPECT_EQ(plan_df({"report", "--earlier-spread", "--json"}), 12.0) << "runs of both plans count once";
}

/// A trainer whose loss is the line of its feature and seed in a table.
constexpr const char* kReportCommandTrainer =
    "loss=$(awk -v f=\"$1\" -v s=\"$SEED\" '$1 == f && $2 == s { print $3 }' losses.txt)\n"
    "echo \"step:0/2 val_loss:9.0 train_time:0ms step_avg:nanms\"\n"
    "echo \"step:2/2 val_loss:$loss train_time:200ms step_avg:100.00ms\"\n";

std::string external_suite(int seeds) {
  core::Json suite = core::Json::parse(R"({"name": "mine", "design": "leave_one_out", "engine": {
      "command": ["sh", "train.sh", "{feature:x}"], "log": "speedrun", "env": {"SEED": "{seed}"},
      "features": {"x": {"values": ["off", "on"]}}}})");
  for (int seed = 1; seed <= seeds; ++seed) suite["seeds"].push_back(seed);
  return suite.dump();
}

/// Writes trainer, losses and suite.
void report_command_write_trainer(const CommandLine& shell, const std::vector<double>& on,
                                  const std::vector<double>& off, int seeds) {
  std::string losses;
  for (std::size_t i = 0; i < on.size(); ++i) {
    const std::string seed = std::to_string(i + 1);
    losses += "on " + seed + " " + std::to_string(on[i]) + "\noff " + seed + " " + std::to_string(off[i]) + "\n";
  }
  shell.write("losses.txt", losses);
  shell.write("train.sh", kReportCommandTrainer);
  shell.write("suite.json", external_suite(seeds));
}

TEST(ReportCommand, AWildRunIsNamedAndBothTestsSpeak) {
  const CommandLine shell("wild");
  report_command_write_trainer(shell, {3.281, 3.279, 3.280, 3.282, 3.278, 3.281, 3.280, 2.900},
                               {3.2914, 3.2893, 3.2905, 3.2922, 3.2881, 3.2916, 3.2905, 3.2909}, 8);
  const ProgramResult result = shell.run({"run", "suite.json", "--quiet", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  const core::Json report = json_of(result);
  const core::Json& second = report.at("tables").at("effects").at(0).at("loss").at("second_opinion");
  EXPECT_TRUE(second.at("disagrees").get<bool>()) << second;
  EXPECT_NEAR(second.at("pairs").at("shift").get<double>(), -0.0105, 0.001);
  EXPECT_TRUE(mentions(report.at("notes"), "two tests of val loss disagree"));
  EXPECT_TRUE(mentions(report.at("notes"), "base, seed 8, run ")) << report.at("notes");
  EXPECT_TRUE(mentions(report.at("notes"), "val loss 2.9000, median 3.2800")) << report.at("notes");
  EXPECT_EQ(report.at("tables").at("rows").at(0).at("val_loss").at("outliers"), 1);
  EXPECT_EQ(report.at("tables").at("rows").at(0).at("val_loss").at("n"), 8);
}

TEST(ReportCommand, AVerdictThatCrossedItsBoundaryStands) {
  const CommandLine shell("sticky");
  report_command_write_trainer(shell, {3.0000, 3.0001, 2.9999, 3.6, 2.7, 3.4}, {3.1000, 3.1002, 3.0998, 3.1, 3.1, 3.1},
                               3);
  std::string trainer = kReportCommandTrainer;
  trainer.replace(trainer.find("200ms"), 5, "${ms:-200}ms");
  shell.write("train.sh",
              "case $1$SEED in on1) ms=195;; on2) ms=199;; on3) ms=197;; on4) ms=189;; on5) ms=197;; on6) "
              "ms=189;; esac\n" +
                  trainer);
  const ProgramResult result =
      shell.run({"run", "suite.json", "--until-decided", "--max-seeds", "6", "--quiet", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  const core::Json loss = json_of(result).at("tables").at("effects").at(0).at("loss");
  EXPECT_EQ(loss.at("n"), 6) << "its time is undecided to the end";
  EXPECT_EQ(loss.at("verdict"), "improved");
  EXPECT_EQ(loss.at("decided_at_look"), 1);
}

}  // namespace
}  // namespace nanobench::tools

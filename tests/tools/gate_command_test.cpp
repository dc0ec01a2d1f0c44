// `nanobench gate` from the outside: every exit code, every output, interruptions and kills.
#include <unistd.h>

#include "tests/tools/gate_command_line.h"

namespace nanobench::tools {
namespace {

TEST(GateExitCode, ZeroWhenNoHarmIsProved) {
  const CommandLine shell("gate_0");
  const ProgramResult result = gate_in_turn(shell, gate_suite(), gate_suite(), {"--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  const core::Json report = json_of(result);
  EXPECT_EQ(report.at("schema_version"), 2);
  EXPECT_EQ(report.at("kind"), "gate");
  EXPECT_EQ(report.at("facts").at("answer"), "pass");
  EXPECT_EQ(report.at("facts").at("exit_code"), 0);
  EXPECT_EQ(metrics_with(report, "unchanged"), (std::set<std::string>{"loss", "training clock", "peak memory"}));
  expect_each_run_once(shell, 2, 8);
}

TEST(GateExitCode, OneForAPlantedRegressionOfEachMetric) {
  struct Case {
    const char* mock;
    const char* metric;
  };
  for (const Case& c : {Case{R"({"effect": 0.01})", "loss"},
                        {R"({"step_ms": 11})", "training clock"},
                        {R"({"peak_bytes": 120000000})", "peak memory"},
                        {R"({"fault": {"kind": "nan", "step": 4}})", "loss"}}) {
    const CommandLine shell("gate_1");
    const ProgramResult result = gate_in_turn(shell, gate_suite(c.mock), gate_suite(), {"--json"});
    EXPECT_EQ(result.exit_code, 1) << c.mock << result.err;
    EXPECT_EQ(metrics_with(json_of(result), "regressed"), std::set<std::string>{c.metric}) << result.out;
  }
}

TEST(GateExitCode, ABetterCandidatePasses) {
  const CommandLine shell("gate_better");
  const ProgramResult result =
      gate_in_turn(shell, gate_suite(R"({"effect": -0.01, "step_ms": 9})"), gate_suite(), {"--json"});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_EQ(metrics_with(json_of(result), "improved"), (std::set<std::string>{"loss", "training clock"}));
}

TEST(GateExitCode, ARegressionThatDoesNotGateIsOnlyTold) {
  const CommandLine shell("gate_only");
  const ProgramResult result =
      gate_in_turn(shell, gate_suite(R"({"step_ms": 11})"), gate_suite(), {"--json", "--only", "loss"});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  const core::Json report = json_of(result);
  EXPECT_EQ(metrics_with(report, "regressed"), std::set<std::string>{"training clock"});
  for (const core::Json& row : report.at("tables").at("checks")) EXPECT_EQ(row.at("gates"), row.at("metric") == "loss");
}

TEST(GateExitCode, TwoForWhatCannotBeAsked) {
  const CommandLine shell("gate_2");
  shell.write("g.json", gate_suite());
  shell.write("native.json", R"({"name": "n", "design": "history", "records": ["record12"], "scale": "smoke"})");
  shell.write("typo.json", R"({"los": {"margin": 0.1}})");
  shell.write("wrong.json", R"({"loss": {"margin": "much"}})");
  shell.write("none.json", R"({"loss": {"gates": false}, "time": {"gates": false},
                               "memory": {"gates": false}, "cost": {"gates": false}})");
  const auto refused = [&](const std::vector<std::string>& words, const std::string& sentence) {
    expect_usage_error(shell.run(words), sentence);
  };
  refused(gate_words({"--policy", "typo.json"}), "/los");
  refused(gate_words({"--policy", "wrong.json"}), "/loss/margin");
  refused(gate_words({"--policy", "nowhere.json"}), "nowhere.json");
  refused(gate_words({"--policy", "none.json"}), "no metric of the policy gates");
  refused(gate_words({"--margin", "lss=1"}), "did you mean \"loss\"");
  refused(gate_words({"--margin", "loss=x"}), "METRIC=NUMBER");
  refused(gate_words({"--margin", "loss=-1"}), "METRIC=NUMBER");
  refused(gate_words({"--margin", "loss=3%"}), "METRIC=NUMBER");
  refused(gate_words({"--margin", "time=3nats"}), "METRIC=NUMBER");
  refused(gate_words({"--margin", "time"}), "METRIC=NUMBER");
  refused(gate_words({"--only", "speed"}), "unknown metric");
  refused(gate_words({"--margin", "foo=1"}), "cost or instructions");
  refused(gate_words({"--alpha", "0.7"}), "--alpha");
  refused(gate_words({"--least-runs", "1"}), "--least-runs");
  refused({"gate", "nosuch", "--quiet"}, "nosuch");
  refused(gate_words({"--baseline", "a", "--baseline-engine", "b"}), "--baseline");
  refused(gate_words({"--baseline-engine", "old"}), "--baseline-suite");
  refused(gate_words({"--instructions"}), "--baseline-engine");
  refused({"gate", "native.json", "--baseline-engine", "nowhere/nanobench-train", "--quiet"}, "nanobench-train");
  refused(gate_words({"--baseline-suite", "g.json", "--instructions"}), "--instructions");
  EXPECT_FALSE(std::filesystem::exists(shell.database()) && !results::Store(shell.database()).runs().empty())
      << "nothing was run";
}

TEST(GateExitCode, ThreeWhenTheRunsCannotDecide) {
  const CommandLine shell("gate_3");
  // One in a thousand such draws alarms; which one this is changes with every new setting of a run.
  const ProgramResult noisy = gate_in_turn(shell, gate_suite(R"({"loss_sigma": 0.05})"),
                                           gate_suite(R"({"loss_sigma": 0.05})"), {"--json", "--alpha", "0.001"});
  EXPECT_EQ(noisy.exit_code, 3) << noisy.out;
  EXPECT_EQ(metrics_with(json_of(noisy), "inconclusive"), std::set<std::string>{"loss"});
  const ProgramResult single = gate_in_turn(shell, gate_suite(), gate_suite(), {"--json", "--seeds", "7,"});
  EXPECT_EQ(single.exit_code, 3) << single.out;
  EXPECT_NE(single.out.find("n = 1 proves nothing"), std::string::npos);
  EXPECT_TRUE(json_of(single).at("facts").at("pass_chance").is_null()) << "one run has no spread to tell it from";
}

TEST(GateExitCode, FourWhenACellOfEitherSideFails) {
  const std::string crashing = gate_suite(R"({"fault": {"kind": "signal", "step": 3}})");
  for (const bool is_candidate : {true, false}) {
    const CommandLine shell("gate_4");
    const ProgramResult result =
        is_candidate ? gate_in_turn(shell, crashing, gate_suite()) : gate_in_turn(shell, gate_suite(), crashing);
    EXPECT_EQ(result.exit_code, 4) << result.out;
    const std::string words = std::string(is_candidate ? "candidate" : "baseline") + ", record12, seed 1: crashed";
    EXPECT_NE(result.out.find(words), std::string::npos) << result.out;
  }
}

TEST(GateExitCode, FourWhenNothingThatGatesWasMeasured) {
  const CommandLine shell("gate_empty");
  const ProgramResult result = gate_in_turn(shell, gate_suite(), gate_suite(), {"--only", "cost"});
  EXPECT_EQ(result.exit_code, 4) << result.out;
  EXPECT_NE(result.out.find("no gating metric was measured"), std::string::npos) << result.out;
}

TEST(GateOutputs, MarkdownJunitAndAnnotationsOfHostileNames) {
  const CommandLine shell("gate_outputs");
  const std::string name = R"(a <b> & \"c\" | d)", records = R"(["record12", "record13", "record14", "record15"])";
  const std::string plain = R"({"loss_sigma": 0, "step_cv": 0})";
  const std::string worse = R"({"loss_sigma": 0, "step_cv": 0, "effect": 0.1, "step_ms": 20, "peak_bytes": 200000000})";
  const auto suite = [&](const std::string& mock) {
    core::Json json = core::Json::parse(gate_suite(mock, records, "g", "[1, 2]"));
    json["name"] = core::Json::parse("\"" + name + "\"");
    return json.dump();
  };
  const ProgramResult result = gate_in_turn(shell, suite(worse), suite(plain),
                                            {"--markdown", "gate.md", "--junit", "gate.xml"}, "GITHUB_ACTIONS=true");
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  EXPECT_EQ(count_of("\n" + result.err, "\n::error title="), 10) << result.err;
  EXPECT_NE(result.err.find("; and 2 more"), std::string::npos);
  EXPECT_EQ(result.out.find("::error"), std::string::npos) << "stdout is data";
  const std::string markdown = read_text(shell.work() / "gate.md");
  EXPECT_EQ(markdown.rfind("<!-- nanobench-gate -->\n", 0), 0U);
  EXPECT_NE(markdown.find("| regressed |"), std::string::npos) << markdown;
  shell.write("read.py",
              "import xml.etree.ElementTree as t\n"
              "s = t.parse('gate.xml').getroot()\n"
              "print(s.get('tests'), s.get('failures'), len(s.findall('.//failure')), len(s.findall('.//testcase')))\n"
              "print(s.find('testsuite').get('name'))\n");
  const std::string python =
      "cd " + quoted(shell.work().string()) + " && python3 -B read.py >xml.txt 2>&1";  // tests/setup needs python3 too
  ASSERT_EQ(std::system(python.c_str()), 0) << read_text(shell.work() / "xml.txt");
  EXPECT_EQ(read_text(shell.work() / "xml.txt"), "12 12 12 12\nnanobench gate a <b> & \"c\" | d\n");
}

TEST(GateOutputs, AnUnwritableFileIsOneSentence) {
  const CommandLine shell("gate_unwritable");
  const ProgramResult result = gate_in_turn(shell, gate_suite(), gate_suite(), {"--markdown", "nowhere/gate.md"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("nowhere/"), std::string::npos) << result.err;
}

/// Twelve runs of at least 0.12 s.
std::string slow_suite() {
  return gate_suite(R"({"sleep_ms": 20})", R"(["record12"])", "g", "[1, 2, 3, 4, 5, 6]");
}

std::size_t completed_runs(const CommandLine& shell) {
  if (!std::filesystem::exists(shell.database())) return 0;
  return results::Store(shell.database()).runs({.outcome = core::RunOutcome::kCompleted}).size();
}

TEST(GateExitCode, OneHundredAndThirtyWhenInterruptedThenTheSameCommandContinues) {
  const CommandLine shell("gate_130");
  ASSERT_EQ(gate_in_turn(shell, gate_suite(), gate_suite(), {"--seeds", "99,"}).exit_code, 3) << "makes the data";
  std::filesystem::remove(shell.database());
  // A busy machine may not come to a first run before the signal: then later.
  for (const char* seconds : {"0.6", "1.0", "2", "4", "8"}) {
    const ProgramResult stopped =
        gate_in_turn(shell, slow_suite(), slow_suite(), {}, std::string("timeout --preserve-status -s INT ") + seconds);
    ASSERT_EQ(stopped.exit_code, 130) << stopped.err;
    EXPECT_EQ(stopped.out, "");
    if (stopped.err.empty()) {
      EXPECT_EQ(completed_runs(shell), 0U) << "only a program that has not begun has nothing to say";
      continue;
    }
    if (std::filesystem::exists(shell.database())) {
      EXPECT_NE(stopped.err.find(" of 12 runs are finished"), std::string::npos) << stopped.err;
      EXPECT_NE(stopped.err.find("\ncontinue: "), std::string::npos) << stopped.err;
    }
    if (completed_runs(shell) > 0) break;
  }
  EXPECT_GT(completed_runs(shell), 0U);
  EXPECT_LT(completed_runs(shell), 12U);
  const ProgramResult result = gate_in_turn(shell, slow_suite(), slow_suite());
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  expect_each_run_once(shell, 2, 12);
}

TEST(Gate, KilledAgainAndAgainItLosesAndRepeatsNothing) {
  const CommandLine shell("gate_kill");
  int kills = 0;
  bool has_ended = false;
  for (const char* seconds : {"0.5", "0.4", "0.6", "0.5", "0.7"}) {
    const ProgramResult killed = gate_in_turn(shell, slow_suite(), slow_suite(), {},
                                              std::string("timeout --preserve-status -s KILL ") + seconds);
    // It came to its end, or was killed after its last run: the same command would begin a new gate.
    has_ended = killed.exit_code != 137 || completed_runs(shell) == 12;
    if (has_ended) break;
    ++kills;
  }
  EXPECT_GE(kills, 2);
  if (!has_ended) {
    EXPECT_EQ(gate_in_turn(shell, slow_suite(), slow_suite()).exit_code, 0);
  }
  expect_each_run_once(shell, 2, 12);
}

}  // namespace
}  // namespace nanobench::tools

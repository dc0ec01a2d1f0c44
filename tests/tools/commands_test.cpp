// The commands from the outside, with the mock engine: what they print, their exit codes, what they leave behind.
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

constexpr const char* kSuite = R"({"name": "tiny", "title": "A tiny history", "design": "history",
  "records": ["record12", "record13"], "scale": "smoke", "seeds": [1, 2],
  "engine": {"mock": {"loss_sigma": 0.01}}})";
constexpr const char* kFailingSuite = R"({"name": "failing", "design": "history",
  "records": ["record12", "record13"], "scale": "smoke",
  "engine": {"mock": {"cells": {"record13": {"fault": {"kind": "signal", "step": 3}}}}}})";

core::Json json_of(const ProgramResult& result) {
  return core::parse_json(result.out, "stdout");
}

TEST(RunCommand, RunsStoresReportsAndReuses) {
  const CommandLine shell("run");
  shell.write("tiny.json", kSuite);
  const ProgramResult first = shell.run({"run", "tiny.json"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_NE(first.out.find("record13"), std::string::npos) << first.out;
  EXPECT_NE(first.out.find("±"), std::string::npos) << "two seeds have a spread";
  EXPECT_EQ(first.out.find("started"), std::string::npos) << "progress goes to standard error";
  EXPECT_NE(first.err.find("[4/4]"), std::string::npos) << first.err;
  EXPECT_EQ(first.err.find('\x1b'), std::string::npos) << "no escape sequences without a terminal";
  const ProgramResult again = shell.run({"run", "tiny.json"});
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(again.out, first.out) << "the same stored runs give the same report";
  EXPECT_NE(again.err.find("reused"), std::string::npos) << again.err;
  const core::Json runs = json_of(shell.run({"list", "runs", "--json"}));
  EXPECT_EQ(runs.at("tables").at("runs").size(), 4U) << "nothing was run twice";
}

TEST(RunCommand, JsonOnStandardOutputAndQuiet) {
  const CommandLine shell("run_json");
  shell.write("tiny.json", kSuite);
  const ProgramResult result = shell.run({"run", "tiny.json", "--json", "--quiet", "--seeds", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const core::Json json = json_of(result);
  EXPECT_EQ(json.at("schema_version"), 1);
  EXPECT_EQ(json.at("tables").at("rows").size(), 2U);
  EXPECT_TRUE(json.at("tables").at("rows").at(0).at("val_loss").at("sd").is_null()) << "n = 1 has no spread";
}

TEST(RunCommand, AFailedCellIsARowAndExitCode4) {
  const CommandLine shell("run_failed");
  shell.write("failing.json", kFailingSuite);
  const ProgramResult result = shell.run({"run", "failing.json", "--json"});
  EXPECT_EQ(result.exit_code, 4) << result.err;
  const core::Json rows = json_of(result).at("tables").at("rows");
  EXPECT_EQ(rows.at(0).at("n").at("completed"), 1);
  EXPECT_EQ(rows.at(1).at("n").at("completed"), 0);
  EXPECT_NE(rows.at(1).at("changed_remark").get<std::string>().find("crashed"), std::string::npos);
}

TEST(ReportCommand, AllFormatsAndFiles) {
  const CommandLine shell("report");
  shell.write("tiny.json", kSuite);
  ASSERT_EQ(shell.run({"run", "tiny.json", "--quiet"}).exit_code, 0);
  EXPECT_NE(shell.run({"report"}).out.find("record13"), std::string::npos);
  EXPECT_NE(shell.run({"report", "--format", "md"}).out.find("| record13 |"), std::string::npos);
  EXPECT_EQ(shell.run({"report", "--format", "html"}).out.rfind("<!DOCTYPE html>", 0), 0U);
  EXPECT_EQ(shell.run({"report", "--format", "csv"}).out.rfind("row,changed", 0), 0U);
  EXPECT_EQ(json_of(shell.run({"report", "--json"})).at("kind"), "comparison");
  ASSERT_EQ(shell.run({"report", "--out", "r.html"}).exit_code, 0);
  EXPECT_EQ(read_text(shell.work() / "r.html").rfind("<!DOCTYPE html>", 0), 0U);
  const core::Json late = json_of(shell.run({"report", "--json", "--target", "0.5"}));
  EXPECT_EQ(late.at("tables").at("rows").at(0).at("to_target_s").at("reached"), 0);
}

TEST(ShowCommand, RunRecordFeatureScaleAndSuite) {
  const CommandLine shell("show");
  shell.write("tiny.json", kSuite);
  ASSERT_EQ(shell.run({"run", "tiny.json", "--quiet"}).exit_code, 0);
  const core::Json run = json_of(shell.run({"show", "1", "--json"}));
  EXPECT_EQ(run.at("facts").at("run"), 1);
  EXPECT_GT(run.at("tables").at("curve").size(), 2U);
  EXPECT_TRUE(run.at("facts").contains("cpu_model")) << "provenance";
  EXPECT_EQ(json_of(shell.run({"show", "record17", "--json"})).at("kind"), "record");
  EXPECT_EQ(json_of(shell.run({"show", "muon_orthogonalizer", "--json"})).at("tables").at("values").size(), 2U);
  EXPECT_EQ(json_of(shell.run({"show", "nano", "--json"})).at("kind"), "scale");
  EXPECT_EQ(json_of(shell.run({"show", "tiny.json", "--json"})).at("tables").at("cells").size(), 2U);
  EXPECT_EQ(json_of(shell.run({"show", "speedrun_history", "--json"})).at("kind"), "suite");
}

TEST(ShowCommand, ConfigIsWhatTrainReads) {
  const CommandLine shell("show_config");
  const ProgramResult config = shell.run({"show", "record17", "--scale", "nano", "--config"});
  ASSERT_EQ(config.exit_code, 0) << config.err;
  EXPECT_EQ(json_of(config).at("model").at("num_layers"), 12);
  shell.write("c.json", config.out);
  // The mock engine stands in for the real one: everything up to the start of the engine is checked.
  shell.write("engine", std::string("#!/bin/sh\nexec '") + NANOBENCH_BIN_DIR + "/nanobench' mock-engine \"$@\"\n");
  std::filesystem::permissions(shell.work() / "engine", std::filesystem::perms::owner_all);
  const ProgramResult train =
      shell.run({"train", "c.json", "--json"}, "NANOBENCH_ENGINE=" + quoted((shell.work() / "engine").string()));
  ASSERT_EQ(train.exit_code, 0) << train.err;
  EXPECT_EQ(json_of(train).at("facts").at("outcome"), "completed");
  EXPECT_NE(train.err.find("val loss"), std::string::npos);
}

TEST(ListCommand, ClaimsWithWhatMeasuresThem) {
  const CommandLine shell("list_claims");
  const core::Json json = json_of(shell.run({"list", "claims", "--json"}));
  EXPECT_EQ(json.at("schema_version"), 1);
  const core::Json& claims = json.at("tables").at("claims");
  ASSERT_GE(claims.size(), 60U);
  for (const char* key : {"claim", "seed", "statement", "measured_by", "published"}) {
    EXPECT_TRUE(claims.at(0).at(key).is_string()) << key;
  }
  const ProgramResult text = shell.run({"list", "claims"}, "COLUMNS=160");
  EXPECT_NE(text.out.find("tokens_per_second"), std::string::npos);
  EXPECT_NE(text.out.find("contradicted"), std::string::npos);
}

TEST(ShowCommand, OneClaimWhole) {
  const CommandLine shell("show_claim");
  const core::Json facts = json_of(shell.run({"show", "seed000_throughput_2_1_times", "--json"})).at("facts");
  EXPECT_EQ(facts.at("record"), 16);
  EXPECT_EQ(facts.at("quantity").at("value"), 2.1);
  EXPECT_EQ(facts.at("measure").at("after").at("record"), "record16");
  EXPECT_EQ(facts.at("rule").at("of"), "after/before");
  EXPECT_EQ(facts.at("published_verdict"), "contradicted");
  const ProgramResult none = shell.run({"show", "seed000_type_hints_improved"});
  EXPECT_NE(none.out.find("why not"), std::string::npos) << none.out;
  const ProgramResult config = shell.run({"show", "seed000_type_hints_improved", "--config"});
  EXPECT_EQ(config.exit_code, 2);
  EXPECT_NE(config.err.find("a claim has no configuration"), std::string::npos) << config.err;
}

TEST(ListCommand, KindsAndJson) {
  const CommandLine shell("list");
  EXPECT_GT(json_of(shell.run({"list", "features", "--json"})).at("tables").at("features").size(), 5U);
  EXPECT_GT(json_of(shell.run({"list", "records", "--json"})).at("tables").at("records").size(), 5U);
  EXPECT_GT(json_of(shell.run({"list", "scales", "--json"})).at("tables").at("scales").size(), 2U);
  EXPECT_GT(json_of(shell.run({"list", "suites", "--json"})).at("tables").at("suites").size(), 0U);
  EXPECT_EQ(json_of(shell.run({"list", "--json"})).at("tables").size(), 4U);
}

TEST(DataCommand, PrepareAndInfo) {
  const CommandLine shell("data");
  std::string text;
  for (int i = 0; i < 200; ++i) text += "Line " + std::to_string(i) + " of a text that is long enough.\n\n";
  shell.write("a.txt", text);
  const ProgramResult prepared =
      shell.run({"data", "prepare", "--text", "a.txt", "--out", "set", "--documents", "blank-line", "--json"});
  ASSERT_EQ(prepared.exit_code, 0) << prepared.err;
  const core::Json facts = json_of(prepared).at("facts");
  EXPECT_EQ(facts.at("vocab_size"), 257);
  EXPECT_GE(facts.at("train_tokens").get<std::int64_t>() + facts.at("val_tokens").get<std::int64_t>(),
            static_cast<std::int64_t>(text.size()));
  EXPECT_EQ(json_of(shell.run({"data", "info", "set", "--json"})).at("facts").at("digest"), facts.at("digest"));
  const core::Json shard = json_of(shell.run({"data", "info", "set/train_000000.bin", "--json"}));
  EXPECT_EQ(shard.at("facts").at("tokens"), facts.at("train_tokens"));
}

TEST(DoctorCommand, SaysWhatIsMissing) {
  const CommandLine shell("doctor");
  const ProgramResult result = shell.run({"doctor", "--json"}, "NANOBENCH_ENGINE=/nowhere/nanobench-train");
  EXPECT_EQ(result.exit_code, 2);
  bool is_engine_missing = false;
  const core::Json json = json_of(result);
  for (const core::Json& check : json.at("tables").at("checks")) {
    if (check.at("check") == "engine") is_engine_missing = check.at("status") == "missing";
  }
  EXPECT_TRUE(is_engine_missing) << result.out;
}

}  // namespace
}  // namespace nanobench::tools

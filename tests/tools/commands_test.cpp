// The commands from the outside, with the mock engine: what they print, their exit codes, what they leave behind.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/json.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

constexpr const char* kCommandsSuite = R"({"name": "tiny", "title": "A tiny history", "design": "history",
  "records": ["record12", "record13"], "scale": "smoke", "seeds": [1, 2],
  "engine": {"mock": {"loss_sigma": 0.01}}})";
constexpr const char* kFailingSuite = R"({"name": "failing", "design": "history",
  "records": ["record12", "record13"], "scale": "smoke",
  "engine": {"mock": {"cells": {"record13": {"fault": {"kind": "signal", "step": 3}}}}}})";

TEST(RunCommand, RunsStoresReportsAndReuses) {
  const CommandLine shell("run");
  shell.write("tiny.json", kCommandsSuite);
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
  shell.write("tiny.json", kCommandsSuite);
  const ProgramResult result = shell.run({"run", "tiny.json", "--json", "--quiet", "--seeds", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const core::Json json = json_of(result);
  EXPECT_EQ(json.at("schema_version"), 2);
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
  shell.write("tiny.json", kCommandsSuite);
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
  shell.write("tiny.json", kCommandsSuite);
  ASSERT_EQ(shell.run({"run", "tiny.json", "--quiet"}).exit_code, 0);
  const core::Json run = json_of(shell.run({"show", "1", "--json"}));
  EXPECT_EQ(run.at("facts").at("run"), 1);
  EXPECT_GT(run.at("tables").at("curve").size(), 2U);
  EXPECT_TRUE(run.at("facts").contains("cpu_model")) << "provenance";
  EXPECT_EQ(json_of(shell.run({"show", "record17", "--json"})).at("kind"), "record");
  EXPECT_EQ(json_of(shell.run({"show", "muon_orthogonalizer", "--json"})).at("tables").at("values").size(), 3U);
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

TEST(ShowCommand, SettingsOfARecord) {
  const CommandLine shell("show_set");
  const ProgramResult config = shell.run({"show", "record17", "--scale", "nano", "--set", "logit_softcap=off", "--set",
                                          "rotary=full_10000", "--processes", "2", "--config"});
  ASSERT_EQ(config.exit_code, 0) << config.err;
  const core::Json json = json_of(config);
  EXPECT_TRUE(json.at("model").at("logit_softcap").is_null());
  EXPECT_EQ(json.at("model").at("rope").at("base"), 10000);
  EXPECT_EQ(json.at("distributed").at("processes"), 2);
  EXPECT_EQ(json.at("data").at("ranks"), 2);
  const ProgramResult pulled = shell.run({"show", "record13", "--set", "window_granularity=block", "--config"});
  EXPECT_NE(pulled.err.find("window_warmup is set too"), std::string::npos) << pulled.err;
  const core::Json report = json_of(shell.run({"show", "record17", "--set", "logit_softcap=off", "--json"}));
  bool is_shown = false;
  for (const core::Json& row : report.at("tables").at("features")) {
    if (row.at("feature") == "logit_softcap") is_shown = row.at("value") == "off";
  }
  EXPECT_TRUE(is_shown);
}

TEST(DiffCommand, OfRecords) {
  const CommandLine shell("diff");
  const core::Json json = json_of(shell.run({"diff", "record16", "record17", "--json"}));
  EXPECT_EQ(json.at("schema_version"), 2);
  EXPECT_EQ(json.at("kind"), "difference");
  const core::Json& features = json.at("tables").at("features");
  const auto item = std::find_if(features.begin(), features.end(),
                                 [](const core::Json& row) { return row.at("feature") == "value_embeddings"; });
  ASSERT_NE(item, features.end());
  EXPECT_EQ(item->at("a"), "mirrored_6");
  EXPECT_EQ(item->at("b"), "sparse_3");
  EXPECT_TRUE(json.at("tables").at("settings").empty()) << "the features explain everything";
  EXPECT_NE(shell.run({"diff", "record16", "record17"}).out.find("mirrored_6"), std::string::npos);
  EXPECT_NE(shell.run({"diff", "record17", "record17"}).out.find("compute the same"), std::string::npos);
}

TEST(DiffCommand, OfStoredRuns) {
  const CommandLine shell("diff_runs");
  shell.write("loo.json", R"({"name": "loo", "design": "leave_one_out", "base": {"record": "record17"},
      "features": ["attention_skip"], "scale": "smoke", "seeds": [1, 2], "engine": {"mock": {}}})");
  ASSERT_EQ(shell.run({"run", "loo.json", "--quiet"}).exit_code, 0);
  std::string base;
  std::string variant;
  std::string other_seed;
  const core::Json runs = json_of(shell.run({"list", "runs", "--json"}));
  for (const core::Json& run : runs.at("tables").at("runs")) {
    const std::string id = std::to_string(run.at("run").get<int>());
    if (run.at("cell") == "record17") (run.at("seed") == 1 ? base : other_seed) = id;
    if (run.at("cell") == "without attention_skip" && run.at("seed") == 1) variant = id;
  }
  const core::Json json = json_of(shell.run({"diff", base, variant, "--json"}));
  ASSERT_EQ(json.at("tables").at("features").size(), 1U) << json.dump(2);
  EXPECT_EQ(json.at("tables").at("features").at(0).at("feature"), "attention_skip");
  EXPECT_TRUE(json.at("tables").at("settings").empty()) << json.at("tables").at("settings").dump(2);
  EXPECT_TRUE(json.at("warnings").empty());
  const core::Json seeds = json_of(shell.run({"diff", base, other_seed, "--json"}));
  EXPECT_TRUE(seeds.at("tables").at("features").empty());
  ASSERT_EQ(seeds.at("tables").at("circumstances").size(), 1U);
  EXPECT_EQ(seeds.at("tables").at("circumstances").at(0).at("what"), "seed");
  const core::Json mixed = json_of(shell.run({"diff", "record16", variant, "--json"}));
  EXPECT_EQ(mixed.at("tables").at("circumstances").at(0).at("what"), "record")
      << "the record stands at the run's scale";
  EXPECT_TRUE(mixed.at("tables").at("settings").empty()) << mixed.at("tables").at("settings").dump(2);
}

constexpr const char* kNotApplicable = R"({"id": "guards", "title": "Compiler guards", "introduced": {"record": 16},
    "changes": [{"record": 16, "id": "skip-guard-eval"}], "kind": "systems",
    "not_applicable": "Nothing here is compiled at run time.", "text": "Guards are not evaluated."})";

TEST(ListCommand, MarksWhatIsNotApplicable) {
  const CommandLine shell("not_applicable");
  std::filesystem::create_directories(shell.work() / "mine" / "features");
  shell.write("mine/features/guards.json", kNotApplicable);
  const core::Json json = json_of(shell.run({"list", "features", "--json", "--catalogue", "mine"}));
  bool is_marked = false;
  for (const core::Json& row : json.at("tables").at("features")) {
    if (row.at("feature") == "guards") is_marked = row.at("not_applicable") == "Nothing here is compiled at run time.";
    if (row.at("feature") == "rotary") {
      EXPECT_TRUE(row.at("not_applicable").is_null());
    }
  }
  EXPECT_TRUE(is_marked);
  EXPECT_NE(shell.run({"list", "features", "--catalogue", "mine"}).out.find("not applicable"), std::string::npos);
  const ProgramResult shown = shell.run({"show", "guards", "--catalogue", "mine"});
  EXPECT_NE(shown.out.find("Nothing here is compiled at run time."), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("#16 skip-guard-eval"), std::string::npos) << shown.out;
  const ProgramResult set = shell.run({"show", "record17", "--set", "guards=on", "--config", "--catalogue", "mine"});
  EXPECT_EQ(set.exit_code, 2);
  EXPECT_NE(set.err.find("guards cannot be set: Nothing here is compiled at run time."), std::string::npos) << set.err;
}

constexpr const char* kIdea = R"({"id": "lower_cap", "title": "A lower cap", "values": {
    "usual": {"model": {"logit_softcap": 15}}, "low": {"model": {"logit_softcap": 10}}},
    "before": "usual", "after": "low", "kind": "numerics", "text": "Logits are capped lower."})";

/// Somebody's own feature: one file, and everything that takes a feature takes it.
TEST(ListCommand, AnIdeaOfNoRecordAndNoAnalysisIsAFeatureLikeAnother) {
  const CommandLine shell("idea");
  std::filesystem::create_directories(shell.work() / "mine" / "features");
  shell.write("mine/features/lower_cap.json", kIdea);
  const core::Json list = json_of(shell.run({"list", "features", "--json", "--catalogue", "mine"}));
  const core::Json& rows = list.at("tables").at("features");
  EXPECT_TRUE(
      std::any_of(rows.begin(), rows.end(), [](const core::Json& row) { return row.at("feature") == "lower_cap"; }));
  const core::Json shown = json_of(shell.run({"show", "lower_cap", "--json", "--catalogue", "mine"}));
  EXPECT_TRUE(shown.at("facts").at("introduced_record").is_null());
  EXPECT_FALSE(shown.at("facts").contains("analyses"));
  EXPECT_EQ(shell.run({"show", "lower_cap", "--catalogue", "mine"}).exit_code, 0);
  const std::vector<std::string> ablate = {"ablate",     "--base",           "record:17", "--design",    "add_one_in",
                                           "--features", "lower_cap,rotary", "--scale",   "smoke",       "--seeds",
                                           "3",          "--threads",        "1",         "--catalogue", "mine",
                                           "--engine",   R"({"steps": 6})"};
  ASSERT_EQ(shell.run(ablate).exit_code, 0) << shell.run(ablate).err;
  const core::Json report = json_of(shell.run({"report", "--json"}));
  EXPECT_EQ(report.at("tables").at("effects").at(0).at("effect"), "lower_cap");
}

TEST(ListCommand, ClaimsWithWhatMeasuresThem) {
  const CommandLine shell("list_claims");
  const core::Json json = json_of(shell.run({"list", "claims", "--json"}));
  EXPECT_EQ(json.at("schema_version"), 2);
  const core::Json& claims = json.at("tables").at("claims");
  ASSERT_GE(claims.size(), 60U);
  for (const char* key : {"claim", "analysis", "statement", "measured_by", "published"}) {
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

TEST(DataCommand, ATextIsReadInPieces) {
  const CommandLine shell("big_text");
  std::string text;
  while (text.size() < (1U << 20)) text += "Line " + std::to_string(text.size()) + " of a long text.\n";
  {
    std::ofstream out(shell.work() / "big.txt", std::ios::binary);
    for (int i = 0; i < 150; ++i) out << text;
  }
  const std::string with_little_memory = "sh -c 'ulimit -d 32768 && exec \"$@\"' sh";  // 32 MiB
  const ProgramResult prepared =
      shell.run({"data", "prepare", "--text", "big.txt", "--out", "set"}, with_little_memory);
  EXPECT_EQ(prepared.exit_code, 0) << prepared.err;
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
  const auto& checks = json.at("tables").at("checks");
  const auto kernels =
      std::find_if(checks.begin(), checks.end(), [](const auto& check) { return check.at("check") == "kernels"; });
  ASSERT_NE(kernels, checks.end());
  EXPECT_EQ(kernels->at("found"),
            "CPU: blocks, attention, head, adam, muon; GPU: embeddings, blocks, attention, head, adam, muon");
}

TEST(DoctorCommand, ReadsWhatTheEngineIs) {
  const CommandLine shell("doctor_engine");
  const auto engine_and_torch = [&](const std::string& script) {
    shell.write("engine", "#!/bin/sh\n" + script);
    std::filesystem::permissions(shell.work() / "engine", std::filesystem::perms::owner_all);
    const ProgramResult result =
        shell.run({"doctor", "--json"}, "NANOBENCH_ENGINE=" + (shell.work() / "engine").string());
    std::map<std::string, core::Json> rows;
    const core::Json document = core::Json::parse(result.out);
    for (const core::Json& row : document.at("tables").at("checks")) rows[row.at("check")] = row;
    return std::pair(rows.at("engine"), rows.at("libtorch"));
  };
  const auto [engine, torch] = engine_and_torch(
      R"([ "$1" = --build-info ] && echo '{"version": "9.8", "libtorch": "7.6.5", "cpu_capability": "AVX9"}')");
  EXPECT_EQ(engine.at("status"), "ok") << engine;
  EXPECT_EQ(engine.at("found"), "engine 9.8, AVX9");
  EXPECT_EQ(torch.at("found"), "7.6.5");
  for (const char* other : {"echo nanobench-train 1.0, LibTorch 2", "echo '[1]'", "exit 0"}) {
    const auto [unknown, its_torch] = engine_and_torch(other);
    EXPECT_EQ(unknown.at("status"), "missing") << other;
    EXPECT_NE(unknown.at("found").get<std::string>().find("does not describe itself"), std::string::npos) << unknown;
    EXPECT_EQ(its_torch.at("status"), "missing") << other;
  }
}

/// The file alone says nothing: a library that the plugin needs may be missing.
TEST(DoctorCommand, LetsTheEngineLoadTheGpuPlugin) {
  const CommandLine shell("doctor_plugin");
  shell.write("libnanobench_cuda.so", "");
  const auto plugin = [&](const std::string& answer) {
    shell.write("engine", "#!/bin/sh\n[ \"$1\" = --plugin-info ] && { " + answer + "; }\n");
    std::filesystem::permissions(shell.work() / "engine", std::filesystem::perms::owner_all);
    const ProgramResult result =
        shell.run({"doctor", "--json"}, "NANOBENCH_ENGINE=" + (shell.work() / "engine").string());
    core::Json found;
    const core::Json document = core::Json::parse(result.out);
    for (const core::Json& row : document.at("tables").at("checks"))
      if (row.at("check") == "gpu_plugin") found = row;
    return found;
  };
  EXPECT_EQ(plugin("echo '{}'; exit 0").at("status"), "ok");
  const core::Json broken = plugin("echo 'cannot load it: libcufile.so.0 is missing' >&2; exit 1");
  EXPECT_EQ(broken.at("status"), "absent");
  EXPECT_NE(broken.at("found").get<std::string>().find("does not load: cannot load it: libcufile.so.0 is missing"),
            std::string::npos)
      << broken;
}

/// What is found of each check of the machine's GPUs, with these lines as the driver's answers.
std::map<std::string, std::string> found_by_doctor(const CommandLine& shell, const std::string& answers,
                                                   const std::string& library) {
  const std::string file = shell.write("nvml.txt", answers).string();
  const ProgramResult result =
      shell.run({"doctor", "--json"}, "NANOBENCH_NVML=" + library + " NANOBENCH_FAKE_NVML=" + file);
  std::map<std::string, std::string> found;
  const core::Json json = json_of(result);
  for (const core::Json& check : json.at("tables").at("checks"))
    found[check.at("check").get<std::string>() + " " + check.at("status").get<std::string>()] = check.at("found");
  return found;
}

TEST(DoctorCommand, ListsGpusAndTheirDriver) {
  const CommandLine shell("doctor_gpu");
  const std::string library = std::string(NANOBENCH_BIN_DIR) + "/fake_nvml.so";
  const auto found =
      found_by_doctor(shell,
                      "driver 570.86.15\ncuda 12080\ngpus 2\ngpu.0.name NVIDIA H100\n"
                      "gpu.0.memory 85899345920 0\ngpu.0.power_limit_mw 700000\ngpu.0.processes 1:5 2:?\n"
                      "gpu.0.max_sm_clock 1980\ngpu.0.persistence 0\ngpu.1.name NVIDIA\x1b[31m A100\n"
                      "gpu.1.mig 1\n",
                      library);
  EXPECT_NE(found.at("nvidia_driver ok").find("570.86.15"), std::string::npos);
  EXPECT_NE(found.at("nvidia_driver ok").find("CUDA 12.8 and older: too old for LibTorch"), std::string::npos);
  EXPECT_EQ(found.at("gpu_0 ok"),
            "NVIDIA H100, 80.0 GiB, limit 700 W, up to 1980 MHz, persistence mode off: its first use is slow, in use "
            "by 2 processes: times are doubtful");
  EXPECT_EQ(found.at("gpu_1 ok").find('\x1b'), std::string::npos) << found.at("gpu_1 ok");
  EXPECT_NE(found.at("gpu_1 ok").find("MIG"), std::string::npos);
  const auto newer = found_by_doctor(shell, "driver 580.65.06\ncuda 13000\ngpus 1\n", library);
  EXPECT_EQ(newer.at("nvidia_driver ok"), "580.65.06, runs programs for CUDA 13.0 and older");
}

TEST(DoctorCommand, SaysWhyThereIsNoGpu) {
  const CommandLine shell("doctor_no_gpu");
  EXPECT_NE(
      found_by_doctor(shell, "", "/no/libnvidia-ml.so.1").at("nvidia_driver absent").find("/no/libnvidia-ml.so.1"),
      std::string::npos);
  const std::string library = std::string(NANOBENCH_BIN_DIR) + "/fake_nvml.so";
  EXPECT_EQ(found_by_doctor(shell, "init 9\n", library).at("nvidia_driver absent"),
            "NVML does not start: Driver Not Loaded");
}

}  // namespace
}  // namespace nanobench::tools

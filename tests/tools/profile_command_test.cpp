// `nanobench profile` with an engine that writes a profile known beforehand.
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/base/step_profile.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

core::StepProfile sample_profile() {
  core::StepProfile profile{.steps = 2, .steps_ms = 20, .other_ms = 1};
  profile.phases = {{.phase = "forward", .total_ms = 12, .self_ms = 2, .flops = 4e9, .bytes = 1e6},
                    {.phase = "optimizer", .total_ms = 7, .self_ms = 0, .flops = 0, .bytes = 0}};
  profile.ops = {{"forward", "attention", 24, 10, 10, 4e9, 1e6}, {"optimizer", "adam", 2, 7, 7, 0, 0}};
  profile.sgemm_gflops = 400;
  return profile;
}

/// The mock engine, which writes `text` where it is asked for a profile. Returns NANOBENCH_ENGINE=...
std::string engine_that_writes(const CommandLine& shell, const std::string& text) {
  shell.write("profile.text", text);
  const std::string copy = text.empty() ? ""
                                        : "file=$(sed -n 's/.*\"profile_file\":\"\\([^\"]*\\)\".*/\\1/p' \"$2\")\n"
                                          "cp " +
                                              quoted((shell.work() / "profile.text").string()) + " \"$file\"\n";
  const auto script =
      shell.write("engine", "#!/bin/sh\n" + copy + "cp \"$2\" " + quoted((shell.work() / "spec.json").string()) +
                                "\nexec '" + NANOBENCH_BIN_DIR + "/nanobench' mock-engine \"$@\"\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  return "NANOBENCH_ENGINE=" + quoted(script.string());
}

std::string sample_trace() {
  return core::chrome_trace({}, {}, "engine", sample_profile());
}

TEST(ProfileCommand, PrintsPhasesAndOps) {
  const CommandLine shell("profile");
  const ProgramResult result =
      shell.run({"profile", "record17", "--scale", "smoke"}, engine_that_writes(shell, sample_trace()));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"Profile of", "forward", "attention", "adam", "60.0 %", "50.0 %", "400.0", "share of sgemm"})
    EXPECT_NE(result.out.find(part), std::string::npos) << part << " is not in\n" << result.out;
  EXPECT_LT(result.out.find("attention"), result.out.find("adam")) << "longest first";
  EXPECT_NE(result.out.find("profile record17 --scale smoke --trace trace.json"), std::string::npos)
      << "the same steps again: " << result.out;
}

TEST(ProfileCommand, JsonAndTrace) {
  const CommandLine shell("profile_json");
  const ProgramResult result =
      shell.run({"profile", "record17", "--scale", "smoke", "--json", "--quiet", "--trace", "t.json"},
                engine_that_writes(shell, sample_trace()));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const core::Json json = core::parse_json(result.out, "stdout");
  EXPECT_EQ(json.at("kind"), "profile");
  EXPECT_EQ(json.at("facts").at("steps"), 2);
  EXPECT_DOUBLE_EQ(json.at("facts").at("step_ms").get<double>(), 10);
  EXPECT_DOUBLE_EQ(json.at("facts").at("gflops").get<double>(), 200);
  EXPECT_DOUBLE_EQ(json.at("facts").at("share_of_sgemm").get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(json.at("facts").at("unaccounted_ms").get<double>(), 1.5);
  const core::Json& op = json.at("tables").at("ops").at(0);
  EXPECT_EQ(op.at("op"), "attention");
  EXPECT_DOUBLE_EQ(op.at("calls").get<double>(), 12);
  EXPECT_DOUBLE_EQ(op.at("self_ms").get<double>(), 5);
  EXPECT_DOUBLE_EQ(op.at("gflops").get<double>(), 400);
  EXPECT_DOUBLE_EQ(op.at("share").get<double>(), 0.5);
  EXPECT_TRUE(json.at("tables").at("ops").at(1).at("gflops").is_null()) << "no FLOPs counted is no rate of 0";
  EXPECT_EQ(read_text(shell.work() / "t.json"), sample_trace());
}

TEST(ProfileCommand, CompressesTheScheduleIntoTheSteps) {
  const CommandLine shell("profile_steps");
  const ProgramResult result = shell.run({"profile", "record17", "--scale", "smoke", "--set", "logit_softcap=off",
                                          "--steps", "5", "--threads", "1", "--quiet"},
                                         engine_that_writes(shell, sample_trace()));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const core::Json spec = core::read_json_file(shell.work() / "spec.json");
  EXPECT_EQ(spec.at("threads"), 1);
  const core::Json& config = spec.at("config");
  EXPECT_EQ(config.at("schedule").at("num_steps"), 7) << "two unwatched ones before";
  EXPECT_EQ(config.at("run").at("stop_after"), 7);
  EXPECT_EQ(config.at("run").at("untimed_steps"), 2);
  EXPECT_EQ(config.at("run").at("val_every"), 7);
  EXPECT_TRUE(config.at("model").at("logit_softcap").is_null());
}

/// The official configuration names token 50256, which the generated text has not: all of it would be one document.
TEST(ProfileCommand, GeneratedTextHasDocumentsWhateverTheConfigurationsSeparator) {
  for (const char* command : {"profile", "train"}) {
    const CommandLine shell(std::string(command) + "_separator");
    shell.write("c.json", shell.run({"show", "record17", "--scale", "official_brief", "--config"}).out);
    const ProgramResult result = shell.run({command, "c.json", "--quiet"}, engine_that_writes(shell, sample_trace()));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const core::Json spec = core::read_json_file(shell.work() / "spec.json");
    const std::filesystem::path shard = spec.at("train_shards").at(0).get<std::string>();
    const core::Json data = core::read_json_file(shard.parent_path() / "meta.json");
    EXPECT_EQ(spec.at("config").at("attention").at("document_separator"), data.at("separator")) << command;
  }
}

TEST(ProfileCommand, OfAConfigurationFile) {
  const CommandLine shell("profile_file");
  shell.write("c.json", shell.run({"show", "record13", "--scale", "smoke", "--config"}).out);
  const ProgramResult result = shell.run({"profile", "c.json"}, engine_that_writes(shell, sample_trace()));
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

struct BadProfile {
  const char* name;
  std::vector<std::string> arguments;
  std::vector<std::string> says;

  friend void PrintTo(const BadProfile& item, std::ostream* out) { *out << item.name; }
};

class BadProfileTest : public testing::TestWithParam<BadProfile> {};

TEST_P(BadProfileTest, IsOneSentenceAndExitCode2) {
  const CommandLine shell(std::string("bad_profile_") + GetParam().name);
  shell.write("c.json", "{}");
  shell.write("small.json", R"({"model": {"vocab_size": 100}, "attention": {"document_separator": 0}})");
  std::vector<std::string> arguments = {"profile"};
  arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
  const ProgramResult result = shell.run(arguments, "NANOBENCH_ENGINE=/bin/true");
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_EQ(result.out, "");
  for (const std::string& part : GetParam().says)
    EXPECT_NE(result.err.find(part), std::string::npos) << part << " is not in: " << result.err;
}

const BadProfile kBadProfiles[] = {
    {"name", {"recrod17"}, {"recrod17", "record17"}},
    {"scale", {"record17", "--scale", "nanoo"}, {"nanoo", "nano"}},
    {"scale_of_a_file", {"c.json", "--scale", "nano"}, {"c.json is a configuration file", "--scale"}},
    {"steps_none", {"record17", "--steps", "0"}, {"--steps"}},
    {"steps_many", {"record17", "--steps", "65"}, {"--steps"}},
    {"trace", {"record17", "--trace", "no/where/t.json"}, {"--trace no/where/t.json"}},
    {"vocabulary", {"small.json"}, {"257 tokens", "/model/vocab_size is 100"}},
};

INSTANTIATE_TEST_SUITE_P(Table, BadProfileTest, testing::ValuesIn(kBadProfiles),
                         [](const auto& case_info) { return std::string(case_info.param.name); });

TEST(BadProfiler, AnEngineWithoutAProfileIsSaid) {
  const CommandLine shell("profile_none");
  ProgramResult result =
      shell.run({"profile", "record17", "--scale", "smoke", "--quiet"}, engine_that_writes(shell, ""));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("the engine wrote no profile"), std::string::npos) << result.err;
  result = shell.run({"profile", "record17", "--scale", "smoke", "--quiet"}, engine_that_writes(shell, "{}"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("no summary"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace nanobench::tools

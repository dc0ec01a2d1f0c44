#include "suites/design/suite.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "core/base/error.h"
#include "tests/suites/design/design_support.h"

namespace nanobench::suites {
namespace {

using core::Json;

Json suite_history() {
  return {{"name", "s"}, {"design", "history"}, {"records", {"record12", "record13"}}};
}

Json leave_one_out() {
  return {{"name", "s"}, {"design", "leave_one_out"}, {"base", {{"record", "record17"}}}};
}

/// The message with which `json` is refused.
std::string suite_refusal(const Json& json) {
  try {
    read_suite(json, "s.json");
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kInvalidArgument) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << json;
  return "";
}

TEST(Suite, ManySeedsAreRead) {
  Json suite = suite_history();
  suite["seeds"] = Json::array();
  for (int seed = 0; seed < 300'000; ++seed) suite["seeds"].push_back(seed);
  EXPECT_EQ(read_suite(suite, "s.json").seeds.size(), 300'000U);
  suite["seeds"].push_back(299'999);
  EXPECT_NE(suite_refusal(suite).find("the seed 299999 appears twice"), std::string::npos);
}

Json of_design(const std::string& design) {
  return with(leave_one_out(), "design", design);
}

TEST(Suite, NamesWhatItsRunsEvaluate) {
  Json suite = suite_history();
  suite["run"] = {{"evaluations",
                   {"generated",
                    "sets/HellaSwag-val.bin",
                    {{"task", "val.jsonl"}, {"name", "lines"}, {"limit", 100}, {"vocabulary", "gpt2"}}}}};
  const std::vector<EvaluationRequest> requests = read_suite(suite, "s.json").evaluations;
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0], (EvaluationRequest{.name = "generated", .file = "", .items = 400, .vocabulary = ""}));
  EXPECT_EQ(requests[1].name, "hellaswag_val");
  EXPECT_EQ(requests[1].items, 0U) << "all of them";
  EXPECT_EQ(requests[2], (EvaluationRequest{.name = "lines", .file = "val.jsonl", .items = 100, .vocabulary = "gpt2"}));
  EXPECT_EQ(relative_to(requests[2], "/data").file, "/data/val.jsonl");
  EXPECT_EQ(parse_evaluation("generated:7", "--task").items, 7U);
  const auto refused = [&](const Json& evaluations) {
    suite["run"] = {{"evaluations", evaluations}};
    return suite_refusal(suite);
  };
  EXPECT_NE(refused({"generated:0"}).find("/run/evaluations/0: expected 1 to 65535"), std::string::npos);
  EXPECT_NE(refused({"a.bin", "b/a.bin"}).find("/run/evaluations/1: the name a appears twice"), std::string::npos);
  EXPECT_NE(refused({{{"task", "a.bin"}, {"name", "A b"}}}).find("/run/evaluations/0/name"), std::string::npos);
  EXPECT_NE(refused({{{"task", "a.bin"}, {"limits", 3}}}).find("limit"), std::string::npos);
  EXPECT_NE(refused("generated").find("expected a list"), std::string::npos);
  suite["engine"] = {{"mock", Json::object()}};
  EXPECT_NE(refused({"generated"}).find("mock engine"), std::string::npos);
}

TEST(Suite, HasDefaults) {
  const Suite suite = read_suite(suite_history(), "s.json");
  EXPECT_EQ(suite.name, "s");
  EXPECT_EQ(suite.title, "s");
  EXPECT_EQ(suite.design, Design::kHistory);
  EXPECT_EQ(suite.records.size(), 2u);
  EXPECT_EQ(suite.scale, "nano");
  EXPECT_EQ(suite.seeds, std::vector<std::uint64_t>{1});
  EXPECT_EQ(suite.data, DataRequest{});
  EXPECT_TRUE(suite.mock.is_null());
  EXPECT_FALSE(suite.target.has_value());
}

TEST(Suite, ReadsEveryKey) {
  Json json = leave_one_out();
  json["$schema"] = "suite.schema.json";
  json["title"] = "T";
  json["text"] = "why";
  json["base"]["features"] = {{"qk_norm", "off"}};
  json["base"]["patch"] = {{"run", {{"val_every", 10}}}};
  json["base"]["ranks"] = 4;
  json["base"]["processes"] = 2;
  json["features"] = {"rotary", {{"id", "logit_softcap"}, {"value", "off"}}};
  json["inline_features"] = Json::array({Json::object({{"id", "x"}})});
  json["scale"] = "smoke";
  json["seeds"] = {3, 1};
  json["data"] = "text:a.txt,b.txt";
  json["dtype"] = "float64";
  json["threads"] = 2;
  json["order_seed"] = 9;
  json["target"] = 3.28;
  json["limits"] = {{"seconds_per_run", 5}, {"silence_seconds", 2.5}};
  json["engine"] = {{"mock", {{"steps", 3}}}};
  json["run"] = {{"keep_weights", "all"}};
  const Suite suite = read_suite(json, "s.json");
  EXPECT_EQ(suite.base_record, "record17");
  EXPECT_EQ(suite.base_features.at("qk_norm"), "off");
  EXPECT_EQ(suite.base_patch.at("run").at("val_every"), 10);
  EXPECT_EQ(suite.ranks, 4);
  EXPECT_EQ(suite.processes, 2);
  ASSERT_EQ(suite.features.size(), 2u);
  EXPECT_EQ(suite.features[0].id, "rotary");
  EXPECT_EQ(suite.features[1].value, "off");
  EXPECT_EQ(suite.inline_features.size(), 1u);
  EXPECT_EQ(suite.seeds, (std::vector<std::uint64_t>{3, 1}));
  EXPECT_EQ(suite.order_seed, 9u);
  EXPECT_EQ(suite.target, 3.28);
  EXPECT_EQ(suite.limits.silence_seconds, 2.5);
  EXPECT_EQ(suite.mock.at("steps"), 3);
  EXPECT_EQ(suite.keep_weights, results::KeepWeights::kAll);
}

TEST(Suite, AHistoryHasRanksAndProcessesInItsBaseAndNothingElse) {
  EXPECT_EQ(read_suite(with(suite_history(), "base", {{"processes", 2}}), "s.json").processes, 2);
  const std::string message = suite_refusal(with(suite_history(), "base", {{"record", "record17"}}));
  EXPECT_NE(message.find("s.json: /base/record"), std::string::npos) << message;
}

TEST(Suite, RefusesRanksThatDoNotDivideAmongTheProcesses) {
  const std::string message = suite_refusal(with(suite_history(), "base", {{"processes", 2}, {"ranks", 3}}));
  EXPECT_NE(message.find("s.json: /base/ranks"), std::string::npos) << message;
  EXPECT_NE(suite_refusal(with(suite_history(), "base", {{"processes", 0}})).find("/base/processes"),
            std::string::npos);
}

TEST(Suite, RanksOfTheCommandLineReplaceThoseOfTheFileTogether) {
  const Suite file = read_suite(with(suite_history(), "base", {{"processes", 2}, {"ranks", 4}}), "s.json");
  EXPECT_EQ(with_overrides(file, {}).ranks, 4);
  const Suite three = with_overrides(file, {.processes = 3});
  EXPECT_EQ(three.processes, 3);
  EXPECT_FALSE(three.ranks.has_value()) << "4 ranks would not divide among 3 processes";
}

TEST(Suite, NamesTheNearestKey) {
  const std::string message = suite_refusal(with(suite_history(), "sceds", {1}));
  EXPECT_NE(message.find("s.json: /sceds"), std::string::npos) << message;
  EXPECT_NE(message.find("did you mean \"seeds\""), std::string::npos) << message;
}

TEST(Suite, SaysWhereSomethingIsWrong) {
  const std::vector<std::pair<Json, std::string>> cases = {
      {Json::array(), "s.json: /: expected an object"},
      {Json{{"name", "x"}, {"design", "history"}, {"recods", {"record12"}}},
       "/recods: unknown key (did you mean \"records\"?)"},
      {Json{{"design", "history"}}, "the key \"name\" is missing"},
      {with(suite_history(), "design", "histroy"), "/design: expected"},
      {with(suite_history(), "design", "histroy"), "did you mean \"history\""},
      {with(suite_history(), "records", Json::array()), "/records"},
      {with(suite_history(), "records", {"record12", "record12"}), "twice"},
      {with(suite_history(), "records", {12}), "/records: expected a list of strings"},
      {with(suite_history(), "features", {"rotary"}), "/features: unknown key"},
      {with(leave_one_out(), "records", {"record12"}), "/records: unknown key"},
      {with(leave_one_out(), "base", "record17"), "/base: expected an object"},
      {with(leave_one_out(), "features", {{{"id", "rotary"}}}), "/features/0: the key \"value\" is missing"},
      {with(leave_one_out(), "features", "rotary"), "/features: expected a list"},
      {with(leave_one_out(), "features", {"rotary", "rotary"}), "/features: rotary appears twice"},
      {with(leave_one_out(), "features", {{{"id", "a"}, {"values", {"x", "y"}}}}), "/features/0: the key \"value\""},
      {with(of_design("factorial"), "features", {{{"id", "a"}, {"values", {"x"}}}}), "at least two values"},
      {with(of_design("factorial"), "features", {{{"id", "a"}, {"values", {"x", "x"}}}}), "appears twice"},
      {with(of_design("fractional_factorial"), "features", {{{"id", "a"}, {"values", {"x", "y", "z"}}}}), "two values"},
      {with(of_design("factorial"), "runs", 8), "/runs: unknown key"},
      {with(with(of_design("fractional_factorial"), "runs", 8), "resolution", 4), "/resolution: \"runs\" is given too"},
      {with(of_design("fractional_factorial"), "resolution", 2), "/resolution: expected 3 to"},
      {of_design("sweep"), "/axes: the design \"sweep\" needs"},
      {with(of_design("sweep"), "axis", Json::array()), "/axis: unknown key (did you mean \"axes\"?)"},
      {with(of_design("sweep"), "axes", {{{"values", {1}}}}), "/axes/0"},
      {with(of_design("sweep"), "axes", {{{"path", "a"}, {"values", {1}}}}), "/axes/0/path: expected a JSON pointer"},
      {with(of_design("sweep"), "axes", {{{"path", "/a"}, {"values", {1, 1}}}}),
       "/axes/0/values: the value 1 appears twice"},
      {with(of_design("sweep"), "axes", {{{"path", "/a"}, {"values", Json::array()}}}), "/axes/0/values: expected at"},
      {with(of_design("sweep"), "axes", {{{"feature", "a"}, {"values", {1}}}}), "/axes/0/values: expected names"},
      {with(of_design("sweep"), "features", {"rotary"}), "/features: unknown key"},
      {with(of_design("a_a"), "arms", 1), "/arms: expected 2 to 26"},
      {with(of_design("a_a"), "features", {"rotary"}), "/features: unknown key"},
      {with(suite_history(), "seeds", {1, 1}), "/seeds: the seed 1 appears twice"},
      {with(suite_history(), "seeds", Json::array()), "/seeds: expected at least one seed"},
      {with(suite_history(), "seeds", {-1}), "/seeds: expected whole numbers"},
      {with(suite_history(), "seeds", {1.5}), "/seeds: expected whole numbers"},
      {with(suite_history(), "seeds", {9223372036854775808U}), "/seeds: expected whole numbers from 0 to 92233720"},
      {with(suite_history(), "data", "test:x"), "did you mean \"text\""},
      {with(suite_history(), "data", "text:"), "/data: expected a path"},
      {with(suite_history(), "threads", -1), "/threads: expected 0 to 4096"},
      {with(suite_history(), "dtype", "bf16"), "/dtype"},
      {with(suite_history(), "target", "low"), "/target: expected a number"},
      {with(suite_history(), "limits", {{"seconds", 5}}), "/limits/seconds: unknown key"},
      {with(suite_history(), "engine", "nativ"), "/engine: expected \"native\""},
      {with(suite_history(), "kernels", "fast"), "/kernels: expected \"fused\" or \"reference\", got \"fast\""},
      {with(suite_history(), "engine", {{"mock", 3}}), "/engine/mock: expected an object"},
      {with(suite_history(), "metrics", {"helth"}), "/metrics: expected"},
      {with(suite_history(), "health_every", 5), "/health_every: it is for the metric"},
      {with(with(suite_history(), "metrics", {"health"}), "health_every", 0), "/health_every: expected 1 to"},
      {with(with(suite_history(), "metrics", {"health"}), "engine", "mock"), "/metrics: the mock engine"},
  };
  for (const auto& [json, expected] : cases) {
    const std::string message = suite_refusal(json);
    EXPECT_NE(message.find(expected), std::string::npos) << message << "\n  lacks: " << expected;
    EXPECT_TRUE(message.starts_with("s.json")) << message;
  }
}

TEST(DataRequest, TextAndBack) {
  for (const char* text : {"synthetic", "text:a.txt,/b/c.txt", "shards:dir"})
    EXPECT_EQ(text_of(parse_data_request(text, "--data")), text);
  const DataRequest request = relative_to(parse_data_request("text:a.txt,/b/c.txt", "--data"), "/mine");
  EXPECT_EQ(request.paths, (std::vector<std::filesystem::path>{"/mine/a.txt", "/b/c.txt"}));
  EXPECT_EQ(relative_to(DataRequest{}, "/mine"), DataRequest{});
  for (const char* text : {"nonsense", "text:", "shards:a,b"})
    EXPECT_THROW(parse_data_request(text, "--data"), core::Error) << text;
}

TEST(Suite, OverridesComeFromTheCommandLine) {
  SuiteOverrides overrides;
  overrides.scale = "smoke";
  overrides.seeds = {{4, 5}};
  overrides.data = parse_data_request("shards:dir", "--data");
  overrides.threads = 3;
  overrides.kernels = core::KernelChoice::kReference;
  const Suite suite = with_overrides(read_suite(suite_history(), "s.json"), overrides);
  EXPECT_EQ(suite.scale, "smoke");
  EXPECT_EQ(suite.seeds.size(), 2u);
  EXPECT_EQ(text_of(suite.data), "shards:dir");
  EXPECT_EQ(suite.threads, 3);
  EXPECT_EQ(suite.kernels, core::KernelChoice::kReference);
}

TEST(Suite, MetricsAreAskedForByTheFileOrTheCommandLine) {
  const Suite asked = read_suite(with(with(suite_history(), "metrics", {"health"}), "health_every", 5), "s.json");
  EXPECT_EQ(asked.metrics, (core::AskedMetrics{core::AskedMetric::kHealth}));
  EXPECT_EQ(asked.health_every, 5);
  SuiteOverrides none;
  none.metrics = core::AskedMetrics{};
  EXPECT_TRUE(with_overrides(asked, none).metrics.empty());
  EXPECT_FALSE(with_overrides(asked, none).health_every);
  SuiteOverrides every;
  every.health_every = 7;
  EXPECT_EQ(with_overrides(asked, every).health_every, 7);
  EXPECT_THROW(with_overrides(read_suite(suite_history(), "s.json"), every), core::Error) << "nothing is asked for";
}

TEST(Suite, PathsAreRelativeToItsFile) {
  const auto folder = std::filesystem::temp_directory_path() / ("nanobench-suite-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "s.json") << with(suite_history(), "data", "text:a.txt,/abs/b.txt").dump();
  EXPECT_EQ(text_of(read_suite_file(folder / "s.json").data), "text:" + (folder / "a.txt").string() + ",/abs/b.txt");
  std::filesystem::remove_all(folder);
}

TEST(Suite, TheFilesOfThisFolderAreValid) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(NANOBENCH_SOURCE_DIR "/suites")) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".json") || name == "suite.schema.json") continue;
    EXPECT_EQ(read_suite_file(entry.path()).name + ".json", name);
    ++count;
  }
  EXPECT_GE(count, 2);
}

TEST(Suite, TheSchemaKnowsTheSameKeys) {
  const Json schema = core::read_json_file(NANOBENCH_SOURCE_DIR "/suites/suite.schema.json");
  for (const auto& [key, unused] : schema.at("properties").items()) {
    if (key == "$schema") continue;
    const std::map<std::string, Json> of_other_design = {
        {"base", leave_one_out()},
        {"features", leave_one_out()},
        {"axes", of_design("sweep")},
        {"arms", of_design("a_a")},
        {"claims", of_design("claims")},
        {"runs", of_design("fractional_factorial")},
        {"resolution", of_design("fractional_factorial")},
    };
    const auto other = of_other_design.find(key);
    const Json nonsense = {{"nonsense", 1}};
    const std::string message =
        suite_refusal(with(other == of_other_design.end() ? suite_history() : other->second, key, nonsense));
    EXPECT_EQ(message.find(": /" + key + ": unknown key"), std::string::npos) << message;
  }
}

TEST(Suite, AsksForMetrics) {
  Json json = leave_one_out();
  json["metrics"] = {"loss_by_document_length", "loss_at_position"};
  const core::AskedMetrics both = {core::AskedMetric::kLossAtPosition, core::AskedMetric::kLossByDocumentLength};
  EXPECT_EQ(read_suite(json, "s.json").metrics, both);
  EXPECT_TRUE(with_overrides(read_suite(json, "s.json"), {.metrics = core::AskedMetrics{}}).metrics.empty());
  EXPECT_TRUE(read_suite(leave_one_out(), "s.json").metrics.empty());
  json["metrics"] = {"loss_at_place"};
  EXPECT_NE(suite_refusal(json).find("s.json: /metrics: "), std::string::npos);
  json["metrics"] = {"loss_at_position"};
  json["engine"] = "mock";
  EXPECT_NE(suite_refusal(json).find("/metrics"), std::string::npos);
  Json mock = leave_one_out();
  mock["engine"] = "mock";
  EXPECT_THROW(with_overrides(read_suite(mock, "s.json"), {.metrics = both}), core::Error);
}

}  // namespace
}  // namespace nanobench::suites

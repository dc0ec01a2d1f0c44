#include "suites/design/suite.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "core/base/error.h"
#include "tests/core/base/refusal_support.h"
#include "tests/suites/design/design_support.h"

namespace nanobench::suites {
namespace {

using core::Reason;
using core::Refused;

using core::Json;

Json suite_history() {
  return {{"name", "s"}, {"design", "history"}, {"records", {"record12", "record13"}}};
}

Json leave_one_out() {
  return {{"name", "s"}, {"design", "leave_one_out"}, {"base", {{"record", "record17"}}}};
}

/// How `json` is refused.
Refused suite_refusal(const Json& json) {
  const Refused refused = core::refusal_of([&] { read_suite(json, "s.json"); });
  EXPECT_TRUE(refused.is_refused) << "accepted: " << json;
  EXPECT_EQ(refused.code, core::ErrorCode::kInvalidArgument) << refused.message;
  EXPECT_TRUE(refused.begins("s.json: /")) << refused.message;
  return refused;
}

TEST(Suite, ManySeedsAreRead) {
  Json suite = suite_history();
  suite["seeds"] = Json::array();
  for (int seed = 0; seed < 300'000; ++seed) suite["seeds"].push_back(seed);
  EXPECT_EQ(read_suite(suite, "s.json").seeds.size(), 300'000U);
  suite["seeds"].push_back(299'999);
  EXPECT_REFUSED(suite_refusal(suite), Reason::kRepeated, "/seeds");
  EXPECT_TRUE(suite_refusal(suite).names(" 299999 "));
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
  EXPECT_REFUSED(refused({"generated:0"}), Reason::kOutOfRange, "0");
  EXPECT_TRUE(refused({"generated:0"}).begins("s.json: /run/evaluations/0: "));
  EXPECT_TRUE(refused({"generated:0"}).names("65535"));
  EXPECT_REFUSED(refused({"a.bin", "b/a.bin"}), Reason::kRepeated, "/run/evaluations/1");
  EXPECT_TRUE(refused({"a.bin", "b/a.bin"}).names(" a "));
  EXPECT_REFUSED(refused({{{"task", "a.bin"}, {"name", "A b"}}}), Reason::kBadValue, "/run/evaluations/0/name");
  EXPECT_REFUSED(refused({{{"task", "a.bin"}, {"limits", 3}}}), Reason::kUnknownKey, "/run/evaluations/0/limits");
  EXPECT_TRUE(refused({{{"task", "a.bin"}, {"limits", 3}}}).names("\"limit\""));
  EXPECT_REFUSED(refused("generated"), Reason::kWrongType, "/run/evaluations");
  suite["engine"] = {{"mock", Json::object()}};
  EXPECT_REFUSED(refused({"generated"}), Reason::kExcluded, "/run/evaluations");
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
  EXPECT_REFUSED(suite_refusal(with(suite_history(), "base", {{"record", "record17"}})), Reason::kUnknownKey,
                 "/base/record");
}

TEST(Suite, RefusesRanksThatDoNotDivideAmongTheProcesses) {
  EXPECT_REFUSED(suite_refusal(with(suite_history(), "base", {{"processes", 2}, {"ranks", 3}})), Reason::kNoMultiple,
                 "/base/ranks");
  EXPECT_REFUSED(suite_refusal(with(suite_history(), "base", {{"processes", 0}})), Reason::kOutOfRange,
                 "/base/processes");
}

TEST(Suite, RanksOfTheCommandLineReplaceThoseOfTheFileTogether) {
  const Suite file = read_suite(with(suite_history(), "base", {{"processes", 2}, {"ranks", 4}}), "s.json");
  EXPECT_EQ(with_overrides(file, {}).ranks, 4);
  const Suite three = with_overrides(file, {.processes = 3});
  EXPECT_EQ(three.processes, 3);
  EXPECT_FALSE(three.ranks.has_value()) << "4 ranks would not divide among 3 processes";
}

TEST(Suite, NamesTheNearestKey) {
  const Refused refused = suite_refusal(with(suite_history(), "sceds", {1}));
  EXPECT_REFUSED(refused, Reason::kUnknownKey, "/sceds");
  EXPECT_TRUE(refused.names("\"seeds\"")) << refused.message;
}

struct BadSuite {
  Json json;
  Reason reason;
  const char* subject;
  const char* datum = "";  ///< what the message names
};

TEST(Suite, SaysWhereSomethingIsWrong) {
  const std::vector<BadSuite> cases = {
      {Json::array(), Reason::kWrongType, ""},
      {Json{{"name", "x"}, {"design", "history"}, {"recods", {"record12"}}}, Reason::kUnknownKey, "/recods",
       "\"records\""},
      {Json{{"design", "history"}}, Reason::kMissingKey, "/name"},
      {with(suite_history(), "design", "histroy"), Reason::kUnknownName, "/design", "\"history\""},
      {with(suite_history(), "records", Json::array()), Reason::kEmpty, "/records"},
      {with(suite_history(), "records", {"record12", "record12"}), Reason::kRepeated, "/records"},
      {with(suite_history(), "records", {12}), Reason::kWrongType, "/records", " 12"},
      {with(suite_history(), "features", {"rotary"}), Reason::kUnknownKey, "/features"},
      {with(leave_one_out(), "records", {"record12"}), Reason::kUnknownKey, "/records"},
      {with(leave_one_out(), "base", "record17"), Reason::kWrongType, "/base", "\"record17\""},
      {with(leave_one_out(), "features", {{{"id", "rotary"}}}), Reason::kMissingKey, "/features/0/value"},
      {with(leave_one_out(), "features", "rotary"), Reason::kWrongType, "/features"},
      {with(leave_one_out(), "features", {"rotary", "rotary"}), Reason::kRepeated, "/features", "rotary"},
      {with(leave_one_out(), "features", {{{"id", "a"}, {"values", {"x", "y"}}}}), Reason::kMissingKey,
       "/features/0/value"},
      {with(of_design("factorial"), "features", {{{"id", "a"}, {"values", {"x"}}}}), Reason::kWrongLength,
       "/features/0/values"},
      {with(of_design("factorial"), "features", {{{"id", "a"}, {"values", {"x", "x"}}}}), Reason::kRepeated,
       "/features/0/values"},
      {with(of_design("fractional_factorial"), "features", {{{"id", "a"}, {"values", {"x", "y", "z"}}}}),
       Reason::kWrongLength, "/features/0/values", " 3"},
      {with(of_design("factorial"), "runs", 8), Reason::kUnknownKey, "/runs"},
      {with(with(of_design("fractional_factorial"), "runs", 8), "resolution", 4), Reason::kExcluded, "/resolution",
       "\"runs\""},
      {with(of_design("fractional_factorial"), "resolution", 2), Reason::kOutOfRange, "/resolution", " 3 "},
      {of_design("sweep"), Reason::kEmpty, "/axes", "\"sweep\""},
      {with(of_design("sweep"), "axis", Json::array()), Reason::kUnknownKey, "/axis", "\"axes\""},
      {with(of_design("sweep"), "axes", {{{"values", {1}}}}), Reason::kAmbiguous, "/axes/0/"},
      {with(of_design("sweep"), "axes", {{{"path", "a"}, {"values", {1}}}}), Reason::kMalformed, "/axes/0/path",
       "\"a\""},
      {with(of_design("sweep"), "axes", {{{"path", "/a"}, {"values", {1, 1}}}}), Reason::kRepeated, "/axes/0/values",
       " 1 "},
      {with(of_design("sweep"), "axes", {{{"path", "/a"}, {"values", Json::array()}}}), Reason::kEmpty,
       "/axes/0/values"},
      {with(of_design("sweep"), "axes", {{{"feature", "a"}, {"values", {1}}}}), Reason::kWrongType, "/axes/0/values"},
      {with(of_design("sweep"), "features", {"rotary"}), Reason::kUnknownKey, "/features"},
      {with(of_design("a_a"), "arms", 1), Reason::kOutOfRange, "/arms", " 26"},
      {with(of_design("a_a"), "features", {"rotary"}), Reason::kUnknownKey, "/features"},
      {with(suite_history(), "seeds", {1, 1}), Reason::kRepeated, "/seeds", " 1 "},
      {with(suite_history(), "seeds", Json::array()), Reason::kEmpty, "/seeds"},
      {with(suite_history(), "seeds", {-1}), Reason::kOutOfRange, "/seeds", " -1"},
      {with(suite_history(), "seeds", {1.5}), Reason::kOutOfRange, "/seeds", " 1.5"},
      {with(suite_history(), "seeds", {9223372036854775808U}), Reason::kOutOfRange, "/seeds", " 9223372036854775807"},
      {with(suite_history(), "data", "test:x"), Reason::kUnknownName, "test:x", "\"text\""},
      {with(suite_history(), "data", "text:"), Reason::kEmpty, "text:", "s.json: /data: "},
      {with(suite_history(), "threads", -1), Reason::kOutOfRange, "/threads", " 4096"},
      {with(suite_history(), "dtype", "bf16"), Reason::kUnknownName, "/dtype"},
      {with(suite_history(), "target", "low"), Reason::kWrongType, "/target"},
      {with(suite_history(), "limits", {{"seconds", 5}}), Reason::kUnknownKey, "/limits/seconds"},
      {with(suite_history(), "engine", "nativ"), Reason::kUnknownName, "/engine", "\"native\""},
      {with(suite_history(), "kernels", "fast"), Reason::kUnknownName, "/kernels", "\"fused\""},
      {with(suite_history(), "engine", {{"mock", 3}}), Reason::kWrongType, "/engine/mock"},
      {with(suite_history(), "metrics", {"helth"}), Reason::kUnknownName, "/metrics"},
      {with(suite_history(), "health_every", 5), Reason::kInactive, "/health_every", "\"health\""},
      {with(with(suite_history(), "metrics", {"health"}), "health_every", 0), Reason::kOutOfRange, "/health_every"},
      {with(with(suite_history(), "metrics", {"health"}), "engine", "mock"), Reason::kExcluded, "/metrics"},
  };
  for (const BadSuite& bad : cases) {
    const Refused refused = suite_refusal(bad.json);
    EXPECT_REFUSED(refused, bad.reason, bad.subject) << bad.json;
    EXPECT_TRUE(refused.names(bad.datum)) << refused.message << "\n  lacks: " << bad.datum;
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
  EXPECT_REFUSAL(with_overrides(read_suite(suite_history(), "s.json"), every), Reason::kInactive, "--health-every")
      << "nothing is asked for";
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
    const Refused refused =
        suite_refusal(with(other == of_other_design.end() ? suite_history() : other->second, key, nonsense));
    EXPECT_FALSE(refused.reason == Reason::kUnknownKey && refused.subject == "/" + key) << refused.message;
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
  EXPECT_REFUSED(suite_refusal(json), Reason::kUnknownName, "/metrics");
  json["metrics"] = {"loss_at_position"};
  json["engine"] = "mock";
  EXPECT_REFUSED(suite_refusal(json), Reason::kExcluded, "/metrics");
  Json mock = leave_one_out();
  mock["engine"] = "mock";
  EXPECT_REFUSAL(with_overrides(read_suite(mock, "s.json"), {.metrics = both}), Reason::kExcluded, "--metrics");
}

}  // namespace
}  // namespace nanobench::suites

// The records against their real configurations in the golden data, field by field.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/config/parameter_list.h"
#include "core/config/settings_reference.h"
#include "core/config/train_config.h"
#include "tests/ablations/catalogue_support.h"
#include "tests/engine/late_golden_config.h"
#include "tests/golden/golden_data.h"

namespace nanobench::ablations {
namespace {

/// Every setting of `expected` that `actual` has otherwise, as "pointer: expected, got". Settings that `expected` does
/// not have are free.
std::string differences(const core::Json& expected, const core::Json& actual, const std::string& pointer = "") {
  const bool is_list = expected.is_array() && actual.is_array() && expected.size() == actual.size();
  if (is_list) {
    std::string text;
    for (std::size_t i = 0; i < expected.size(); ++i)
      text += differences(expected[i], actual[i], pointer + "/" + std::to_string(i));
    return text;
  }
  if (!expected.is_object()) {
    return expected == actual ? "" : "\n" + pointer + ": expected " + expected.dump() + ", got " + actual.dump();
  }
  std::string text;
  for (const auto& [key, value] : expected.items()) {
    text += actual.contains(key) ? differences(value, actual.at(key), pointer + "/" + key)
                                 : "\n" + pointer + "/" + key + ": expected " + value.dump() + ", got nothing";
  }
  return text;
}

class OfficialRecord : public testing::TestWithParam<int> {};

TEST_P(OfficialRecord, EqualsItsRealConfiguration) {
  core::Json expected = core::read_json_file(golden_record(GetParam()));
  expected.erase("name");
  EXPECT_GT(expected.flatten().size(), 60U);
  const core::TrainConfig actual =
      resolve(embedded_catalogue(), {.record = "record" + std::to_string(GetParam())}).config;
  EXPECT_EQ(differences(expected, core::Json(core::to_json(actual))), "");
}

INSTANTIATE_TEST_SUITE_P(FourToFortyOne, OfficialRecord, testing::Range(4, 42));

/// Numbers of layers in the golden configurations of eleven layers, where ours are twelve without layer 0.
void count_from_one(core::Json& model, core::Json& window) {
  const auto next = [](core::Json& layer) {
    if (layer.is_number()) layer = layer.get<std::int64_t>() + 1;
  };
  const auto all_next = [&](core::Json& layers) {
    for (core::Json& layer : layers) next(layer);
  };
  next(model.at("num_layers"));
  model["skip_layers"] = {0};
  core::Json& values = model.at("value_embeddings");
  values.at("layer_map").insert(values.at("layer_map").begin(), nullptr);
  if (values.contains("split_gate_layers")) all_next(values.at("split_gate_layers"));
  for (const char* layers : {"attention_skip_layers", "paired_head_layers", "key_offset_layers", "xsa_layers"})
    all_next(model.at(layers));
  all_next(window.at("short_layers"));
  for (const char* pointer : {"/backout_layer", "/skip/from", "/skip/to", "/late_attention_input/first_layer",
                              "/late_attention_input/source_layer", "/two_lanes/first_layer", "/mudd/layer",
                              "/mudd/cached_layer", "/mudd/skip_layer"}) {
    const core::Json::json_pointer place(pointer);
    if (model.contains(place)) next(model.at(place));
  }
  if (!model.contains("generated_gates")) return;
  for (core::Json& set : model.at("generated_gates").at("sets")) {
    next(set.at("at"));
    for (const char* layers : {"xsa_layers", "attention_gate_layers", "inject_layers", "dc_layers"})
      if (set.contains(layers)) all_next(set.at(layers));
  }
}

/// Initial values, which a record draws and a case reads.
core::Json late_init(const core::Json& golden, const core::Json& model) {
  core::Json init = {{"value_table_std", golden.value("value_embeddings_std", core::Json())},
                     {"lm_head_std", golden.value("lm_head_std", core::Json())},
                     {"attention_std", golden.at("attention_std")},
                     {"linear_attention_outputs", golden.at("output_projection") == "uniform"},
                     {"resid_lambda", golden.at("resid_lambda")},
                     {"bigram_lambda", golden.at("bigram_lambda")}};
  if (init.at("attention_std") == model.at("linear_init_std")) init["attention_std"] = nullptr;
  return init;
}

/// Layers without attention have no window.
void leave_out_windows(core::Json& window, const core::ModelConfig& model) {
  core::Json layers = core::Json::array();
  for (const core::Json& layer : window.at("short_layers"))
    if (model.has_attention(layer.get<std::int64_t>())) layers.push_back(layer);
  window["short_layers"] = layers;
}

/// A stage that begins between two steps gets the weights at the first whole one.
void begin_at_whole_steps(core::Json& stages) {
  for (core::Json& stage : stages) {
    const auto from = stage.at("from").get<double>(), to = stage.at("to").get<double>();
    const double first = std::ceil(from);
    for (std::size_t i = 0; i < stage.at("start").size(); ++i) {
      const auto start = stage.at("start")[i].get<double>(), end = stage.at("end")[i].get<double>();
      stage.at("start")[i] = start + (end - start) * ((first - from) / (to - from));
    }
    stage["from"] = first;
  }
}

core::Json group_json(const core::OptimizerGroupConfig& group) {
  core::TrainConfig config;
  config.optimizer.hidden_matrices = group;
  return core::Json(core::to_json(config)).at("optimizer").at("hidden_matrices");
}

/// Settings of each family of parameters. What has no effect may differ: the condition of no decay, and the shape that
/// counts where a parameter is one matrix. The golden files give the older records the precision of their cases, and
/// leave out rows that nothing reads.
std::string optimizer_differences(const core::Json& golden_families, const core::TrainConfig& actual) {
  std::string text;
  std::set<std::string> families = {"unread"};
  for (const core::ParameterShape& parameter : core::parameter_list(actual)) {
    const std::string family = core::family_of(parameter.name);
    if (!families.insert(family).second) continue;
    if (!golden_families.contains(family)) {
      text += "\nnothing is expected of " + family;
      continue;
    }
    core::Json expected = golden_families.at(family);
    if (expected.at("cautious_decay") == 0.0) expected.erase("cautious_condition");
    if (family != "attn.qkvo_w") expected.erase("shape_of");
    if (expected.contains("ns_dtype")) expected["ns_dtype"] = "bfloat16";
    text += differences(expected, group_json(core::settings_of(actual.optimizer, parameter.group, parameter.name)),
                        "/optimizer/" + family);
  }
  return text;
}

class LateOfficialRecord : public testing::TestWithParam<int> {};

TEST_P(LateOfficialRecord, EqualsItsRealConfiguration) {
  const std::string id = "record" + std::to_string(GetParam());
  const core::Json golden = core::read_json_file(golden_data("golden_42_89/records") / (id + ".json"));
  core::Json expected = core::testing::late_golden_json(golden);
  EXPECT_GT(expected.flatten().size(), 150U);
  core::Json& window = expected.at("attention").at("window");
  if (expected.at("model").at("num_layers") == 11) count_from_one(expected.at("model"), window);
  expected["init"] = late_init(golden.at("model").at("init"), expected.at("model"));
  if (expected.at("model").at("key_offset_layers").empty()) expected.at("model").erase("key_offset_dims");
  if (expected.at("data").at("stages").size() == 1) expected.at("data")["stages"] = core::Json::array();
  expected.erase("name");
  core::Json& loss = expected.at("loss");
  if (loss.contains("multi_token")) begin_at_whole_steps(loss.at("multi_token"));
  const core::Json families = expected.at("optimizer").at("families");
  expected.erase("optimizer");

  const core::TrainConfig config = resolve(embedded_catalogue(), {.record = id}).config;
  core::Json actual(core::to_json(config));
  leave_out_windows(window, config.model);
  leave_out_windows(actual.at("attention").at("window"), config.model);
  EXPECT_EQ(differences(expected, actual), "");
  EXPECT_EQ(optimizer_differences(families, config), "");
}

INSTANTIATE_TEST_SUITE_P(Golden, LateOfficialRecord,
                         testing::Values(43, 45, 46, 49, 50, 51, 54, 55, 57, 58, 62, 63, 64, 70, 72, 73, 77, 80, 81, 82,
                                         83, 85, 88, 89),
                         [](const auto& test) { return "record" + std::to_string(test.param); });

TEST(OfficialRecord17, IsTheDefaultConfiguration) {
  const core::TrainConfig record17 = resolve_record(embedded_catalogue(), "record17");
  core::TrainConfig defaults;
  defaults.name = record17.name;
  // The defaults round nothing, so that a run without a record is one in its own number type.
  defaults.precision = record17.precision;
  // The same sequences in other words, and ways of the loader and of communication that change no number.
  defaults.data.val_sequence_length = defaults.data.sequence_length;
  defaults.data.loader.storage = core::ShardStorage::kPinned;
  defaults.data.loader.fetch = core::FetchTime::kAfterBackward;
  defaults.data.loader.token_dtype = core::TokenDtype::kInt32;
  defaults.distributed.gather_buffer = core::GatherBuffer::kSeparate;
  EXPECT_EQ(differences(core::Json(core::to_json(defaults)), core::Json(core::to_json(record17))), "");
  EXPECT_EQ(record17.digest(), defaults.digest());
}

/// Stores and older engines know records 1 to 21 by these digests, and by no setting that came later.
TEST(StableRecords, KeepTheirDigestsAndSettings) {
  const core::Json digests = core::read_json_file(NANOBENCH_SOURCE_DIR "/tests/ablations/first_digests.json");
  EXPECT_EQ(digests.size(), 5U * 21U);
  for (const auto& [name, digest] : digests.items()) {
    const std::size_t slash = name.find('/');
    const core::TrainConfig config =
        resolve(embedded_catalogue(), {.record = name.substr(slash + 1), .scale = name.substr(0, slash)}).config;
    EXPECT_EQ(core::Json(config.digest()), digest) << name;
    const core::Json changed = core::changed_settings(config).flatten();
    for (const auto& [pointer, value] : changed.items()) {
      const bool is_known = std::any_of(core::first_settings().begin(), core::first_settings().end(),
                                        [&](const auto& first) { return pointer.starts_with(first.first); });
      EXPECT_TRUE(is_known) << name << ": " << pointer;
    }
  }
}

/// Without fields that have their default, and without groups that have no others.
core::Json without_defaults(const core::Json& group, const std::map<std::string, core::Json>& defaults,
                            const std::string& pointer = "") {
  core::Json rest = core::Json::object();
  for (const auto& [key, value] : group.items()) {
    const std::string place = pointer + "/" + key;
    const auto usual = defaults.find(place);
    if (usual != defaults.end()) {
      if (value != usual->second) rest[key] = value;
    } else if (core::Json inner = without_defaults(value, defaults, place); !inner.empty()) {
      rest[key] = std::move(inner);
    }
  }
  return rest;
}

TEST(StableRecords, ChangedSettingsAreTheWrittenOnesWithoutDefaults) {
  std::map<std::string, core::Json> defaults;
  for (const core::SettingReference& setting : core::settings_reference()) {
    if (setting.type != core::SettingType::kGroup) defaults.emplace(setting.pointer, setting.default_value);
  }
  for (const Record* record : embedded_catalogue().records()) {
    for (const char* scale : {"official", "smoke"}) {
      const core::TrainConfig config = resolve(embedded_catalogue(), {.record = record->id, .scale = scale}).config;
      EXPECT_EQ(core::changed_settings(config), without_defaults(core::Json(core::to_json(config)), defaults))
          << record->id << " at " << scale;
    }
  }
}

/// Values at `parent` of the features that `record` sets. One without a value there belongs to a setting that goes too,
/// such as Muon's features with Muon.
FeatureSettings values_before(const Record& record, const core::TrainConfig& parent) {
  FeatureSettings values;
  for (const auto& [id, unused] : record.features) {
    const std::optional<std::string> value = feature_value_at(parent, embedded_catalogue().feature(id));
    if (value) values[id] = *value;
  }
  return values;
}

TEST(RecordLadder, TurningAllFeaturesOfARecordBackGivesItsParent) {
  for (const Record* record : embedded_catalogue().records()) {
    if (!record->parent) continue;
    SCOPED_TRACE(record->id);
    const core::TrainConfig parent = resolve_record(embedded_catalogue(), *record->parent);
    ResolveRequest request{.record = record->id, .settings = values_before(*record, parent)};
    request.processes = 8;  // as on 8 GPUs, so that features of communication can be set
    core::TrainConfig back;
    ASSERT_NO_THROW(back = resolve(embedded_catalogue(), request).config);
    back.distributed.processes = 1;
    EXPECT_EQ(back.digest(), parent.digest())
        << core::Json::diff(core::Json(core::to_json(parent)), core::Json(core::to_json(back))).dump(2);
  }
}

/// Row 4 of the value gates, rows 5 to 13 of the second set of coefficients, rows 26 to 40 of the first set of gates.
TEST(UnreadRows, AreThoseOfTheScript) {
  const core::TrainConfig config = resolve_record(embedded_catalogue(), "record89");
  EXPECT_TRUE(config.model.unread_rows);
  EXPECT_EQ(core::unread_numbers(config.model), 6 * 12 + 9 * (64 + 1) + 15 * (64 + 1));
}

TEST(RecordLadder, FeaturesDescribeEverythingThatARecordChanges) {
  for (const Record* record : embedded_catalogue().records()) {
    EXPECT_EQ(record->parent.has_value(), record->id != "record1");
    EXPECT_EQ(record->parent.has_value(), record->patch.empty()) << record->id;
  }
}

}  // namespace
}  // namespace nanobench::ablations

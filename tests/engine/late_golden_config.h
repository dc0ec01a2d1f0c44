// The configurations of the golden cases of records #42 to #89 in this program's own schema.
#pragma once

#include <algorithm>
#include <set>
#include <string>

#include "core/base/json.h"
#include "core/config/train_config.h"

namespace nanobench::core::testing {

/// Takes `pointer` away if it has this value, which is what the program does without the field. Any other value stays
/// and is then refused as unknown.
inline void leave_out(Json& config, const std::string& pointer, const Json& neutral) {
  const Json::json_pointer place(pointer);
  if (config.contains(place) && config.at(place) == neutral) config.at(place.parent_pointer()).erase(place.back());
}

/// What the cases call weight_decay is the cautious decay of these records, which has a name of its own here. Where
/// they say nothing of Adam's condition they mean the later one.
inline void rename_decay(Json& group) {
  if (group.contains("weight_decay")) {
    group["cautious_decay"] = group.at("weight_decay");
    if (group.at("type") == "adam") group["cautious_condition"] = group.value("weight_decay_condition", "positive");
  }
  group.erase("weight_decay");
  group.erase("weight_decay_condition");
}

/// A set's outputs as a list of layers each. They are in this order in all cases.
inline void translate_gate_set(Json& set) {
  if (set.at("at") == "x0") set["at"] = nullptr;
  for (const Json& output : set.at("outputs")) {
    const auto what = output[0].get<std::string>();
    if (what == "skip") {
      set["has_skip"] = true;
    } else {
      set[what + "_layers"].push_back(output[1]);
    }
  }
  set.erase("outputs");
}

/// A case in this program's schema, without initial values.
inline Json late_golden_json(Json config) {
  for (auto& [name, group] : config["optimizer"].items()) {
    if (name != "families") rename_decay(group);
  }
  for (Json& family : config["optimizer"]["families"]) rename_decay(family);
  Json& model = config["model"];
  model.erase("init");  // initial values, which a case has in a file
  if (model.value("residual_scaling", "none") == "sublayer") leave_out(config, "/model/post_lambdas", "sublayer");
  if (model.contains("two_lanes_from") && !model.at("two_lanes_from").is_null()) {
    leave_out(config, "/model/post_lambdas", "two_lanes");
    model["two_lanes"] = {{"first_layer", model.at("two_lanes_from")},
                          {"injection", model.value("two_lane_injection", "attention_output")}};
    model.erase("two_lanes_from");
    model.erase("two_lane_injection");
  }
  for (const char* group : {"late_attention_input", "mudd", "two_lanes_from", "dc_attention", "generated_gates"})
    leave_out(config, std::string("/model/") + group, nullptr);
  if (model.contains("generated_gates")) {
    for (Json& set : model["generated_gates"]["sets"]) translate_gate_set(set);
  }
  for (Json& family : config["optimizer"]["families"]) {
    if (family.contains("query_key_blocks") && family.at("query_key_blocks").is_null())
      family.erase("query_key_blocks");
  }
  leave_out(config, "/model/attention_gate_layers", nullptr);
  if (model.contains("attention_gate_layers")) {  // here the layers without
    const auto with = model.at("attention_gate_layers").get<std::set<std::int64_t>>();
    for (std::int64_t layer = 0; layer < model.at("num_layers").get<std::int64_t>(); ++layer)
      if (!with.contains(layer)) model["attention_gate_skip_layers"].push_back(layer);
    model.erase("attention_gate_layers");
  }
  leave_out(config, "/model/bigram", nullptr);
  if (model.contains("bigram")) {
    Json& bigram = model["bigram"];
    bigram["token_multiplier"] = bigram.at("multipliers")[0];
    bigram["previous_multiplier"] = bigram.at("multipliers")[1];
    bigram.erase("multipliers");
    leave_out(config, "/model/bigram/injection", model.value("x0_injection", "block_start"));
  }
  leave_out(config, "/model/skip", nullptr);
  leave_out(config, "/loss/prefix", nullptr);
  leave_out(config, "/loss/multi_token", nullptr);
  Json& data = config["data"];  // a length of its own beside stages is that of nothing
  std::int64_t longest = 0;
  for (const Json& stage : data.value("stages", Json::array()))
    longest = std::max(longest, stage.at("sequence_length").get<std::int64_t>());
  if (longest > 0 && data.contains("val_sequence_length")) data["sequence_length"] = longest;
  Json& rate = config["schedule"]["learning_rate"];
  Json stages = Json::array();
  for (const Json& stage : rate.value("stages", Json::array()))
    stages.push_back({{"from", stage[0]}, {"factor", stage[1]}});
  rate["stages"] = stages;
  return config;
}

/// The configuration of a case. Throws for one with a mechanism that the program does not have.
inline TrainConfig late_golden_config(const Json& config, const std::string& source) {
  return read_train_config(late_golden_json(config), source);
}

}  // namespace nanobench::core::testing

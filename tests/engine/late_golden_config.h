// The configurations of the golden cases of records #42 to #89 in this program's own schema.
#pragma once

#include <initializer_list>
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

/// What the cases call weight_decay is the cautious decay of these records, which has a name of its own here.
inline void rename_decay(Json& group) {
  for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
           {"weight_decay", "cautious_decay"}, {"weight_decay_condition", "cautious_condition"}}) {
    if (!group.contains(from)) continue;
    group[to] = group.at(from);
    group.erase(from);
  }
}

/// The configuration of a case. Throws for one with a mechanism that the program does not have.
inline TrainConfig late_golden_config(Json config, const std::string& source) {
  for (auto& [name, group] : config["optimizer"].items()) {
    if (name != "families") rename_decay(group);
  }
  for (Json& family : config["optimizer"]["families"]) rename_decay(family);
  Json& model = config["model"];
  model.erase("init");  // initial values, which a case has in a file
  if (model.value("residual_scaling", "none") == "block") leave_out(config, "/model/x0_injection", "block_start");
  leave_out(config, "/model/xsa_layers", Json::array());
  leave_out(config, "/model/skip", nullptr);
  leave_out(config, "/model/skip/tap", "output");
  Json& rate = config["schedule"]["learning_rate"];
  Json stages = Json::array();
  for (const Json& stage : rate.value("stages", Json::array()))
    stages.push_back({{"from", stage[0]}, {"factor", stage[1]}});
  rate["stages"] = stages;
  return read_train_config(config, source);
}

}  // namespace nanobench::core::testing

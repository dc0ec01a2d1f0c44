#include "core/protocol/operation_spec.h"

#include <algorithm>

#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::core {
namespace {

constexpr std::int64_t kMaxSize = 1 << 26;

OperationArm read_arm(JsonObject object) {
  OperationArm arm;
  arm.name = object.string("name");
  JsonObject shapes = object.object("shapes");
  for (const auto& [shape, unused] : object.at("shapes").items()) {
    arm.shapes[shape] = shapes.integer(shape.c_str(), 1, kMaxSize);
  }
  arm.config = read_train_config(object.at("config"), object.source() + "#" + object.pointer_to("config"));
  object.finish();
  return arm;
}

std::string known(JsonObject& object, const char* key, const std::vector<std::string>& names) {
  const std::string name = object.string(key);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    object.fail_unknown_name(key, "one of " + joined(names), name, names);
  }
  return name;
}

template <class WriteConfig>
Json written(const OperationSpec& spec, WriteConfig write_config) {
  Json arms = Json::array();
  for (const OperationArm& arm : spec.arms)
    arms.push_back({{"name", arm.name}, {"shapes", arm.shapes}, {"config", write_config(arm.config)}});
  return {{"op", spec.op}, {"metric", spec.metric}, {"arms", std::move(arms)}};
}

}  // namespace

std::int64_t OperationArm::size(const std::string& shape) const {
  const auto found = shapes.find(shape);
  if (found != shapes.end()) return found->second;
  throw Refusal(ErrorCode::kInvalidArgument, Reason::kMissingKey,
                "the operation needs the size " + shape + " in its shapes", shape);
}

std::int64_t OperationArm::size_or(const std::string& shape, std::int64_t fallback) const {
  const auto found = shapes.find(shape);
  return found == shapes.end() ? fallback : found->second;
}

const std::vector<std::string>& operation_names() {
  static const std::vector<std::string> names = {"attention", "matrix_product", "muon_step", "orthogonalize",
                                                 "softcapped_cross_entropy"};
  return names;
}

const std::vector<std::string>& operation_metrics() {
  static const std::vector<std::string> names = {
      "call",         "time_ms",           "gflops",       "bytes",           "error", "distance_to_polar",
      "instructions", "mask_instructions", "cache_misses", "cache_miss_share"};
  return names;
}

std::string operation_counter(const std::string& arm, const std::string& metric) {
  return "operation/" + arm + "/" + metric;
}

Json to_json(const OperationSpec& spec) {
  return written(spec, [](const TrainConfig& config) { return to_json(config); });
}

Json changed_settings(const OperationSpec& spec) {
  return written(spec, [](const TrainConfig& config) { return changed_settings(config); });
}

OperationSpec read_operation_spec(const Json& value, const std::string& source) {
  JsonObject object(value, source);
  OperationSpec spec;
  spec.op = known(object, "op", operation_names());
  spec.metric = known(object, "metric", operation_metrics());
  const Json& arms = object.at("arms");
  if (!arms.is_array() || arms.empty() || arms.size() > 2)
    object.fail("arms", Reason::kWrongLength, "expected a list of one or two arms");
  for (std::size_t i = 0; i < arms.size(); ++i)
    spec.arms.push_back(read_arm(JsonObject(arms[i], source, object.pointer_to("arms") + "/" + std::to_string(i))));
  if (spec.arms.size() == 2 && spec.arms[0].name == spec.arms[1].name)
    object.fail("arms", Reason::kRepeated, "the arms need names of their own");
  object.finish();
  return spec;
}

}  // namespace nanobench::core

#include "results/identity.h"

#include "core/base/digest.h"
#include "core/base/json.h"
#include "core/config/settings_reference.h"
#include "core/protocol/operation_spec.h"

namespace nanobench::results {
namespace {

using core::Json;

std::string digest_of(const Json& parts) {
  return core::digest_of(core::safe_dump(parts));
}

/// The parts that every run has.
Json common_parts(const NewRun& run) {
  return {{"config", run.config_digest},
          {"seed", run.seed},
          {"data", run.data_digest},
          {"dtype", run.dtype},
          {"threads", run.threads},
          {"engine", run.engine},
          {"engine_version", run.engine_version},
          {"hardware", run.hardware}};
}

/// The parts that a plan's current and former identity share.
Json plan_parts(const NewPlan& plan) {
  Json json = {{"suite", plan.suite},
               {"title", plan.title},
               {"design", enum_name(plan.design)},
               {"scale", plan.scale},
               {"order_seed", plan.order_seed}};
  if (plan.target) json["target"] = *plan.target;
  if (plan.sequential) {
    const SequentialLook& look = *plan.sequential;
    json["sequential"] = {look.alpha, look.family, look.first, look.most, look.step, look.look};
    if (look.spending_power != 0.0) json["sequential"].push_back(look.spending_power);
  }
  for (const PlanContrast& contrast : plan.contrasts)
    json["contrasts"].push_back({contrast.effect, contrast.coefficients});
  for (const PlanLine& line : plan.lines) json["lines"].push_back({line.cell, line.seed, line.digest});
  return json;
}

}  // namespace

std::string engine_text(const std::string& engine, core::KernelChoice kernels) {
  return kernels == core::KernelChoice::kFused ? engine : engine + ", " + enum_name(kernels) + " kernels";
}

std::string run_digest(const NewRun& run) {
  Json parts = common_parts(run);
  if (run.kernels != core::KernelChoice::kFused) parts["kernels"] = enum_name(run.kernels);
  if (run.device && *run.device != core::kCpuDevice) parts["device"] = to_string(*run.device);
  if (run.arm > 0) parts["arm"] = run.arm;
  if (run.mock) parts["mock"] = core::parse_json(*run.mock, "settings of the mock engine");
  return digest_of(parts);
}

std::string stored_config_digest(const std::string& config) {
  try {
    const Json json = core::parse_json(config, "stored run");
    if (json.is_object() && json.contains("operation"))
      return core::digest_of(
          core::changed_settings(core::read_operation_spec(json.at("operation"), "stored run")).dump());
    return core::read_train_config(json, "stored run").digest();
  } catch (const core::Error& error) {
    if (error.code() == core::ErrorCode::kInternal) throw;
    return "";
  }
}

std::string plan_digest(const NewPlan& plan) {
  Json json = plan_parts(plan);
  for (const PlanCell& cell : plan.cells) json["cells"].push_back({cell.label, cell.features, cell.config_digest});
  return digest_of(json);
}

std::string digest_in_turn(const std::vector<std::string>& plan_digests, std::size_t place) {
  std::string text = "turn " + std::to_string(place);
  for (const std::string& digest : plan_digests) text += " " + digest;
  return core::digest_of(text);
}

namespace former {

std::string plan_digest(const NewPlan& plan) {
  Json json = plan_parts(plan);
  json["target"] = plan.target ? Json(*plan.target) : Json();
  json["messages"] = core::texts_of(plan.messages);
  for (const PlanCell& cell : plan.cells)
    json["cells"].push_back({cell.label, changes_text(cell.changes), cell.features, cell.config_digest});
  return results::digest_of(json);
}

std::string config_digest(Json config) {
  config["name"] = "";
  config["init"]["file"] = nullptr;
  config["init"]["note"] = nullptr;
  return results::digest_of(config);
}

std::optional<std::string> config_digest(const core::TrainConfig& config) {
  Json complete = core::to_json(config);
  const Json changed = core::changed_settings(config);
  for (const std::string& pointer : core::train_config_pointers()) {
    const Json::json_pointer place(pointer);
    if (core::first_settings().contains(pointer) || !complete.contains(place)) continue;
    if (changed.contains(place)) return std::nullopt;
    complete[place.parent_pointer()].erase(place.back());
    for (auto group = place.parent_pointer(); !group.empty() && complete[group].empty(); group.pop_back())
      complete[group.parent_pointer()].erase(group.back());
  }
  return config_digest(std::move(complete));
}

std::string run_digest(const NewRun& run) {
  Json parts = common_parts(run);
  parts["engine"] = engine_text(run.engine, run.kernels);
  parts["mock"] = run.mock ? core::parse_json(*run.mock, "settings of the mock engine") : Json();
  if (run.arm > 0) parts["arm"] = run.arm;
  if (run.device && *run.device != core::kCpuDevice) parts["device"] = to_string(*run.device);
  return results::digest_of(parts);
}

}  // namespace former

}  // namespace nanobench::results

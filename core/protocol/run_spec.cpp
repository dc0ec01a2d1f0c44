#include "core/protocol/run_spec.h"

#include <limits>

#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::core {
namespace {

std::optional<std::string> optional_string(JsonObject& object, const char* key) {
  return object.find(key) == nullptr ? std::nullopt : std::optional(object.string(key));
}

}  // namespace

std::string to_string(const DeviceChoice& device) {
  if (!device.is_gpu) return "cpu";
  return device.index ? "cuda:" + std::to_string(*device.index) : "cuda";
}

std::optional<DeviceChoice> device_choice(std::string_view text) {
  if (text == "cpu") return kCpuDevice;
  if (text == "cuda") return kGpuDevice;
  if (!text.starts_with("cuda:")) return std::nullopt;
  const std::string number(text.substr(5));
  if (number.empty() || number.size() > 3 || number.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return DeviceChoice{.is_gpu = true, .index = std::stoi(number)};
}

DeviceChoice read_device(JsonObject& object) {
  const std::string text = object.string_or("device", to_string(kCpuDevice));
  if (const std::optional<DeviceChoice> device = device_choice(text)) return *device;
  object.fail("device", Reason::kUnknownName, "expected \"cpu\", \"cuda\" or \"cuda:N\", got \"" + text + "\"");
}

std::vector<std::string> names_of(const AskedMetrics& metrics) {
  std::vector<std::string> names;
  for (const AskedMetric metric : metrics) names.push_back(enum_name(metric));
  return names;
}

AskedMetrics metrics_by_bucket(const AskedMetrics& metrics) {
  AskedMetrics found;
  for (const AskedMetric metric : metrics) {
    if (is_by_bucket(metric)) found.insert(metric);
  }
  return found;
}

AskedMetrics read_asked_metrics(JsonObject& object) {
  AskedMetrics metrics;
  for (const std::string& name : object.strings_or_empty("metrics")) {
    const std::optional<AskedMetric> metric = enum_value<AskedMetric>(name);
    if (!metric) object.fail_unknown_name("metrics", expected_names<AskedMetric>(), name, enum_names<AskedMetric>());
    metrics.insert(*metric);
  }
  return metrics;
}

std::optional<std::int64_t> read_health_every(JsonObject& object, const AskedMetrics& metrics) {
  if (object.find("health_every") == nullptr) return std::nullopt;
  const std::int64_t every = object.integer("health_every", 1, kMaxHealthEvery);
  if (!metrics.contains(AskedMetric::kHealth))
    object.fail("health_every", Reason::kInactive, "it is for the metric \"health\", which \"metrics\" does not name");
  return every;
}

Json to_json(const RunSpec& spec) {
  Json json = {{"protocol", kProtocolVersion},   {"run_id", spec.run_id},   {"seed", spec.seed},
               {"dtype", enum_name(spec.dtype)}, {"threads", spec.threads}, {"train_shards", spec.train_shards},
               {"val_shards", spec.val_shards}};
  json["config"] = changed_settings(spec.config);
  if (spec.pin_threads) json["pin_threads"] = true;
  if (spec.kernels != KernelChoice::kFused) json["kernels"] = enum_name(spec.kernels);
  if (spec.device != kCpuDevice) json["device"] = to_string(spec.device);
  if (spec.communicator != CommunicatorChoice::kAuto) json["communicator"] = enum_name(spec.communicator);
  if (!spec.metrics.empty()) json["metrics"] = names_of(spec.metrics);
  if (spec.health_every) json["health_every"] = *spec.health_every;
  if (spec.vocabulary) json["vocabulary"] = *spec.vocabulary;
  if (spec.init_file) json["init_file"] = *spec.init_file;
  if (spec.trace_file) json["trace_file"] = *spec.trace_file;
  if (spec.save_file) json["save_file"] = *spec.save_file;
  if (spec.resume_file) json["resume_file"] = *spec.resume_file;
  if (spec.profile_file) json["profile_file"] = *spec.profile_file;
  if (spec.operation) json["operation"] = changed_settings(*spec.operation);
  for (const EvaluationSpec& evaluation : spec.evaluations) json["evaluations"].push_back(to_json(evaluation));
  if (spec.only_evaluates) json["only_evaluates"] = true;
  if (!spec.mock.is_null()) json["mock"] = spec.mock;
  if (!spec.external.is_null()) json["external"] = spec.external;
  return json;
}

RunSpec read_run_spec(const Json& value, const std::string& source) {
  JsonObject object(value, source);
  const std::int64_t version = object.integer("protocol", 0, std::numeric_limits<int>::max());
  if (version != kProtocolVersion) {
    throw Refusal(ErrorCode::kUnavailable, Reason::kOtherVersion,
                  source + ": /protocol: this engine speaks version " + std::to_string(kProtocolVersion) +
                      ", the file asks for " + std::to_string(version) + "; use programs of one build",
                  "/protocol");
  }
  RunSpec spec;
  spec.run_id = object.string("run_id");
  spec.seed = static_cast<std::uint64_t>(object.integer("seed", 0, std::numeric_limits<std::int64_t>::max()));
  spec.dtype = object.enumeration<Dtype>("dtype");
  spec.device = read_device(object);
  spec.threads = static_cast<int>(object.integer("threads", 0, 4096));
  spec.pin_threads = object.boolean_or("pin_threads", false);
  spec.kernels = object.enumeration_or("kernels", spec.kernels);
  spec.communicator = object.enumeration_or("communicator", spec.communicator);
  spec.metrics = read_asked_metrics(object);
  spec.health_every = read_health_every(object, spec.metrics);
  spec.train_shards = object.strings_or_empty("train_shards");
  spec.val_shards = object.strings_or_empty("val_shards");
  spec.vocabulary = optional_string(object, "vocabulary");
  spec.init_file = optional_string(object, "init_file");
  spec.trace_file = optional_string(object, "trace_file");
  spec.save_file = optional_string(object, "save_file");
  spec.resume_file = optional_string(object, "resume_file");
  spec.profile_file = optional_string(object, "profile_file");
  if (const Json* operation = object.find("operation"))
    spec.operation = read_operation_spec(*operation, source + "#/operation");
  if (const Json* evaluations = object.find("evaluations"))
    spec.evaluations = read_evaluations(*evaluations, source + "#/evaluations");
  spec.only_evaluates = object.boolean_or("only_evaluates", false);
  if (spec.only_evaluates && (!spec.init_file || spec.evaluations.empty()))
    object.fail("only_evaluates", Reason::kUnmet, "needs \"init_file\" and \"evaluations\"");
  if (const Json* mock = object.find("mock")) spec.mock = *mock;
  if (const Json* external = object.find("external")) spec.external = *external;
  spec.config = read_train_config(object.at("config"), source + "#/config");
  object.finish();
  return spec;
}

}  // namespace nanobench::core

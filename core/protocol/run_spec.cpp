#include "core/protocol/run_spec.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace nanobench::core {

bool is_device_name(const std::string& name) {
  if (name == "cpu" || name == "cuda") return true;
  const std::string number = name.starts_with("cuda:") ? name.substr(5) : "";
  return !number.empty() && number.size() <= 3 && number.find_first_not_of("0123456789") == std::string::npos;
}

bool is_kernels_name(const std::string& name) {
  return name == "fused" || name == "reference";
}

Json to_json(const RunSpec& spec) {
  Json json = {{"protocol", kProtocolVersion}, {"run_id", spec.run_id},   {"seed", spec.seed},
               {"dtype", spec.dtype},          {"threads", spec.threads}, {"train_shards", spec.train_shards},
               {"val_shards", spec.val_shards}};
  json["config"] = to_json(spec.config);
  if (spec.pin_threads) json["pin_threads"] = true;
  if (spec.kernels != "fused") json["kernels"] = spec.kernels;
  if (spec.device != "cpu") json["device"] = spec.device;
  if (spec.communicator != "auto") json["communicator"] = spec.communicator;
  if (spec.init_file) json["init_file"] = *spec.init_file;
  if (spec.trace_file) json["trace_file"] = *spec.trace_file;
  if (spec.profile_file) json["profile_file"] = *spec.profile_file;
  if (spec.operation) json["operation"] = to_json(*spec.operation);
  if (!spec.mock.is_null()) json["mock"] = spec.mock;
  if (!spec.external.is_null()) json["external"] = spec.external;
  return json;
}

RunSpec read_run_spec(const Json& value, const std::string& source) {
  JsonObject object(value, source);
  const std::int64_t version = object.integer("protocol", 0, std::numeric_limits<int>::max());
  if (version != kProtocolVersion) {
    throw Error(ErrorCode::kUnavailable, source + ": /protocol: this engine speaks version " +
                                             std::to_string(kProtocolVersion) + ", the file asks for " +
                                             std::to_string(version) + "; use programs of one build");
  }
  RunSpec spec;
  spec.run_id = object.string("run_id");
  spec.seed = static_cast<std::uint64_t>(object.integer("seed", 0, std::numeric_limits<std::int64_t>::max()));
  spec.dtype = object.string("dtype");
  if (spec.dtype != "float32" && spec.dtype != "float64")
    object.fail("dtype", "expected \"float32\" or \"float64\", got \"" + spec.dtype + "\"");
  spec.device = object.string_or("device", spec.device);
  if (!is_device_name(spec.device))
    object.fail("device", "expected \"cpu\", \"cuda\" or \"cuda:N\", got \"" + spec.device + "\"");
  spec.threads = static_cast<int>(object.integer("threads", 0, 4096));
  spec.pin_threads = object.boolean_or("pin_threads", false);
  if (object.has("kernels")) spec.kernels = object.string("kernels");
  if (!is_kernels_name(spec.kernels))
    object.fail("kernels", "expected \"fused\" or \"reference\", got \"" + spec.kernels + "\"");
  spec.communicator = object.string_or("communicator", spec.communicator);
  const std::vector<std::string> communicators = {"auto", "shared_memory", "tcp", "mpi"};
  if (std::find(communicators.begin(), communicators.end(), spec.communicator) == communicators.end()) {
    object.fail("communicator",
                "expected \"auto\", \"shared_memory\", \"tcp\" or \"mpi\", got \"" + spec.communicator + "\"");
  }
  spec.train_shards = object.strings_or_empty("train_shards");
  spec.val_shards = object.strings_or_empty("val_shards");
  if (object.has("init_file")) spec.init_file = object.string("init_file");
  if (object.has("trace_file")) spec.trace_file = object.string("trace_file");
  if (object.has("profile_file")) spec.profile_file = object.string("profile_file");
  if (const Json* operation = object.find("operation"))
    spec.operation = read_operation_spec(*operation, source + "#/operation");
  if (const Json* mock = object.find("mock")) spec.mock = *mock;
  if (const Json* external = object.find("external")) spec.external = *external;
  spec.config = read_train_config(object.at("config"), source + "#/config");
  object.find("kernels");
  object.find("init_file");
  object.find("trace_file");
  object.find("profile_file");
  object.finish();
  return spec;
}

}  // namespace nanobench::core

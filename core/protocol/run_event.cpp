#include "core/protocol/run_event.h"

#include <cmath>
#include <limits>
#include <sstream>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/protocol/run_spec.h"
#include "core/protocol/step_line.h"

namespace nanobench::core {
namespace {

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}
Json number(const std::optional<double>& value) {
  return value ? number(*value) : Json(nullptr);
}

double read_number(const Json& json, const char* key) {
  const Json& value = json.at(key);
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}
std::optional<double> read_optional(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return std::nullopt;
  return found->get<double>();
}

struct ToJson {
  Json operator()(const HelloEvent& e) const {
    return {{"event", "hello"},
            {"protocol", kProtocolVersion},
            {"engine", e.engine},
            {"engine_version", e.engine_version},
            {"environment", e.environment},
            {"threads", e.threads},
            {"parameters", e.parameters}};
  }
  Json operator()(const StepEvent& e) const {
    Json json = {{"event", "step"},
                 {"step", e.step},
                 {"loss", number(e.loss)},
                 {"step_ms", number(e.step_ms)},
                 {"train_ms", number(e.train_ms)},
                 {"window_tokens", e.window_tokens},
                 {"learning_rate_factor", e.learning_rate_factor},
                 {"phases_ms", e.phases_ms}};
    if (!e.has_loss) json.erase("loss");
    return json;
  }
  Json operator()(const EvalEvent& e) const {
    return {{"event", "eval"},
            {"step", e.step},
            {"loss", number(e.loss)},
            {"train_ms", number(e.train_ms)},
            {"tokens", e.tokens}};
  }
  Json operator()(const MemoryEvent& e) const {
    return {{"event", "memory"}, {"step", e.step}, {"peak_bytes", e.peak_bytes}};
  }
  Json operator()(const CounterEvent& e) const {
    return {{"event", "counter"}, {"name", e.name}, {"value", number(e.value)}};
  }
  Json operator()(const WarningEvent& e) const { return {{"event", "warning"}, {"message", e.message}}; }
  Json operator()(const CheckpointEvent& e) const {
    return {{"event", "checkpoint"}, {"step", e.step}, {"file", e.file}};
  }
  Json operator()(const FinishedEvent& e) const {
    return {{"event", "finished"},
            {"steps", e.steps},
            {"timed_steps", e.timed_steps},
            {"train_ms", number(e.train_ms)},
            {"final_val_loss", number(e.final_val_loss)},
            {"peak_bytes", e.peak_bytes}};
  }
  Json operator()(const FailedEvent& e) const {
    return {{"event", "failed"}, {"outcome", enum_name(e.outcome)}, {"message", e.message}};
  }
};

RunEvent read_hello(const Json& json) {
  if (json.at("protocol").get<int>() != kProtocolVersion) {
    throw Error(ErrorCode::kDataLoss, "the engine speaks protocol " + json.at("protocol").dump() + ", expected " +
                                          std::to_string(kProtocolVersion) + "; use programs of one build");
  }
  HelloEvent e;
  e.engine = json.at("engine").get<std::string>();
  e.engine_version = json.at("engine_version").get<std::string>();
  e.environment = json.at("environment").get<std::map<std::string, std::string>>();
  e.threads = json.at("threads").get<int>();
  e.parameters = json.at("parameters").get<std::int64_t>();
  return e;
}

RunEvent read_step(const Json& json) {
  StepEvent e;
  e.step = json.at("step").get<std::int64_t>();
  e.has_loss = json.contains("loss");
  e.loss = e.has_loss ? read_number(json, "loss") : std::numeric_limits<double>::quiet_NaN();
  e.step_ms = read_number(json, "step_ms");
  e.train_ms = read_optional(json, "train_ms");
  e.window_tokens = json.at("window_tokens").get<std::int64_t>();
  e.learning_rate_factor = json.at("learning_rate_factor").get<double>();
  e.phases_ms = json.at("phases_ms").get<std::map<std::string, double>>();
  return e;
}

RunEvent read_failed(const Json& json) {
  const auto outcome = enum_value<RunOutcome>(json.at("outcome").get<std::string>());
  if (!outcome) throw Error(ErrorCode::kDataLoss, "unknown outcome in a failed event");
  return FailedEvent{*outcome, json.at("message").get<std::string>()};
}

RunEvent read_event(const Json& json) {
  const std::string kind = json.at("event").get<std::string>();
  if (kind == "hello") return read_hello(json);
  if (kind == "step") return read_step(json);
  if (kind == "eval") {
    return EvalEvent{json.at("step").get<std::int64_t>(), read_number(json, "loss"), read_optional(json, "train_ms"),
                     json.at("tokens").get<std::int64_t>()};
  }
  if (kind == "memory")
    return MemoryEvent{json.at("step").get<std::int64_t>(), json.at("peak_bytes").get<std::int64_t>()};
  if (kind == "counter") return CounterEvent{json.at("name").get<std::string>(), read_number(json, "value")};
  if (kind == "warning") return WarningEvent{json.at("message").get<std::string>()};
  if (kind == "checkpoint")
    return CheckpointEvent{json.at("step").get<std::int64_t>(), json.at("file").get<std::string>()};
  if (kind == "finished") {
    return FinishedEvent{json.at("steps").get<std::int64_t>(), json.at("timed_steps").get<std::int64_t>(),
                         read_optional(json, "train_ms"), read_optional(json, "final_val_loss"),
                         json.at("peak_bytes").get<std::int64_t>()};
  }
  if (kind == "failed") return read_failed(json);
  throw Error(ErrorCode::kDataLoss, "unknown event \"" + kind + "\"");
}

constexpr const char* kNoParts = "none";

}  // namespace

std::string text_of(const StepParts& parts) {
  return parts.empty() ? kNoParts : joined(parts);
}

std::optional<StepParts> read_step_parts(const std::string& text) {
  if (text.empty()) return std::nullopt;
  StepParts parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    part.erase(0, part.find_first_not_of(' '));
    if (!part.empty() && part != kNoParts) parts.insert(part);
  }
  return parts;
}

std::string to_line(const RunEvent& event) {
  return std::visit(ToJson{}, event).dump(-1, ' ', false, Json::error_handler_t::replace);
}

RunEvent parse_event_line(std::string_view line) {
  if (std::optional<StepEvent> step = read_step_line(line)) return *std::move(step);
  try {
    return read_event(Json::parse(line));
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::kDataLoss, std::string("not an event line: ") + error.what());
  }
}

}  // namespace nanobench::core

#include "core/protocol/run_event.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/protocol/run_spec.h"

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

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number(value));
  return list;
}
std::vector<double> read_numbers(const Json& json, const char* key) {
  std::vector<double> values;
  for (const Json& value : json.at(key).get_ref<const Json::array_t&>())
    values.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
  return values;
}

constexpr std::int64_t kMaxTurnSteps = std::int64_t{1} << 40;

struct ToJson {
  Json operator()(const HelloEvent& e) const {
    Json json = {{"event", "hello"},
                 {"protocol", e.turn_steps ? kTurnsProtocolVersion : kProtocolVersion},
                 {"engine", e.engine},
                 {"engine_version", e.engine_version},
                 {"environment", e.environment},
                 {"threads", e.threads},
                 {"parameters", e.parameters}};
    if (e.turn_steps) json["turn_steps"] = *e.turn_steps;
    return json;
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
  Json operator()(const BucketsEvent& e) const {
    return {{"event", "buckets"},
            {"metric", e.metric},
            {"step", e.step},
            {"means", numbers(e.means)},
            {"counts", numbers(e.counts)}};
  }
  Json operator()(const MemoryEvent& e) const {
    return {{"event", "memory"}, {"step", e.step}, {"peak_bytes", e.peak_bytes}};
  }
  Json operator()(const CounterEvent& e) const {
    return {{"event", "counter"}, {"name", e.name}, {"value", number(e.value)}};
  }
  Json operator()(const SamplesEvent& e) const {
    Json values = Json::object();
    for (const auto& [name, value] : e.values) values[name] = number(value);
    return {{"event", "samples"}, {"step", e.step}, {"values", std::move(values)}};
  }
  Json operator()(const TurnEvent& e) const { return {{"event", "turn"}, {"step", e.step}}; }
  Json operator()(const WarningEvent& e) const { return {{"event", "warning"}, {"message", e.message}}; }
  Json operator()(const CheckpointEvent& e) const {
    Json json = {{"event", "checkpoint"}, {"step", e.step}, {"file", e.file}};
    if (e.bytes > 0) json["bytes"] = e.bytes;
    if (!e.digest.empty()) json["digest"] = e.digest;
    return json;
  }
  Json operator()(const ChoiceEvent& e) const {
    return {{"event", "choice"},
            {"evaluation", e.evaluation},
            {"item", e.item},
            {"correct", e.is_correct},
            {"correct_norm", e.is_correct_norm}};
  }
  Json operator()(const EvaluationEvent& e) const {
    Json json = {
        {"event", "evaluation"},     {"evaluation", e.evaluation},     {"step", e.step},
        {"items", e.items},          {"accuracy", number(e.accuracy)}, {"accuracy_norm", number(e.accuracy_norm)},
        {"chance", number(e.chance)}};
    if (e.best_accuracy) json["best_accuracy"] = *e.best_accuracy;
    return json;
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
  const int version = json.at("protocol").get<int>();
  if (version != kProtocolVersion && version != kTurnsProtocolVersion) {
    throw Error(ErrorCode::kDataLoss, "the engine speaks protocol " + json.at("protocol").dump() + ", expected " +
                                          std::to_string(kProtocolVersion) + "; use programs of one build");
  }
  HelloEvent e;
  e.engine = json.at("engine").get<std::string>();
  e.engine_version = json.at("engine_version").get<std::string>();
  e.environment = json.at("environment").get<std::map<std::string, std::string>>();
  e.threads = json.at("threads").get<int>();
  e.parameters = json.at("parameters").get<std::int64_t>();
  if (version != kTurnsProtocolVersion) return e;
  e.turn_steps = json.at("turn_steps").get<std::int64_t>();
  if (*e.turn_steps < 0 || *e.turn_steps > kMaxTurnSteps)
    throw Error(ErrorCode::kDataLoss, "turn_steps is " + std::to_string(*e.turn_steps) + ", which no run has");
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

RunEvent read_buckets(const Json& json) {
  constexpr std::size_t kMaxBuckets = 65536;
  BucketsEvent e{.metric = json.at("metric").get<std::string>(),
                 .step = json.at("step").get<std::int64_t>(),
                 .means = read_numbers(json, "means"),
                 .counts = read_numbers(json, "counts")};
  if (e.means.size() != e.counts.size() || e.means.size() > kMaxBuckets)
    throw Error(ErrorCode::kDataLoss, "a buckets event has " + std::to_string(e.means.size()) + " means and " +
                                          std::to_string(e.counts.size()) + " counts");
  return e;
}

RunEvent read_samples(const Json& json) {
  SamplesEvent e{.step = json.at("step").get<std::int64_t>(), .values = {}};
  const Json& values = json.at("values");
  if (!values.is_object()) throw Error(ErrorCode::kDataLoss, "the values of a samples event are no object");
  for (const auto& [name, value] : values.items()) {
    if (!is_sampled_metric(name))
      throw Error(ErrorCode::kDataLoss, "a samples event names \"" + name + "\", which is no sampled metric");
    e.values[name] = read_number(values, name.c_str());
  }
  return e;
}

RunEvent read_failed(const Json& json) {
  const auto outcome = enum_value<RunOutcome>(json.at("outcome").get<std::string>());
  if (!outcome) throw Error(ErrorCode::kDataLoss, "unknown outcome in a failed event");
  return FailedEvent{*outcome, json.at("message").get<std::string>()};
}

std::string evaluation_of(const Json& json) {
  std::string name = json.at("evaluation").get<std::string>();
  if (!is_evaluation_name(name)) throw Error(ErrorCode::kDataLoss, "an evaluation's name is no name");
  return name;
}

RunEvent read_choice(const Json& json) {
  return ChoiceEvent{.evaluation = evaluation_of(json),
                     .item = json.at("item").get<std::int64_t>(),
                     .is_correct = json.at("correct").get<bool>(),
                     .is_correct_norm = json.at("correct_norm").get<bool>()};
}

RunEvent read_evaluation(const Json& json) {
  return EvaluationEvent{.evaluation = evaluation_of(json),
                         .step = json.at("step").get<std::int64_t>(),
                         .items = json.at("items").get<std::int64_t>(),
                         .accuracy = read_number(json, "accuracy"),
                         .accuracy_norm = read_number(json, "accuracy_norm"),
                         .chance = read_number(json, "chance"),
                         .best_accuracy = read_optional(json, "best_accuracy")};
}

RunEvent read_event(const Json& json) {
  const std::string kind = json.at("event").get<std::string>();
  if (kind == "hello") return read_hello(json);
  if (kind == "step") return read_step(json);
  if (kind == "eval") {
    return EvalEvent{json.at("step").get<std::int64_t>(), read_number(json, "loss"), read_optional(json, "train_ms"),
                     json.at("tokens").get<std::int64_t>()};
  }
  if (kind == "buckets") return read_buckets(json);
  if (kind == "memory")
    return MemoryEvent{json.at("step").get<std::int64_t>(), json.at("peak_bytes").get<std::int64_t>()};
  if (kind == "counter") return CounterEvent{json.at("name").get<std::string>(), read_number(json, "value")};
  if (kind == "samples") return read_samples(json);
  if (kind == "turn") return TurnEvent{json.at("step").get<std::int64_t>()};
  if (kind == "warning") return WarningEvent{json.at("message").get<std::string>()};
  if (kind == "checkpoint")
    return CheckpointEvent{.step = json.at("step").get<std::int64_t>(),
                           .file = json.at("file").get<std::string>(),
                           .bytes = json.value("bytes", std::int64_t{0}),
                           .digest = json.value("digest", "")};
  if (kind == "choice") return read_choice(json);
  if (kind == "evaluation") return read_evaluation(json);
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
  for (std::string_view part : split_at(text, ',')) {
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    if (!part.empty() && part != kNoParts) parts.emplace(part);
  }
  return parts;
}

bool is_sampled_metric(std::string_view name) {
  constexpr std::size_t kMaxLength = 200;
  return name.starts_with("health/") && name.size() <= kMaxLength &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

std::string to_line(const RunEvent& event) {
  return safe_dump(std::visit(ToJson{}, event));
}

RunEvent parse_event_line(std::string_view line) {
  if (std::optional<StepEvent> step = read_step_line(line)) return *std::move(step);
  constexpr const char* kWhat = "not an event line";
  try {
    const Json json = parse_json(line, kWhat);
    return read_values(
        kWhat, [&] { return read_event(json); }, ErrorCode::kDataLoss);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    throw_again(error, ErrorCode::kDataLoss, error.what());
  }
}

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Walks over one line. Every reader returns false, or nullopt, at the first thing that is not in plain form.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool is_at_end() {
    skip_spaces();
    return at_ == text_.size();
  }

  bool take(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  /// A string of printable ASCII without escapes.
  std::optional<std::string_view> plain_string() {
    if (!take('"')) return std::nullopt;
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] < 0x20 || text_[at_] > 0x7e || text_[at_] == '\\') return std::nullopt;
      ++at_;
    }
    if (at_ == text_.size()) return std::nullopt;
    return text_.substr(start, at_++ - start);
  }

  bool null() {
    skip_spaces();
    if (text_.substr(at_, 4) != "null") return false;
    at_ += 4;
    return true;
  }

  /// A JSON number within the range of doubles.
  std::optional<double> number() {
    const std::string_view token = number_token();
    if (token == "-0") return std::nullopt;  // a whole number to the general reader, and so without a sign
    double value = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (token.empty() || error != std::errc() || end != token.data() + token.size()) return std::nullopt;
    return value;
  }

  /// A JSON number without fraction and exponent.
  std::optional<std::int64_t> integer() {
    const std::string_view token = number_token();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (token.empty() || error != std::errc() || end != token.data() + token.size()) return std::nullopt;
    return value;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  std::size_t digits() {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ - start;
  }

  /// A number by JSON's grammar, which is narrower than from_chars; empty if there is none.
  std::string_view number_token() {
    skip_spaces();
    const std::size_t start = at_;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    const bool has_leading_zero = at_ < text_.size() && text_[at_] == '0';
    const std::size_t whole = digits();
    if (whole == 0 || (has_leading_zero && whole > 1)) return {};
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      if (digits() == 0) return {};
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (digits() == 0) return {};
    }
    return text_.substr(start, at_ - start);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// The keys of a step event, as bits of the set of seen keys.
enum Key : unsigned {
  kEvent = 1,
  kStep = 2,
  kLoss = 4,
  kStepMs = 8,
  kTrainMs = 16,
  kWindow = 32,
  kRate = 64,
  kPhases = 128,
  kRequired = kEvent | kStep | kLoss | kStepMs | kWindow | kRate | kPhases
};

unsigned key_of(std::string_view name) {
  if (name == "event") return kEvent;
  if (name == "step") return kStep;
  if (name == "loss") return kLoss;
  if (name == "step_ms") return kStepMs;
  if (name == "train_ms") return kTrainMs;
  if (name == "window_tokens") return kWindow;
  if (name == "learning_rate_factor") return kRate;
  if (name == "phases_ms") return kPhases;
  return 0;
}

template <class Value>
bool assign(Value& target, const std::optional<Value>& value) {
  if (value) target = *value;
  return value.has_value();
}

bool read_nullable(Cursor& cursor, double& target) {
  if (!cursor.null()) return assign(target, cursor.number());
  target = std::numeric_limits<double>::quiet_NaN();
  return true;
}

bool read_phases(Cursor& cursor, std::map<std::string, double>& phases) {
  if (!cursor.take('{')) return false;
  if (cursor.take('}')) return true;
  do {
    const std::optional<std::string_view> name = cursor.plain_string();
    if (!name || !cursor.take(':')) return false;
    const std::optional<double> ms = cursor.number();
    if (!ms || !phases.emplace(*name, *ms).second) return false;
  } while (cursor.take(','));
  return cursor.take('}');
}

bool read_value(Cursor& cursor, unsigned key, StepEvent& event) {
  switch (key) {
    case kEvent: return cursor.plain_string() == "step";
    case kStep: return assign(event.step, cursor.integer());
    case kLoss: return read_nullable(cursor, event.loss);
    case kStepMs: return read_nullable(cursor, event.step_ms);
    case kTrainMs:
      if (cursor.null()) return true;
      event.train_ms = cursor.number();
      return event.train_ms.has_value();
    case kWindow: return assign(event.window_tokens, cursor.integer());
    case kRate: return assign(event.learning_rate_factor, cursor.number());
    case kPhases: return read_phases(cursor, event.phases_ms);
    default: return false;
  }
}

}  // namespace

std::optional<StepEvent> read_step_line(std::string_view line) {
  Cursor cursor(line);
  StepEvent event;
  unsigned seen = 0;
  if (!cursor.take('{')) return std::nullopt;
  do {
    const std::optional<std::string_view> name = cursor.plain_string();
    if (!name || !cursor.take(':')) return std::nullopt;
    const unsigned key = key_of(*name);
    if ((seen & key) != 0 || !read_value(cursor, key, event)) return std::nullopt;
    seen |= key;
  } while (cursor.take(','));
  if (!cursor.take('}') || !cursor.is_at_end() || (seen & kRequired) != kRequired) return std::nullopt;
  return event;
}

}  // namespace nanobench::core

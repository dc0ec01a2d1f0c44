#include "core/config/train_config.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/config/settings_reference.h"
#include "core/config/train_config_fields.h"
#include "core/config/train_config_names.h"

namespace nanobench::core {
namespace {

/// JSON -> struct. Absent fields keep their value; JSON null is the value of an optional.
class ConfigReader final : public FieldVisitor {
 public:
  explicit ConfigReader(JsonObject& object) : object_(object) {}

  void families(const FieldLabel& label, OptimizerConfig& optimizer) override {
    if (!present(label.name)) return;
    optimizer.families.clear();
    JsonObject named = object_.object(label.name);
    for (const auto& [name, unused] : object_.at(label.name).items()) {
      OptimizerGroupConfig group = optimizer.group_of_family(name);
      read(named.object(name), [&group](FieldVisitor& reader) { visit_fields(reader, group); });
      optimizer.families.emplace(name, group);
    }
  }

  void field(const FieldLabel& label, bool& member) override {
    if (present(label.name)) member = object_.boolean_or(label.name, member);
  }
  void field(const FieldLabel& label, std::string& member) override {
    if (present(label.name)) member = object_.string(label.name);
  }
  void field(const FieldLabel& label, std::optional<std::string>& member) override {
    if (!present(label.name)) return;
    member = object_.at(label.name).is_null() ? std::optional<std::string>() : object_.string(label.name);
  }
  void field(const FieldLabel& label, std::int64_t& member, std::int64_t low, std::int64_t high) override {
    if (present(label.name)) member = object_.integer(label.name, low, high);
  }
  void field(const FieldLabel& label, std::optional<std::int64_t>& member, std::int64_t low,
             std::int64_t high) override {
    if (!present(label.name)) return;
    member = object_.at(label.name).is_null() ? std::optional<std::int64_t>() : object_.integer(label.name, low, high);
  }
  void field(const FieldLabel& label, double& member, double low, double high) override {
    if (present(label.name)) member = object_.number(label.name, low, high);
  }
  void field(const FieldLabel& label, std::optional<double>& member, double low, double high) override {
    if (!present(label.name)) return;
    member = object_.at(label.name).is_null() ? std::optional<double>() : object_.number(label.name, low, high);
  }
  void field(const FieldLabel& label, const EnumField& member) override {
    if (!present(label.name)) return;
    const std::string name = object_.string(label.name);
    if (member.set(name)) return;
    object_.fail_unknown_name(label.name, expected_names(member.names()), name, member.names());
  }
  void field(const FieldLabel& label, std::vector<std::int64_t>& member, std::int64_t low, std::int64_t high) override {
    if (!present(label.name)) return;
    member.clear();
    for (const std::optional<std::int64_t>& item : list(label.name, low, high, false)) member.push_back(*item);
  }
  void field(const FieldLabel& label, std::vector<std::optional<std::int64_t>>& member, std::int64_t low,
             std::int64_t high) override {
    if (present(label.name)) member = list(label.name, low, high, true);
  }
  void field(const FieldLabel& label, std::vector<double>& member, double low, double high) override {
    if (!present(label.name)) return;
    const Json& value = object_.at(label.name);
    const bool fits = value.is_array() && std::all_of(value.begin(), value.end(), [&](const Json& item) {
                        return item.is_number() && item.get<double>() >= low && item.get<double>() <= high;
                      });
    if (!fits) {
      object_.fail(
          label.name, Reason::kOutOfRange,
          "expected a list of numbers from " + Json(low).dump() + " to " + Json(high).dump() + ", got " + value.dump());
    }
    member = value.get<std::vector<double>>();
  }
  void pair(const FieldLabel& label, double& first, double& second, double low, double high) override {
    if (!present(label.name)) return;
    const Json& value = object_.at(label.name);
    const auto in_range = [&](const Json& item) {
      return item.is_number() && item.get<double>() >= low && item.get<double>() < high;
    };
    if (!value.is_array() || value.size() != 2 || !in_range(value[0]) || !in_range(value[1])) {
      object_.fail(label.name, Reason::kOutOfRange,
                   "expected two numbers of at least 0 and less than 1, got " + value.dump());
    }
    first = value[0].get<double>();
    second = value[1].get<double>();
  }

 protected:
  void nested(const FieldLabel& label, const VisitGroup& visit) override {
    if (present(label.name)) read(object_.object(label.name), visit);
  }
  void nested_list(const FieldLabel& label, GroupList& groups) override {
    if (!present(label.name)) return;
    groups.clear();
    const Json& list = object_.at(label.name);
    if (!list.is_array())
      object_.fail(label.name, Reason::kWrongType, "expected a list of objects, got " + std::string(list.type_name()));
    for (std::size_t i = 0; i < list.size(); ++i) {
      groups.add();
      const std::string place = object_.pointer_to(label.name) + "/" + std::to_string(i);
      read(JsonObject(list[i], object_.source(), place), [&](FieldVisitor& reader) { groups.visit(i, reader); });
    }
  }

 private:
  static void read(JsonObject object, const VisitGroup& visit) {
    ConfigReader reader(object);
    visit(reader);
    object.finish();
  }

  bool present(const char* name) {
    if (!is_active()) {
      const Json* const value = object_.find(name);
      if (value != nullptr && !value->is_null())
        object_.fail(name, Reason::kInactive,
                     "this field does not belong to the chosen \"type\"; remove it or change the type");
      return false;
    }
    return object_.find(name) != nullptr;
  }

  std::vector<std::optional<std::int64_t>> list(const char* name, std::int64_t low, std::int64_t high,
                                                bool allow_null) {
    const Json& value = object_.at(name);
    if (!value.is_array())
      object_.fail(name, Reason::kWrongType, "expected a list, got " + std::string(value.type_name()));
    std::vector<std::optional<std::int64_t>> items;
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (value[i].is_null() && allow_null) {
        items.emplace_back(std::nullopt);
        continue;
      }
      const auto item = integer_of<std::int64_t>(value[i]);
      if (!item || *item < low || *item > high) {
        object_.fail(name, Reason::kOutOfRange,
                     "entry " + std::to_string(i) + ": expected a whole number from " + std::to_string(low) + " to " +
                         std::to_string(high) + (allow_null ? " or null" : "") + ", got " + value[i].dump());
      }
      items.emplace_back(*item);
    }
    return items;
  }

  JsonObject& object_;
};

/// Struct -> JSON. OrderedJson keeps the declared order of fields.
template <class AnyJson>
class Writer final : public ValueVisitor {
 public:
  void families(const FieldLabel& label, OptimizerConfig& optimizer) override {
    json[label.name] = AnyJson::object();
    for (auto& [name, family] : optimizer.families) {
      OptimizerGroupConfig group = optimizer.group_of_family(name);
      AnyJson changed = AnyJson::object();
      if (family.type != group.type) changed["type"] = enum_name(family.type);
      group.type = family.type;
      const AnyJson usual = written(group), fields = written(family);
      for (const auto& [key, value] : fields.items())
        if (value != usual.at(key)) changed[key] = value;
      if (!changed.empty()) json[label.name][name] = std::move(changed);
    }
  }
  void nested_list(const FieldLabel& label, GroupList& groups) override {
    if (!is_active()) return;
    json[label.name] = AnyJson::array();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      Writer nested;
      groups.visit(i, nested);
      json[label.name].push_back(std::move(nested.json));
    }
  }

  AnyJson json = AnyJson::object();

 protected:
  void nested(const FieldLabel& label, const VisitGroup& visit) override {
    if (!is_active()) return;
    Writer nested;
    visit(nested);
    json[label.name] = std::move(nested.json);
  }
  void value(const FieldLabel& label, Json value, const FieldKind&) override {
    if (is_active()) json[label.name] = std::move(value);
  }

 private:
  static AnyJson written(OptimizerGroupConfig& group) {
    Writer nested;
    visit_fields(nested, group);
    return std::move(nested.json);
  }
};

template <class AnyJson>
AnyJson json_of(const TrainConfig& config) {
  TrainConfig copy = config;  // the field list takes mutable members
  Writer<AnyJson> writer;
  visit_fields(writer, copy);
  return std::move(writer.json);
}

/// Every field's value in TrainConfig{}, whether or not it applies there, in the order in which visitors come to them.
const std::vector<Json>& defaults() {
  static const std::vector<Json> values = [] {
    std::vector<Json> found;
    for (const SettingReference& setting : settings_reference()) {
      if (setting.type != SettingType::kGroup) found.push_back(setting.default_value);
    }
    return found;
  }();
  return values;
}

/// Struct -> JSON of the fields that are not at their default, without groups that have none.
class ChangeWriter final : public ValueVisitor {
 public:
  /// `place` counts the fields that were visited.
  explicit ChangeWriter(std::size_t& place) : place_(place) {}

  void families(const FieldLabel& label, OptimizerConfig& optimizer) override {
    Writer<Json> whole;
    whole.families(label, optimizer);
    keep(label, std::move(whole.json[label.name]));
  }

  Json json = Json::object();

 protected:
  void nested(const FieldLabel& label, const VisitGroup& visit) override {
    ChangeWriter nested(place_);
    visit(nested);
    if (is_active() && !nested.json.empty()) json[label.name] = std::move(nested.json);
  }
  void nested_list(const FieldLabel& label, GroupList& groups) override {
    Writer<Json> whole;
    whole.nested_list(label, groups);
    keep(label, std::move(whole.json[label.name]));
  }
  void value(const FieldLabel& label, Json value, const FieldKind&) override { keep(label, std::move(value)); }

 private:
  void keep(const FieldLabel& label, Json value) {
    const Json& usual = defaults().at(place_++);
    if (is_active() && value != usual) json[label.name] = std::move(value);
  }

  std::size_t& place_;
};

}  // namespace

std::int64_t ModelConfig::padded_vocab_size() const {
  return (vocab_size + vocab_pad_multiple - 1) / vocab_pad_multiple * vocab_pad_multiple;
}

std::int64_t ModelConfig::embedding_rows() const {
  return vocab_pad_embeddings ? padded_vocab_size() : vocab_size;
}

bool ModelConfig::has_layer(std::int64_t layer) const {
  return std::find(skip_layers.begin(), skip_layers.end(), layer) == skip_layers.end();
}

bool ModelConfig::has_attention(std::int64_t layer) const {
  return has_layer(layer) &&
         std::find(attention_skip_layers.begin(), attention_skip_layers.end(), layer) == attention_skip_layers.end();
}

bool ModelConfig::has_attention_gate(std::int64_t layer) const {
  const std::vector<std::int64_t>& without = attention_gate_skip_layers;
  return attention_gate_dim > 0 && has_attention(layer) &&
         std::find(without.begin(), without.end(), layer) == without.end();
}

bool ModelConfig::has_dc_attention() const {
  const std::vector<GateSetConfig>& sets = generated_gates.sets;
  return generated_gates.hidden > 0 &&
         std::any_of(sets.begin(), sets.end(), [](const GateSetConfig& set) { return !set.dc_layers.empty(); });
}

bool ModelConfig::generates_xsa() const {
  const std::vector<GateSetConfig>& sets = generated_gates.sets;
  return generated_gates.hidden > 0 &&
         std::any_of(sets.begin(), sets.end(), [](const GateSetConfig& set) { return !set.xsa_layers.empty(); });
}

std::int64_t GateSetConfig::outputs(std::int64_t num_heads) const {
  const auto count = [](const std::vector<std::int64_t>& layers) { return static_cast<std::int64_t>(layers.size()); };
  return num_heads * (count(xsa_layers) + count(attention_gate_layers) + 2 * count(dc_layers)) +
         2 * count(inject_layers) + (has_skip ? 1 : 0);
}

bool ModelConfig::has_mlp(std::int64_t layer) const {
  return has_layer(layer) && std::find(mlp_skip_layers.begin(), mlp_skip_layers.end(), layer) == mlp_skip_layers.end();
}

std::optional<std::int64_t> ModelConfig::skip_source(std::int64_t layer) const {
  const std::int64_t source = num_layers - 1 - layer;
  if (!unet_skips || layer < num_layers / 2 || !has_layer(layer) || !has_layer(source)) return std::nullopt;
  return source;
}

std::int64_t DataConfig::length_of_step(std::int64_t step) const {
  const DataStage* const stage = stage_at(stages, step);
  return stage == nullptr ? sequence_length : stage->sequence_length;
}

std::int64_t DataConfig::tokens_until(std::int64_t steps) const {
  if (stages.empty()) return steps * tokens_per_step();
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::int64_t end = i + 1 < stages.size() ? std::min(steps, stages[i + 1].from) : steps;
    tokens += std::max<std::int64_t>(0, end - stages[i].from) * stages[i].sequence_length * sequences_per_step;
  }
  return tokens;
}

bool ModelConfig::keeps_output(std::int64_t layer) const {
  const bool is_cached = mudd.hidden > 0 && (layer == mudd.cached_layer || layer == mudd.skip_layer);
  return (unet_skips && layer < num_layers / 2) || backout_layer == layer || (skip.to && skip.from == layer) ||
         (late_attention_input.first_layer && late_attention_input.source_layer == layer) || is_cached;
}

const OptimizerGroupConfig& OptimizerConfig::group_of_family(const std::string& family) const {
  if (family == "lm_head") return lm_head;
  if (family == "embed" || family == "position_embed" || family == "bigram_embed" || family.starts_with("value_embeds"))
    return embeddings;
  const bool is_matrix = family.ends_with("_gate") || family == "attn.qkv_w" || family == "attn.qkvo_w" ||
                         family.starts_with("attn.c_") || family.starts_with("mlp.c_") || family == "mudd.w1" ||
                         family == "mudd.w2" || family == "gates.w1" || family == "gates.w2";
  return is_matrix && !family.ends_with(".bias") ? hidden_matrices : scalars;
}

std::string TrainConfig::digest() const {
  static const TrainConfig defaults;
  TrainConfig identity = *this;
  identity.name = defaults.name;
  identity.init.file.reset();
  identity.init.note.reset();
  return digest_of(changed_settings(identity).dump());  // Json sorts the keys: field order is not identity
}

TrainConfig read_train_config(const Json& value, const std::string& source) {
  TrainConfig config;
  JsonObject object(value, source);
  ConfigReader reader(object);
  visit_fields(reader, config);
  object.finish();
  check_train_config(config, source);
  return config;
}

TrainConfig read_train_config_file(const std::string& file) {
  return read_train_config(read_json_file(file), file);
}

OrderedJson to_json(const TrainConfig& config) {
  return json_of<OrderedJson>(config);
}

Json to_plain_json(const TrainConfig& config) {
  return json_of<Json>(config);
}

Json changed_settings(const TrainConfig& config) {
  TrainConfig copy = config;  // as in to_json
  std::size_t place = 0;
  ChangeWriter writer(place);
  visit_fields(writer, copy);
  NB_CHECK(place == defaults().size(), "a setting has no default");
  return std::move(writer.json);
}

}  // namespace nanobench::core

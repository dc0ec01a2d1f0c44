#include "core/config/settings_reference.h"

#include <type_traits>
#include <utility>

#include "core/config/embedded_files.h"
#include "core/config/train_config_fields.h"
#include "core/config/train_config_names.h"

namespace nanobench::core {
namespace {

template <class Value>
struct Unwrapped {
  using Type = Value;
};
template <class Value>
struct Unwrapped<std::optional<Value>> {
  using Type = Value;
};
template <class Value>
constexpr bool kIsOptional = !std::is_same_v<typename Unwrapped<Value>::Type, Value>;

template <class Value>
OrderedJson json_of(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return enum_name(value);
  } else {
    return value;
  }
}
template <class Value>
OrderedJson json_of(const std::optional<Value>& value) {
  return value ? json_of(*value) : OrderedJson();
}
template <class Value>
OrderedJson json_of(const std::vector<Value>& values) {
  OrderedJson list = OrderedJson::array();
  for (const Value& value : values) list.push_back(json_of(value));
  return list;
}

template <class Value>
constexpr SettingType type_of() {
  if constexpr (std::is_same_v<Value, bool>) return SettingType::kBoolean;
  if constexpr (std::is_same_v<Value, std::int64_t>) return SettingType::kInteger;
  if constexpr (std::is_same_v<Value, double>) return SettingType::kNumber;
  if constexpr (std::is_same_v<Value, std::string>) return SettingType::kText;
  return SettingType::kEnumeration;
}

class ReferenceLister {
 public:
  ReferenceLister(std::vector<SettingReference>& settings, std::string prefix, std::vector<SettingCondition> conditions)
      : settings_(settings),
        prefix_(std::move(prefix)),
        conditions_(std::move(conditions)),
        outer_(conditions_.size()) {}

  template <class Enum>
  void active_when(const char* sibling, Enum, Enum wanted) {
    active_always();
    conditions_.push_back({prefix_ + "/" + sibling, enum_name(wanted)});
  }
  void active_always() { conditions_.resize(outer_); }

  template <class Group>
  void group(const FieldLabel& label, Group& member) {
    add(label, SettingType::kGroup);
    ReferenceLister nested(settings_, prefix_ + "/" + label.name, conditions_);
    visit_fields(nested, member);
  }

  template <class Group>
  void list(const FieldLabel& label, std::vector<Group>&) {
    add_groups(label, OrderedJson::array(), Group{});
  }
  void families(const FieldLabel& label, OptimizerConfig&) {
    add_groups(label, OrderedJson::object(), OptimizerGroupConfig{});
  }

  template <class Value>
  void field(const FieldLabel& label, const Value& member) {
    using Plain = typename Unwrapped<Value>::Type;
    SettingReference& setting = add(label, type_of<Plain>());
    setting.default_value = json_of(member);
    setting.is_optional = kIsOptional<Value>;
    if constexpr (std::is_enum_v<Plain>) setting.values = enum_names<Plain>();
  }
  template <class Entry>
  void field(const FieldLabel& label, const std::vector<Entry>& member) {
    constexpr bool is_number = std::is_same_v<Entry, double>;
    SettingReference& setting = add(label, is_number ? SettingType::kNumberList : SettingType::kIntegerList);
    setting.default_value = json_of(member);
    setting.is_optional = kIsOptional<Entry>;
  }
  template <class Value, class Low, class High>
  void field(const FieldLabel& label, const Value& member, Low low, High high) {
    field(label, member);
    settings_.back().range = SettingRange{.low = low, .high = high};
  }
  void pair(const FieldLabel& label, double first, double second, double low, double high) {
    SettingReference& setting = add(label, SettingType::kNumberPair);
    setting.default_value = {first, second};
    setting.range = SettingRange{.low = low, .high = high, .includes_high = false};
  }

 private:
  template <class Group>
  void add_groups(const FieldLabel& label, const OrderedJson& none, Group member) {
    add(label, SettingType::kGroups).default_value = none;
    std::vector<SettingReference> fields;
    ReferenceLister nested(fields, "", {});
    visit_fields(nested, member);
    for (const SettingReference& field : fields) settings_.back().members.push_back(field.pointer.substr(1));
  }

  SettingReference& add(const FieldLabel& label, SettingType type) {
    SettingReference& setting = settings_.emplace_back();
    setting.pointer = prefix_ + "/" + label.name;
    setting.type = type;
    setting.meaning = label.meaning;
    setting.unit = label.unit;
    setting.conditions = conditions_;
    return setting;
  }

  std::vector<SettingReference>& settings_;
  std::string prefix_;
  std::vector<SettingCondition> conditions_;
  std::size_t outer_;  ///< how many conditions come from the groups around
};

}  // namespace

const std::vector<SettingReference>& settings_reference() {
  static const std::vector<SettingReference> settings = [] {
    std::vector<SettingReference> found;
    TrainConfig defaults;
    ReferenceLister lister(found, "", {});
    visit_fields(lister, defaults);
    return found;
  }();
  return settings;
}

const std::map<std::string, Json>& first_settings() {
  static const std::map<std::string, Json> settings = [] {
    constexpr std::string_view kFile = "config/first_settings.json";
    for (const EmbeddedFile& file : embedded_files()) {
      if (file.path == kFile) return parse_json(file.text, std::string(kFile)).get<std::map<std::string, Json>>();
    }
    throw Error(ErrorCode::kInternal, std::string(kFile) + " is not part of this build");
  }();
  return settings;
}

const std::vector<std::string>& train_config_pointers() {
  static const std::vector<std::string> pointers = [] {
    std::vector<std::string> found;
    for (const SettingReference& setting : settings_reference()) {
      if (setting.type != SettingType::kGroup) found.push_back(setting.pointer);
    }
    return found;
  }();
  return pointers;
}

}  // namespace nanobench::core

#include "core/config/settings_reference.h"

#include <utility>

#include "core/config/embedded_files.h"
#include "core/config/train_config_fields.h"

namespace nanobench::core {
namespace {

class ReferenceLister final : public ValueVisitor {
 public:
  ReferenceLister(std::vector<SettingReference>& settings, std::string prefix, std::vector<SettingCondition> conditions)
      : settings_(settings),
        prefix_(std::move(prefix)),
        conditions_(std::move(conditions)),
        outer_(conditions_.size()) {}

  void active_always() override { conditions_.resize(outer_); }
  void families(const FieldLabel& label, OptimizerConfig&) override {
    OptimizerGroupConfig group;
    add_groups(label, OrderedJson::object(), [&group](FieldVisitor& visitor) { visit_fields(visitor, group); });
  }

 protected:
  void nested(const FieldLabel& label, const VisitGroup& visit) override {
    add(label, SettingType::kGroup);
    ReferenceLister lister(settings_, prefix_ + "/" + label.name, conditions_);
    visit(lister);
  }
  void nested_list(const FieldLabel& label, GroupList& groups) override {
    add_groups(label, OrderedJson::array(), [&groups](FieldVisitor& visitor) { groups.visit_defaults(visitor); });
  }
  void begin_condition(const char* sibling, const std::string& wanted, bool /*holds*/) override {
    active_always();
    conditions_.push_back({prefix_ + "/" + sibling, wanted});
  }
  void value(const FieldLabel& label, Json value, const FieldKind& kind) override {
    SettingReference& setting = add(label, kind.type);
    setting.default_value = value;
    setting.is_optional = kind.is_optional;
    if (kind.enumeration != nullptr) setting.values = kind.enumeration->names();
    setting.range = kind.range;
  }

 private:
  void add_groups(const FieldLabel& label, const OrderedJson& none, const VisitGroup& visit) {
    add(label, SettingType::kGroups).default_value = none;
    std::vector<SettingReference> fields;
    ReferenceLister lister(fields, "", {});
    visit(lister);
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

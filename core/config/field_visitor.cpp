#include "core/config/field_visitor.h"

#include <utility>

namespace nanobench::core {
namespace {

template <class Value>
Json json_or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

}  // namespace

void ValueVisitor::field(const FieldLabel& label, bool& member) {
  value(label, member, {.type = SettingType::kBoolean});
}

void ValueVisitor::field(const FieldLabel& label, std::string& member) {
  value(label, member, {.type = SettingType::kText});
}

void ValueVisitor::field(const FieldLabel& label, std::optional<std::string>& member) {
  value(label, json_or_null(member), {.type = SettingType::kText, .is_optional = true});
}

void ValueVisitor::field(const FieldLabel& label, const EnumField& member) {
  value(label, member.name(), {.type = SettingType::kEnumeration, .enumeration = &member});
}

void ValueVisitor::field(const FieldLabel& label, std::int64_t& member, std::int64_t low, std::int64_t high) {
  value(label, member, {.type = SettingType::kInteger, .range = SettingRange{.low = low, .high = high}});
}

void ValueVisitor::field(const FieldLabel& label, std::optional<std::int64_t>& member, std::int64_t low,
                         std::int64_t high) {
  value(label, json_or_null(member),
        {.type = SettingType::kInteger, .is_optional = true, .range = SettingRange{.low = low, .high = high}});
}

void ValueVisitor::field(const FieldLabel& label, double& member, double low, double high) {
  value(label, member, {.type = SettingType::kNumber, .range = SettingRange{.low = low, .high = high}});
}

void ValueVisitor::field(const FieldLabel& label, std::optional<double>& member, double low, double high) {
  value(label, json_or_null(member),
        {.type = SettingType::kNumber, .is_optional = true, .range = SettingRange{.low = low, .high = high}});
}

void ValueVisitor::field(const FieldLabel& label, std::vector<std::int64_t>& member, std::int64_t low,
                         std::int64_t high) {
  value(label, member, {.type = SettingType::kIntegerList, .range = SettingRange{.low = low, .high = high}});
}

void ValueVisitor::field(const FieldLabel& label, std::vector<std::optional<std::int64_t>>& member, std::int64_t low,
                         std::int64_t high) {
  Json entries = Json::array();
  for (const std::optional<std::int64_t>& entry : member) entries.push_back(json_or_null(entry));
  value(label, std::move(entries),
        {.type = SettingType::kIntegerList, .is_optional = true, .range = SettingRange{.low = low, .high = high}});
}

void ValueVisitor::field(const FieldLabel& label, std::vector<double>& member, double low, double high) {
  value(label, member, {.type = SettingType::kNumberList, .range = SettingRange{.low = low, .high = high}});
}

void ValueVisitor::pair(const FieldLabel& label, double& first, double& second, double low, double high) {
  value(label, {first, second},
        {.type = SettingType::kNumberPair, .range = SettingRange{.low = low, .high = high, .includes_high = false}});
}

}  // namespace nanobench::core

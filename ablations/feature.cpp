#include "ablations/feature.h"

#include <algorithm>

#include "ablations/patch.h"
#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::ablations {

namespace {

using core::Json;
using core::JsonObject;
using core::Reason;

constexpr const char* kOff = "off";
constexpr const char* kNone = "none";

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// "a", "b" or "c"
std::string quoted_list(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back('"' + name + '"');
  return listed(quoted, "or");
}

void read_values(JsonObject& object, Feature& feature) {
  const Json& values = object.at("values");
  if (!values.is_object() || values.size() < 2) {
    object.fail("values", Reason::kTooFewValues, "expected an object with at least two values, each a merge patch");
  }
  feature.before = object.string("before");
  feature.after = object.string("after");
  for (const char* key : {"before", "after"}) {
    const std::string name = object.string(key);
    if (!values.contains(name)) {
      std::vector<std::string> known;
      for (const auto& [value_name, unused] : values.items()) known.push_back(value_name);
      object.fail(key, Reason::kUnknownName, "\"" + name + "\" is not one of the values " + quoted_list(known));
    }
  }
  if (feature.before == feature.after)
    object.fail("after", Reason::kSameValue, "is the same value as before; a feature changes something");
  std::vector<std::string> order = {feature.before, feature.after};
  for (const auto& [name, unused] : values.items()) {
    if (!contains(order, name)) order.push_back(name);
  }
  for (const std::string& name : order) {
    check_patch(values.at(name), object.source(), object.pointer_to("values") + "/" + name);
    feature.values.push_back({name, values.at(name)});
  }
}

std::vector<FeatureRelation> read_relations(JsonObject& object, const std::string& key, const Feature& feature) {
  std::vector<FeatureRelation> relations;
  const Json* list = object.find(key);
  if (list == nullptr) return relations;
  if (!list->is_array())
    object.fail(key, Reason::kWrongType, "expected a list of {\"when\", \"feature\", \"values\"} objects");
  for (std::size_t i = 0; i < list->size(); ++i) {
    JsonObject item((*list)[i], object.source(), object.pointer_to(key) + "/" + std::to_string(i));
    FeatureRelation relation;
    relation.when = item.strings_or_empty("when");
    relation.feature = item.string("feature");
    relation.values = item.strings_or_empty("values");
    item.finish();
    for (const std::string& name : relation.when) {
      if (!contains(feature.value_names(), name)) {
        item.fail("when", Reason::kUnknownName,
                  "\"" + name + "\" is not one of the values " + quoted_list(feature.value_names()));
      }
    }
    if (relation.feature == feature.id) item.fail("feature", Reason::kSameValue, "a feature has no relation to itself");
    if (key == "requires" && relation.values.empty()) {
      item.fail("values", Reason::kEmpty, "name at least one value; the first is the one that is pulled in");
    }
    relations.push_back(std::move(relation));
  }
  return relations;
}

/// Absent for an idea that is in no record and no analysis.
void read_introduced(JsonObject& object, Feature& feature) {
  if (object.find("introduced") == nullptr) return;
  JsonObject introduced = object.object("introduced");
  if (introduced.find("record") != nullptr) feature.introduced_record = introduced.integer("record", 1, 10000);
  feature.analyses = introduced.strings_or_empty("analyses");
  introduced.finish();
}

std::vector<DocumentedChange> read_changes(JsonObject& object) {
  std::vector<DocumentedChange> changes;
  const Json* list = object.find("changes");
  if (list == nullptr) return changes;
  if (!list->is_array()) object.fail("changes", Reason::kWrongType, "expected a list of {\"record\", \"id\"} objects");
  for (std::size_t i = 0; i < list->size(); ++i) {
    JsonObject item((*list)[i], object.source(), object.pointer_to("changes") + "/" + std::to_string(i));
    changes.push_back({item.integer("record", 1, 10000), item.string("id")});
    item.finish();
  }
  return changes;
}

/// {"processes": 2} implies as many ranks.
FeatureNeeds read_needs(JsonObject& object) {
  FeatureNeeds needs;
  if (object.find("needs") == nullptr) return needs;
  constexpr std::int64_t kMax = 1 << 16;
  JsonObject nested = object.object("needs");
  needs.processes = nested.integer_or("processes", 1, 1, kMax);
  needs.ranks = nested.integer_or("ranks", needs.processes, needs.processes, kMax);
  needs.threads = nested.integer_or("threads", 1, 1, kMax);
  needs.micro_steps = nested.integer_or("micro_steps", 1, 1, kMax);
  needs.gpu = nested.boolean_or("gpu", false);
  nested.finish();
  return needs;
}

/// Reads everything that only a feature with values has.
void read_toggle(JsonObject& object, Feature& feature) {
  read_values(object, feature);
  feature.requirements = read_relations(object, "requires", feature);
  feature.conflicts = read_relations(object, "conflicts", feature);
  feature.needs = read_needs(object);
  feature.base = object.string_or("base", feature.base);
}

void read_not_applicable(JsonObject& object, Feature& feature) {
  feature.not_applicable = object.string("not_applicable");
  if (feature.not_applicable->empty())
    object.fail("not_applicable", Reason::kEmpty, "expected one sentence that says why, got \"\"");
  for (const char* key : {"values", "before", "after", "requires", "conflicts", "needs", "base"}) {
    if (object.has(key))
      object.fail(key, Reason::kExcluded, "an entry that is not applicable cannot be set, so it has none; remove it");
  }
}

}  // namespace

bool FeatureRelation::concerns(const std::string& own_value) const {
  return when.empty() || contains(when, own_value);
}

bool FeatureRelation::names(const std::string& other_value) const {
  return values.empty() || contains(values, other_value);
}

const FeatureValue& Feature::value(const std::string& name) const {
  if (not_applicable)
    throw core::Refusal(core::ErrorCode::kUnavailable, Reason::kNotApplicable,
                        id + " cannot be set: " + *not_applicable, id);
  for (const FeatureValue& candidate : values) {
    if (candidate.name == name) return candidate;
  }
  if (const std::string own = own_name(name); own != name) return value(own);
  throw core::Refusal(core::ErrorCode::kNotFound, Reason::kUnknownValue,
                      "feature " + id + " has no value \"" + name + "\"" + core::suggestion(name, value_names()) +
                          "; expected " + quoted_list(value_names()),
                      name);
}

std::string Feature::own_name(const std::string& name) const {
  const std::vector<std::string> names = value_names();
  return name == kOff && !contains(names, kOff) && contains(names, kNone) ? kNone : name;
}

std::vector<std::string> Feature::value_names() const {
  std::vector<std::string> names;
  for (const FeatureValue& candidate : values) names.push_back(candidate.name);
  return names;
}

Feature read_feature(const Json& json, const std::string& source) {
  JsonObject object(json, source);
  Feature feature;
  feature.source = source;
  feature.id = object.string("id");
  if (feature.id.empty())
    object.fail("id", Reason::kEmpty, "is empty; expected a noun phrase such as \"window_warmup\"");
  feature.title = object.string("title");
  read_introduced(object, feature);
  feature.changes = read_changes(object);
  feature.kind = object.enumeration<FeatureKind>("kind");
  if (object.has("not_applicable")) {
    read_not_applicable(object, feature);
  } else {
    read_toggle(object, feature);
  }
  feature.text = object.string("text");
  object.finish();
  return feature;
}

}  // namespace nanobench::ablations

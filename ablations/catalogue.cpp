#include "ablations/catalogue.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"

namespace nanobench::ablations {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;

template <class Entry>
std::vector<std::string> ids_of(const std::map<std::string, Entry>& entries) {
  std::vector<std::string> ids;
  for (const auto& [id, unused] : entries) ids.push_back(id);
  return ids;
}

template <class Entry>
const Entry& find(const std::map<std::string, Entry>& entries, const std::string& id, const std::string& kind) {
  const auto found = entries.find(id);
  if (found != entries.end()) return found->second;
  constexpr std::size_t kFew = 12;
  const std::string known =
      entries.size() <= kFew ? "; there are " + listed(ids_of(entries)) : "; `nanobench list " + kind + "s` shows all";
  throw core::Refusal(ErrorCode::kNotFound, core::Reason::kUnknownName,
                      "there is no " + kind + " \"" + id + "\"" + core::suggestion(id, ids_of(entries)) + known, id);
}

void require_stem(const std::string& id, const std::string& stem, const std::string& source) {
  if (id == stem) return;
  throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kOtherName,
                      core::json_location(source, "/id") + ": expected the file's name \"" + stem + "\", got \"" + id +
                          "\"; rename one of them",
                      "/id");
}

/// Adds one file of `kind` (the folder's name) to the catalogue.
void add_file(Catalogue& catalogue, const std::string& kind, const std::string& stem, const Json& json,
              const std::string& source) {
  if (json.is_object() && json.contains("id") && json["id"].is_string()) {
    require_stem(json["id"].get<std::string>(), stem, source);
  }
  if (kind == "features") catalogue.add_feature(json, source);
  if (kind == "records") catalogue.add_record(json, source);
  if (kind == "scales") catalogue.add_scale(json, source);
  if (kind == "claims") catalogue.add_claim(json, source);
}

constexpr const char* kKinds[] = {"features", "records", "scales", "claims"};

/// Files say what a value is called; only people may say "off" for "none".
void require_own_name(const Feature& feature, const std::string& name) {
  const std::string& own = feature.value(name).name;
  if (own == name) return;
  throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kOtherName,
                      "the value of " + feature.id + " is called \"" + own + "\", not \"" + name + "\"", name);
}

/// The other feature's value names that a relation lists must exist.
void check_relation(const Catalogue& catalogue, const Feature& feature, const FeatureRelation& relation,
                    const std::string& pointer) {
  const std::string place = core::json_location(feature.source, pointer) + ": ";
  try {
    const Feature& other = catalogue.feature(relation.feature);
    if (!other.is_applicable())
      throw core::Refusal(ErrorCode::kUnavailable, core::Reason::kNotApplicable,
                          other.id + " cannot be set: " + *other.not_applicable, other.id);
    for (const std::string& name : relation.values) require_own_name(other, name);
  } catch (const Error& error) {
    rethrow_internal(error);
    throw_again(error, ErrorCode::kInvalidArgument, place + error.what());
  }
}

/// Does `other` declare the same conflict on its side?
bool mirrors(const Feature& feature, const FeatureRelation& relation, const Feature& other) {
  const auto excludes = [](const Feature& one, const std::string& value, const Feature& two,
                           const std::string& two_value) {
    return std::any_of(one.conflicts.begin(), one.conflicts.end(), [&](const FeatureRelation& r) {
      return r.feature == two.id && r.concerns(value) && r.names(two_value);
    });
  };
  for (const std::string& own : feature.value_names()) {
    for (const std::string& theirs : other.value_names()) {
      if (relation.concerns(own) && relation.names(theirs) && !excludes(other, theirs, feature, own)) return false;
    }
  }
  return true;
}

void check_feature(const Catalogue& catalogue, const Feature& feature) {
  for (std::size_t i = 0; i < feature.requirements.size(); ++i) {
    check_relation(catalogue, feature, feature.requirements[i], "/requires/" + std::to_string(i));
  }
  for (std::size_t i = 0; i < feature.conflicts.size(); ++i) {
    const FeatureRelation& relation = feature.conflicts[i];
    const std::string pointer = "/conflicts/" + std::to_string(i);
    check_relation(catalogue, feature, relation, pointer);
    if (!mirrors(feature, relation, catalogue.feature(relation.feature))) {
      throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kOneSided,
                          core::json_location(feature.source, pointer) + ": " + relation.feature +
                              " does not state this conflict; add it there too",
                          pointer);
    }
  }
}

/// Checks that the features and values named in `settings` exist; `settings` is at `pointer` in `source`.
void check_settings(const Catalogue& catalogue, const FeatureSettings& settings, const std::string& source,
                    const std::string& pointer) {
  for (const auto& [id, value] : settings) {
    try {
      require_own_name(catalogue.feature(id), value);
    } catch (const Error& error) {
      rethrow_internal(error);
      throw_again(error, ErrorCode::kInvalidArgument,
                  core::json_location(source, pointer + "/" + id) + ": " + error.what());
    }
  }
}

void check_record(const Catalogue& catalogue, const Record& record) {
  catalogue.lineage(record.id);
  check_settings(catalogue, record.features, record.source, "/features");
}

/// Runs `look_up`; adds this place in the claim's file to any error.
template <class LookUp>
void look_up_at(const Claim& claim, const std::string& pointer, LookUp look_up) {
  try {
    look_up();
  } catch (const Error& error) {
    rethrow_internal(error);
    throw_again(error, ErrorCode::kInvalidArgument, core::json_location(claim.source, pointer) + ": " + error.what());
  }
}

void check_arm(const Catalogue& catalogue, const Claim& claim, const MeasureArm& arm, const std::string& pointer) {
  if (claim.measure.kind == MeasureKind::kBenchmark) return;
  look_up_at(claim, pointer + "/record", [&] { catalogue.record(arm.record); });
  for (const auto& [id, value] : arm.features) {
    look_up_at(claim, pointer + "/features/" + id, [&] { catalogue.feature(id).value(value); });
  }
}

/// Checks that the record, features and values that the claim names exist.
void check_claim(const Catalogue& catalogue, const Claim& claim) {
  const auto records = catalogue.records();
  if (std::none_of(records.begin(), records.end(), [&](const Record* r) { return r->number == claim.record; })) {
    throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kUnknownName,
                        core::json_location(claim.source, "/record") + ": there is no record number " +
                            std::to_string(claim.record) + "; `nanobench list records` shows all",
                        std::to_string(claim.record));
  }
  for (std::size_t i = 0; i < claim.features.size(); ++i) {
    look_up_at(claim, "/features/" + std::to_string(i), [&] { catalogue.feature(claim.features[i]); });
  }
  if (claim.measure.before) check_arm(catalogue, claim, *claim.measure.before, "/measure/before");
  if (claim.measure.after) check_arm(catalogue, claim, *claim.measure.after, "/measure/after");
  if (claim.measure.whole) check_arm(catalogue, claim, *claim.measure.whole, "/measure/whole");
}

}  // namespace

Catalogue Catalogue::embedded(CatalogueParts parts) {
  Catalogue catalogue;
  for (const core::EmbeddedFile& file : embedded_files()) {
    const std::filesystem::path path(file.path);  // "features/rotary.json"
    const std::string kind = path.parent_path().string();
    if (kind == "claims" && parts == CatalogueParts::kWithoutClaims) continue;
    const std::string source = "ablations/" + path.string();
    add_file(catalogue, kind, path.stem().string(), core::parse_json(file.text, source), source);
  }
  catalogue.check();
  return catalogue;
}

void Catalogue::overlay(const std::filesystem::path& folder) {
  Catalogue extended = *this;
  bool found = false;
  for (const std::string kind : kKinds) {
    if (!std::filesystem::is_directory(folder / kind)) continue;
    found = true;
    std::set<std::filesystem::path> files;  // sorted: errors come in a stable order
    for (const auto& entry : std::filesystem::directory_iterator(folder / kind)) {
      if (entry.path().extension() == ".json") files.insert(entry.path());
    }
    for (const std::filesystem::path& file : files) {
      add_file(extended, kind, file.stem().string(), core::read_json_file(file), file.string());
    }
  }
  if (!found) {
    throw core::Refusal(ErrorCode::kNotFound, core::Reason::kEmpty,
                        "the catalogue folder " + folder.string() +
                            " has none of the folders features, records, scales and claims; check the path",
                        folder.string());
  }
  extended.check();
  *this = std::move(extended);
}

void Catalogue::add_feature(const Json& json, const std::string& source) {
  Feature feature = read_feature(json, source);
  features_[feature.id] = std::move(feature);
  invalidate_cache();
}

void Catalogue::add_record(const Json& json, const std::string& source) {
  Record record = read_record(json, source);
  records_[record.id] = std::move(record);
  invalidate_cache();
}

void Catalogue::add_scale(const Json& json, const std::string& source) {
  Scale scale = read_scale(json, source);
  scales_[scale.id] = std::move(scale);
  invalidate_cache();
}

void Catalogue::add_claim(const Json& json, const std::string& source) {
  Claim claim = read_claim(json, source);
  claims_[claim.id] = std::move(claim);
}

void Catalogue::check() const {
  for (const auto& [unused, feature] : features_) check_feature(*this, feature);
  for (const auto& [unused, record] : records_) check_record(*this, record);
  for (const auto& [unused, scale] : scales_) check_settings(*this, scale.holds, scale.source, "/holds");
  for (const auto& [unused, claim] : claims_) check_claim(*this, claim);
}

const Feature& Catalogue::feature(const std::string& id) const {
  return find(features_, id, "feature");
}

const Record& Catalogue::record(const std::string& id) const {
  return find(records_, id, "record");
}

const Scale& Catalogue::scale(const std::string& id) const {
  return find(scales_, id, "scale");
}

const Claim& Catalogue::claim(const std::string& id) const {
  return find(claims_, id, "claim");
}

std::vector<const Feature*> Catalogue::features() const {
  std::vector<const Feature*> list = all_features();
  std::erase_if(list, [](const Feature* feature) { return !feature->is_applicable(); });
  return list;
}

std::vector<const Feature*> Catalogue::all_features() const {
  std::vector<const Feature*> list;
  for (const auto& [unused, feature] : features_) list.push_back(&feature);
  std::stable_sort(list.begin(), list.end(), [](const Feature* a, const Feature* b) {
    constexpr std::int64_t kLast = 1 << 20;
    return a->introduced_record.value_or(kLast) < b->introduced_record.value_or(kLast);
  });
  return list;
}

std::vector<const Record*> Catalogue::records() const {
  std::vector<const Record*> list;
  for (const auto& [unused, record] : records_) list.push_back(&record);
  std::stable_sort(list.begin(), list.end(), [](const Record* a, const Record* b) { return a->number < b->number; });
  return list;
}

std::vector<const Scale*> Catalogue::scales() const {
  std::vector<const Scale*> list;
  for (const auto& [unused, scale] : scales_) list.push_back(&scale);
  const auto shrinkage = [](const Scale* scale) {
    const auto width = static_cast<double>(scale->model_dim_divisor);
    return width * width * static_cast<double>(scale->tokens_per_step_divisor) *
           static_cast<double>(scale->steps_divisor);
  };
  std::stable_sort(list.begin(), list.end(),
                   [&](const Scale* a, const Scale* b) { return shrinkage(a) > shrinkage(b); });
  return list;
}

std::vector<const Claim*> Catalogue::claims() const {
  std::vector<const Claim*> list;
  for (const auto& [unused, claim] : claims_) list.push_back(&claim);
  const auto key = [](const Claim* claim) { return std::tie(claim->analysis, claim->place); };
  std::stable_sort(list.begin(), list.end(), [&](const Claim* a, const Claim* b) { return key(a) < key(b); });
  return list;
}

std::vector<const Record*> Catalogue::lineage(const std::string& id) const {
  std::vector<const Record*> chain = {&record(id)};
  while (chain.back()->parent) {
    const Record& child = *chain.back();
    const std::string where = core::json_location(child.source, "/parent");
    if (!has_record(*child.parent)) {
      throw core::Refusal(
          ErrorCode::kNotFound, core::Reason::kUnknownName,
          where + ": there is no record \"" + *child.parent + "\"" + core::suggestion(*child.parent, ids_of(records_)),
          *child.parent);
    }
    const Record* parent = &record(*child.parent);
    if (std::find(chain.begin(), chain.end(), parent) != chain.end()) {
      throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kEndless,
                          where + ": " + parent->id + " descends from " + child.id +
                              "; a chain of parents must end at a record without one",
                          parent->id);
    }
    chain.push_back(parent);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

Json Catalogue::cached(const std::string& record, const std::function<Json()>& make) const {
  {
    const std::lock_guard lock(cache_->mutex);
    if (const auto found = cache_->by_record.find(record); found != cache_->by_record.end()) return found->second;
  }
  Json value = make();
  const std::lock_guard lock(cache_->mutex);
  cache_->by_record[record] = value;
  return value;
}

}  // namespace nanobench::ablations

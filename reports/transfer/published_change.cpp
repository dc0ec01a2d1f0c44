#include "reports/transfer/published_change.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "ablations/resolve.h"
#include "core/base/json.h"

namespace nanobench::reports {
namespace {

using ablations::Catalogue;
using ablations::Feature;
using ablations::Record;

constexpr double kSecondsPerMinute = 60.0;

/// Settings that are numbers of steps of the training and of its schedules. Warm-ups are not among them: records change
/// those for their own sake.
constexpr std::array<std::string_view, 5> kStepSettings = {"num_steps", "stop_after", "cooldown_steps",
                                                           "extension_steps", "from"};

bool is_number_of_steps(const std::string& pointer) {
  const std::string_view last = std::string_view(pointer).substr(pointer.rfind('/') + 1);
  return std::find(kStepSettings.begin(), kStepSettings.end(), last) != kStepSettings.end();
}

struct PublishedTimes {
  double before_s = 0.0;
  double after_s = 0.0;
};

/// The times of one kind: training clocks, or the official times where a record has no other.
std::optional<PublishedTimes> times_of(const Record& before, const Record& after) {
  const auto& a = before.published;
  const auto& b = after.published;
  if (a.train_seconds && b.train_seconds) return PublishedTimes{*a.train_seconds, *b.train_seconds};
  if (a.minutes && b.minutes) return PublishedTimes{kSecondsPerMinute * *a.minutes, kSecondsPerMinute * *b.minutes};
  return std::nullopt;
}

std::optional<PublishedChange> change_between(const Record& before, const Record& after) {
  const std::optional<PublishedTimes> times = times_of(before, after);
  if (!times || !(times->before_s > 0.0) || !(times->after_s > 0.0)) return std::nullopt;
  PublishedChange change{.log_ratio = std::log(times->after_s / times->before_s),
                         .record = after.id,
                         .before_s = times->before_s,
                         .after_s = times->after_s,
                         .limit = std::nullopt,
                         .note = after.note};
  if (before.published.is_of_another_script || after.published.is_of_another_script)
    change.limit = PublishedLimit{.kind = PublishedLimit::Kind::kOtherScript};
  return change;
}

/// The records that changed the feature from one value to the other, in order.
std::vector<const Record*> records_with(const Catalogue& catalogue, const Feature& feature, const ChangeKey& key) {
  std::vector<const Record*> found;
  for (const Record* record : catalogue.records()) {
    const auto set = record->features.find(feature.id);
    if (set == record->features.end() || set->second != key.to || !record->parent) continue;
    const core::TrainConfig before = ablations::resolve_record(catalogue, *record->parent);
    if (ablations::feature_value_at(before, feature) == key.from) found.push_back(record);
  }
  return found;
}

/// The features that the record changed besides this one and numbers of steps.
std::vector<std::string> other_changes(const Catalogue& catalogue, const Record& record, const Feature& feature) {
  std::vector<std::string> others;
  const core::TrainConfig parent = ablations::resolve_record(catalogue, *record.parent);
  for (const auto& [id, value] : record.features) {
    if (id == feature.id) continue;
    const Feature& other = catalogue.feature(id);
    const std::optional<std::string> before = ablations::feature_value_at(parent, other);
    if (!before || !differs_in_steps_alone(other, *before, value)) others.push_back(id);
  }
  // What the configuration cannot show: another library, code that computes the same.
  for (const Feature* other : catalogue.all_features()) {
    const bool is_of_record =
        other->introduced_record == record.number ||
        std::any_of(other->changes.begin(), other->changes.end(),
                    [&](const ablations::DocumentedChange& change) { return change.record == record.number; });
    if (is_of_record && !other->is_applicable()) others.push_back(other->id);
  }
  return others;
}

/// Why the times are not of this measurement's change alone; nullopt if they are.
std::optional<PublishedLimit> limit_of(const Catalogue& catalogue, const Record& record, const Feature& feature,
                                       const ChangeKey& key) {
  const std::vector<std::string> others = other_changes(catalogue, record, feature);
  if (!others.empty() || !record.patch.empty())
    return PublishedLimit{
        .kind = PublishedLimit::Kind::kOtherChanges, .others = others, .has_other_settings = !record.patch.empty()};
  const bool is_there = key.base.empty() && (key.base_record == record.id || key.base_record == record.parent);
  if (is_there) return std::nullopt;
  return PublishedLimit{.kind = PublishedLimit::Kind::kOtherBase, .base = key.base_text()};
}

}  // namespace

bool differs_in_steps_alone(const Feature& feature, const std::string& before, const std::string& after) {
  const core::Json a = feature.value(before).patch.flatten();
  const core::Json b = feature.value(after).patch.flatten();
  if (a.size() != b.size()) return false;
  for (const auto& [pointer, value] : a.items()) {
    if (!b.contains(pointer)) return false;
    const core::Json& other = b.at(pointer);
    if (value == other) continue;
    const bool are_steps = is_number_of_steps(pointer) && value.is_number() && other.is_number() &&
                           value.get<double>() > 0.0 && other.get<double>() > 0.0;
    if (!are_steps) return false;
  }
  return true;
}

std::optional<PublishedChange> published_change(const Catalogue& catalogue, const ChangeKey& key) {
  if (key.is_record_step()) {
    if (!catalogue.has_record(key.from) || !catalogue.has_record(key.to)) return std::nullopt;
    return change_between(catalogue.record(key.from), catalogue.record(key.to));
  }
  if (!catalogue.has_feature(key.setting)) return std::nullopt;
  const Feature& feature = catalogue.feature(key.setting);
  if (!feature.is_applicable()) return std::nullopt;
  std::optional<PublishedChange> best;
  for (const Record* record : records_with(catalogue, feature, key)) {
    std::optional<PublishedChange> change = change_between(catalogue.record(*record->parent), *record);
    if (!change) continue;
    if (change->counts()) change->limit = limit_of(catalogue, *record, feature, key);
    if (!best || (change->counts() && !best->counts())) best = std::move(change);
  }
  return best;
}

}  // namespace nanobench::reports

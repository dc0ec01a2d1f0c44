/// A feature: one documented change of the speedrun, as data. Its values are JSON merge patches (RFC 7386) on the
/// *official* TrainConfig; a scale shrinks the result afterwards, so one patch serves every scale.
///
/// Plain values; thread-safe when not modified. The file format is the example in README.md of this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/json.h"

namespace nanobench::ablations {

/// kNumerics: the loss trajectory changes. kSystems: it must stay bit-identical at the same thread count.
enum class FeatureKind { kNumerics, kSystems };
NB_ENUM_NAMES(FeatureKind, {FeatureKind::kNumerics, "numerics"}, {FeatureKind::kSystems, "systems"});

struct FeatureValue {
  std::string name;
  core::Json patch;  ///< an object over TrainConfig; its keys are checked when the feature is read
};

/// A relation to another feature. It holds for the values in `when` (empty: all) and concerns the `values` (empty: any)
/// of `feature`.
struct FeatureRelation {
  std::vector<std::string> when;
  std::string feature;
  std::vector<std::string> values;

  bool concerns(const std::string& own_value) const;
  bool names(const std::string& other_value) const;
};

/// A documented change that a feature implements: the newer of the two records that differ, and the change's name.
struct DocumentedChange {
  std::int64_t record = 0;
  std::string id;  ///< "ve-mirror-6"
};

/// What a run needs for a feature to take effect. 1: nothing special.
struct FeatureNeeds {
  std::int64_t ranks = 1;
  std::int64_t processes = 1;
  std::int64_t threads = 1;
  std::int64_t micro_steps = 1;  ///< micro-steps of a rank in one step
  bool gpu = false;              ///< the run must compute on a GPU
};

struct Feature {
  std::string id;  ///< noun phrase, the file's stem
  std::string title;
  std::optional<std::int64_t> introduced_record;  ///< number of the record that changed before to after
  std::vector<std::string> analyses;              ///< "000" ... "004": the change analyses that mention it
  std::vector<DocumentedChange> changes;
  /// Why this change does not apply to this engine; such an entry has no values and cannot be set.
  std::optional<std::string> not_applicable;
  std::vector<FeatureValue> values;  ///< at least two: before, after, then the others by name
  std::string before;
  std::string after;
  FeatureKind kind = FeatureKind::kNumerics;
  std::vector<FeatureRelation> requirements;  ///< setting this value pulls in the first of `values` if none holds
  std::vector<FeatureRelation> conflicts;     ///< cannot be resolved together
  FeatureNeeds needs;
  std::string base = "record17";  ///< record from which contract tests try every value
  std::string text;               ///< what it is, why it should help, what to watch
  std::string source;             ///< the file it was read from, for messages

  bool is_applicable() const { return !not_applicable.has_value(); }
  /// "off" also names the value "none", which many features have for it. The result's name is the value's own.
  /// Throws Error{kNotFound} with the known values, or Error{kUnavailable} with the reason when it is not applicable.
  const FeatureValue& value(const std::string& name) const;
  /// The name of the value that `name` names; `name` itself if it names none.
  std::string own_name(const std::string& name) const;
  std::vector<std::string> value_names() const;
};

/// Reads one feature file. Throws Error{kInvalidArgument} with `source` and the JSON pointer: unknown or missing keys,
/// patches over unknown settings, before/after that name no value, relations to itself, values of an entry that is not
/// applicable.
Feature read_feature(const core::Json& json, const std::string& source);

}  // namespace nanobench::ablations

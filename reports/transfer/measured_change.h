/// Single changes that stored plans measured, each under a key by which other scales' measurements of the same change
/// are found. Reading needs a Store (one thread); the rest is pure.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ablations/catalogue.h"
#include "reports/effects/effects.h"
#include "results/store.h"

namespace nanobench::reports {

/// What was changed, in which configuration. Two measurements are of the same change if all members are equal.
struct ChangeKey {
  std::string setting;      ///< feature, JSON pointer of a setting, or "record" for a step of a history
  std::string from;         ///< its earlier value, or the earlier record
  std::string to;           ///< its later value
  std::string base_record;  ///< record that the cells are based on; empty for a step of a history
  std::string base;         ///< what else differs from that record: "qk_norm=off", "averaged over rotary"; may be empty

  bool is_record_step() const { return setting == "record"; }
  /// "record17", "record17, qk_norm=off"; "" for a step of a history.
  std::string base_text() const;

  friend auto operator<=>(const ChangeKey&, const ChangeKey&) = default;
};

/// The change that a contrast measures. nullopt for interactions, noise, plans of old versions that did not store the
/// values, and cells of several records.
std::optional<ChangeKey> change_of(const results::PlanRecord& plan, const results::PlanContrast& contrast);

/// One change, measured at one scale.
struct MeasuredChange {
  ChangeKey key;
  std::string scale;    ///< "smoke"; "smoke (mock)" for the mock engine, which is no scale of a training
  EffectResult effect;  ///< later value minus earlier value
  std::map<std::string, double> sources;  ///< coefficient of each configuration, by digest: equal ones share runs
  std::string database;                   ///< file name
  std::int64_t plan_id = 0;
  std::string suite;
  std::string data_name;
  std::string hardware;
};

/// Which plans to read.
struct ChangeSelection {
  std::vector<std::string> suites;  ///< empty: all
  std::vector<std::int64_t> plans;  ///< of the first store; empty: all. Other stores are not limited
};

/// For each scale and change the newest plan of these databases that has an effect of it on the loss. Plans of external
/// trainers are left out: their suites state no scale. Effects are judged as `report` judges them. Throws
/// Error{kNotFound} for a selected suite or plan that no database has.
std::vector<MeasuredChange> read_measured_changes(const std::vector<const results::Store*>& stores,
                                                  const ChangeSelection& selection = {});

/// The labels of the scales in `changes`, smallest runs first; unknown ones last.
std::vector<std::string> scales_of(const std::vector<MeasuredChange>& changes, const ablations::Catalogue& catalogue);

}  // namespace nanobench::reports

/// What the record table says that a change bought, as far as it says it of that change alone. Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ablations/catalogue.h"
#include "reports/transfer/measured_change.h"

namespace nanobench::reports {

/// Why a published time is not of a measured change alone.
struct PublishedLimit {
  enum class Kind {
    kOtherScript,   ///< the logs are of another script than the record's
    kOtherChanges,  ///< the record changed `others` too, or settings that belong to no feature
    kOtherBase,     ///< the change was measured in `base`, which is neither the record nor its parent
  };
  Kind kind = Kind::kOtherScript;
  std::vector<std::string> others = {};  ///< features
  bool has_other_settings = false;
  std::string base = {};

  bool operator==(const PublishedLimit&) const = default;
};

/// The published training times on 8 H100 before and after a change.
///
/// Records end at nearly equal losses by the speedrun's rule, so the ratio of their times is one at equal loss. It has
/// no error: the record table gives one number, the logs a mean.
struct PublishedChange {
  double log_ratio = 0.0;  ///< logarithm of the time after over the time before; below 0: faster
  std::string record;      ///< the record that brought the change
  double before_s = 0.0;   ///< seconds of the training clock, or official ones if a record has no other
  double after_s = 0.0;
  std::optional<PublishedLimit> limit;  ///< absent: it counts
  std::string note;                     ///< the record's note on its published figures; may be empty

  bool counts() const { return !limit; }
};

/// nullopt if no record brought the change, or its times are not published.
///
/// A step of a history has the times of its records. A feature has those of the record that brought it, and they count
/// only if that record changed nothing else, be it numerics or systems, but numbers of steps, by which a record's loss
/// is kept at the target; and only for a measurement in that record or in its parent.
std::optional<PublishedChange> published_change(const ablations::Catalogue& catalogue, const ChangeKey& key);

/// Whether two values of a feature differ only in how many steps a schedule has: the same settings, and the same values
/// but for numbers of steps above 0. Switching a schedule on (from 0, or from none) is a change of its own.
bool differs_in_steps_alone(const ablations::Feature& feature, const std::string& before, const std::string& after);

}  // namespace nanobench::reports

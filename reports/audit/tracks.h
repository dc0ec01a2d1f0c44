/// The rules that each track of the speedrun judges logs by. Pure, thread-safe.
#pragma once

#include <filesystem>
#include <optional>

#include "core/base/enum_names.h"

namespace nanobench::reports {

/// The test of the mean loss that decides.
enum class AuditRule {
  kT,  ///< one-sided one-sample t, p below a limit: track 1 and 2
  kZ,  ///< (target - mean) * sqrt(n) >= threshold: the spread is known, so one run can meet it: track 3
};
NB_ENUM_NAMES(AuditRule, {AuditRule::kT, "t"}, {AuditRule::kZ, "z"});

struct TrackRule {
  int track = 1;
  double target = 3.28;  ///< nats per token
  AuditRule rule = AuditRule::kT;

  friend bool operator==(const TrackRule&, const TrackRule&) = default;
};

inline constexpr int kTracks = 3;

/// The rule of track 1, 2 or 3. Throws Error{kInvalidArgument} for another number.
TrackRule rule_of_track(int track);

/// The track that a part of the path names: "track_2_medium" is 2. The path is made absolute first, so that a log named
/// from inside its track's folder is recognised. nullopt if no part names a track.
std::optional<int> track_of(const std::filesystem::path& path);

}  // namespace nanobench::reports

#include "reports/audit/tracks.h"

#include <string>

#include "core/base/error.h"

namespace nanobench::reports {

TrackRule rule_of_track(int track) {
  switch (track) {
    case 1: return {};
    case 2: return {.track = 2, .target = 2.92};
    case 3: return {.track = 3, .rule = AuditRule::kZ};
    default: break;
  }
  throw core::Error(core::ErrorCode::kInvalidArgument,
                    "track " + std::to_string(track) + " is unknown: expected 1, 2 or 3");
}

std::optional<int> track_of(const std::filesystem::path& path) {
  constexpr std::size_t kPrefix = 6;  // "track_"
  for (const std::filesystem::path& part : std::filesystem::absolute(path).lexically_normal()) {
    const std::string name = part.string();
    if (name.size() <= kPrefix || !name.starts_with("track_")) continue;
    const int track = name[kPrefix] - '0';
    const bool is_end = name.size() == kPrefix + 1 || name[kPrefix + 1] == '_';
    if (track >= 1 && track <= kTracks && is_end) return track;
  }
  return std::nullopt;
}

}  // namespace nanobench::reports

/// A part of the report of an audit. Pure.
#pragma once

#include <optional>

#include "reports/audit/audit.h"
#include "reports/document/document.h"

namespace nanobench::reports {

inline constexpr std::size_t kMaxReviewedGroups = 3;

/// The table "review", what a reviewer needs in five lines for each group: the evidence, the rule, the time, the record
/// before, and what would settle the rest. nullopt for logs of several folders, without a group, or with more than
/// kMaxReviewedGroups.
std::optional<Section> review_section(const Audit& audit);

}  // namespace nanobench::reports

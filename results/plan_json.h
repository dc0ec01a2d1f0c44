/// The parts of a stored plan that are JSON in the store: written in this version's form, read in all forms that a
/// store may hold (internal to results). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/records.h"

namespace nanobench::results {

std::string text_of(const std::vector<PlanCell>& cells);
std::string text_of(const std::vector<PlanContrast>& contrasts);
std::string text_of(const std::vector<core::Message>& messages);
std::optional<std::string> text_of(const std::optional<SequentialLook>& look);

/// Throw Error{kUnavailable} for a name of a design or kind that only a newer version knows.
Design read_design(const std::string& text);
std::vector<PlanCell> read_cells(const std::string& text);
/// Contrasts stored without their factors get them from the name of the effect, without levels.
std::vector<PlanContrast> read_contrasts(const std::string& text);
/// Messages stored as plain sentences become notes; of claims, the sentence's own subject.
std::vector<core::Message> read_messages(const std::string& text);
std::optional<SequentialLook> read_sequential(const std::optional<std::string>& text);

}  // namespace nanobench::results

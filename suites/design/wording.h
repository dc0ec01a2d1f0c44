/// The messages of a matrix: what was left out, completed or fitted, and how to read its labels (internal to suites).
/// All sentences are made here, from values alone. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ablations/resolve.h"
#include "core/base/message.h"

namespace nanobench::suites {

/// A message from resolving a cell, attributed to that cell.
core::Message about_cell(const std::string& label, const core::Message& message);
core::Message scale_note(const std::string& scale, const std::string& text);
core::Message data_note(const std::string& data, const std::string& text);

/// "SUBJECT: left out, REASON"
core::Message left_out(const std::string& subject, const std::string& reason);
/// The suite names no features, and the base does not have these at their later value.
core::Message left_out_features(const std::vector<std::string>& ids);
/// Cells of a grid left out for the same reason; `cells` is the total number of cells.
core::Message left_out_cells(const std::vector<std::string>& labels, std::size_t cells, const std::string& reason);
/// Named features that can change nothing, by their messages, and what to do.
std::string idle_features(const std::vector<std::string>& left_out);
/// Effects that the remaining cells cannot separate from others.
core::Message not_estimable(const std::vector<std::string>& effects);
core::Message not_measurable(const std::string& claim, const std::string& reason);

/// Two cells are the same run. `what` is what they share: "configuration", "command"; `where` names the scale.
core::Message same_run(const std::string& label, const std::string& first, const std::string& what,
                       const std::string& where);

/// Two cells whose ranks read the same tokens in all `steps`, whichever way they move through the shards.
std::string same_positions(const std::string& label, const std::string& other, std::int64_t steps,
                           bool leaves_first_shard);
/// An effect between cells that are one run, and one that is between the same runs as another.
core::Message no_effect_of_one_run(const std::string& effect);
core::Message same_effect(const std::string& effect, const std::string& other);

/// "NAME is "VALUE" in the base already", with the scale that fixes it.
std::string already_in_base(const std::string& name, const std::string& value,
                            const std::optional<std::string>& held_by);
/// The base has a value other than the one to revert.
std::string other_value_in_base(const std::string& feature, const std::optional<std::string>& now,
                                const std::string& expected, const std::optional<std::string>& held_by);

/// A cell whose value of a feature differs from the one that its level asks for.
struct Displacement {
  std::string feature;
  std::string wanted;
  std::optional<std::string> now;                ///< absent: the feature does not apply
  std::optional<ablations::PulledIn> pulled_in;  ///< by another level
};
std::string reason_of(const Displacement& displacement);

}  // namespace nanobench::suites

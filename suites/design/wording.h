/// The messages of a matrix: what is left out, completed or fitted, and how its labels are read (internal to suites).
/// Sentences are made here, from values alone. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ablations/resolve.h"
#include "core/base/message.h"

namespace nanobench::suites {

/// What was found while a cell was resolved, said of that cell.
core::Message about_cell(const std::string& label, const core::Message& message);
core::Message scale_note(const std::string& scale, const std::string& text);
core::Message data_note(const std::string& data, const std::string& text);

/// "SUBJECT: left out, REASON"
core::Message left_out(const std::string& subject, const std::string& reason);
/// Nobody named the features, and the base does not have these at their later value.
core::Message left_out_features(const std::vector<std::string>& ids);
/// Cells of a grid that have one reason; `cells` is the number of all cells.
core::Message left_out_cells(const std::vector<std::string>& labels, std::size_t cells, const std::string& reason);
/// Effects that the remaining cells cannot tell from others.
core::Message not_estimable(const std::vector<std::string>& effects);
core::Message not_measurable(const std::string& claim, const std::string& reason);

/// Two cells are one run. `what` is the thing they share: "configuration", "command"; `where` says at which scale.
core::Message same_run(const std::string& label, const std::string& first, const std::string& what,
                       const std::string& where);

/// "NAME is "VALUE" in the base already", with the scale that holds it.
std::string already_in_base(const std::string& name, const std::string& value,
                            const std::optional<std::string>& held_by);
/// The base has another value than the one to turn back.
std::string other_value_in_base(const std::string& feature, const std::optional<std::string>& now,
                                const std::string& expected, const std::optional<std::string>& held_by);

/// A cell has another value of a feature than its level says.
struct Displacement {
  std::string feature;
  std::string wanted;
  std::optional<std::string> now;                ///< absent: the feature does not apply there
  std::optional<ablations::PulledIn> pulled_in;  ///< by another level
};
std::string reason_of(const Displacement& displacement);

}  // namespace nanobench::suites

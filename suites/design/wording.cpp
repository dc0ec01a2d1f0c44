#include "suites/design/wording.h"

#include <algorithm>

#include "ablations/wording.h"
#include "core/base/text.h"

namespace nanobench::suites {
namespace {

using core::Message;
using core::MessageKind;

constexpr std::size_t kMaxNamedCells = 8;

std::string because_held(const std::optional<std::string>& held_by) {
  return held_by ? " (scale " + *held_by + " holds it)" : "";
}

}  // namespace

Message about_cell(const std::string& label, const Message& message) {
  return {message.kind, label, label + ": " + message.text};
}

Message scale_note(const std::string& scale, const std::string& text) {
  return {MessageKind::kScale, scale, "scale " + scale + ": " + text};
}

Message data_note(const std::string& data, const std::string& text) {
  return {MessageKind::kData, data, "data " + data + ": " + text};
}

Message left_out(const std::string& subject, const std::string& reason) {
  return {MessageKind::kLeftOut, subject, subject + ": left out, " + reason};
}

Message left_out_features(const std::vector<std::string>& ids) {
  return {MessageKind::kLeftOut, "", "left out, as the base does not have their later value: " + joined(ids)};
}

Message left_out_cells(const std::vector<std::string>& labels, std::size_t cells, const std::string& reason) {
  const std::size_t named = std::min(labels.size(), kMaxNamedCells);
  std::vector<std::string> names(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(named));
  if (named < labels.size()) names.push_back("and " + std::to_string(labels.size() - named) + " more");
  return {MessageKind::kLeftOut, "",
          std::to_string(labels.size()) + " of " + std::to_string(cells) + " cells left out, " + reason + ": " +
              joined(names, "; ")};
}

std::string idle_features(const std::vector<std::string>& left_out) {
  return joined(left_out, "; ") +
         "; name only features that act here, or none (--features all), which takes those of the base that do";
}

Message not_estimable(const std::vector<std::string>& effects) {
  return {
      MessageKind::kNotEstimable, "",
      "without the combinations left out these effects cannot be separated from the others; the others are valid if "
      "these are zero: " +
          joined(effects)};
}

Message not_measurable(const std::string& claim, const std::string& reason) {
  return {MessageKind::kNotMeasurable, claim, "claim " + claim + ": not measurable here, " + reason};
}

Message same_run(const std::string& label, const std::string& first, const std::string& what,
                 const std::string& where) {
  return {MessageKind::kSameRun, label,
          label + ": the same " + what + " as " + first + where + ", so it is run once and stands in both rows"};
}

std::string same_positions(const std::string& label, const std::string& other, std::int64_t steps,
                           bool leaves_first_shard) {
  const std::string why = leaves_first_shard ? "all ranks leave a shard after the same number of reads"
                                             : "the run ends inside the first shard";
  return label + " and " + other + " read the same tokens in all " + std::to_string(steps) + " steps, because " + why +
         "; the position of the ranks has an effect of exactly 0";
}

Message no_effect_of_one_run(const std::string& effect) {
  return {MessageKind::kSameRun, effect, effect + ": its cells are one run, so it is no effect and stands in no table"};
}

Message same_effect(const std::string& effect, const std::string& other) {
  return {MessageKind::kSameRun, effect, effect + ": between the same runs as " + other + ", so it stands once"};
}

std::string already_in_base(const std::string& name, const std::string& value,
                            const std::optional<std::string>& held_by) {
  return name + " is \"" + value + "\" in the base already" + because_held(held_by);
}

std::string other_value_in_base(const std::string& feature, const std::optional<std::string>& now,
                                const std::string& expected, const std::optional<std::string>& held_by) {
  return feature + " is " + (now ? "\"" + *now + "\"" : "without a value") + " in the base and not \"" + expected +
         "\"" + because_held(held_by) + "; name the value to turn it to";
}

std::string reason_of(const Displacement& displacement) {
  const std::string& feature = displacement.feature;
  if (!displacement.now) return feature + " does not apply there";
  if (displacement.pulled_in) {
    return ablations::need_of(*displacement.pulled_in) + ", and the cell has " +
           ablations::assignment(feature, displacement.wanted);
  }
  return feature + " is " + *displacement.now + " there and not " + displacement.wanted;
}

}  // namespace nanobench::suites

#include <array>
#include <vector>

#include "core/base/text.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

/// The answers of the list, in the order of its rows.
enum Answer { kPays, kDoesNothing, kCosts, kUndecided, kAnswers };

constexpr std::array<const char*, kAnswers> kKeys = {"pays", "does_nothing", "costs", "undecided"};
constexpr std::array<const char*, kAnswers> kTitles = {"pays", "does nothing within the margin", "costs", "undecided"};

Answer answer_of(FeatureVerdict verdict) {
  switch (verdict) {
    case FeatureVerdict::kKeep: return kPays;
    case FeatureVerdict::kBarnacle: return kDoesNothing;
    case FeatureVerdict::kDrop: return kCosts;
    case FeatureVerdict::kInconclusive: break;
  }
  return kUndecided;
}

Answer answer_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kImproved: return kPays;
    case Verdict::kUnchanged: return kDoesNothing;
    case Verdict::kRegressed: return kCosts;
    case Verdict::kNotWorse:
    case Verdict::kInconclusive:
    case Verdict::kMissing: break;
  }
  return kUndecided;
}

TableCell names_cell(const std::vector<std::string>& names) {
  return value_cell(names.empty() ? "-" : joined(names), OrderedJson(names));
}

}  // namespace

std::optional<Section> verdict_list(const std::vector<EffectResult>& effects) {
  std::array<std::vector<std::string>, kAnswers> by_time, by_loss;
  int judged = 0;
  for (const EffectResult& effect : effects) {
    if (!effect.verdict) continue;
    ++judged;
    by_time[answer_of(*effect.verdict)].push_back(effect.contrast.effect);
    by_loss[answer_of(effect.loss.verdict)].push_back(effect.contrast.effect);
  }
  if (judged < 2) return std::nullopt;
  Table table{.id = "verdicts",
              .columns = {text_column("answer", "technique"), wide_column("by_time", "by time to the same loss"),
                          wide_column("by_loss", "by loss after the same steps")}};
  for (std::size_t i = 0; i < kAnswers; ++i) {
    table.rows.push_back({value_cell(kTitles[i], kKeys[i]), names_cell(by_time[i]), names_cell(by_loss[i])});
  }
  Section section{.title = "Which techniques still help"};
  section.tables.push_back(std::move(table));
  section.reading = {
      "pays, costs: proved better or worse than the base without it, with the base's other techniques in place. does "
      "nothing: proved to be within the margins. \"a over b\": the base's own value of a instead of b. \"a=b\": a "
      "value that "
      "the base lacks."};
  return section;
}

}  // namespace nanobench::reports

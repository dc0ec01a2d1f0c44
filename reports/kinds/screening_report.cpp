// What a screening shows, and the hunt that ends with its suspects' verdicts.
#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "reports/comparison/comparison.h"
#include "reports/effects/screened_effects.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr std::size_t kMaxNamed = 8;

/// `change` is how the value is shown; `text` formats it.
template <class Text, class Change>
TableCell effect_cell(const ScreenedFactor& factor, Change change, Text text) {
  if (!factor.effect) return missing_cell();
  const Estimate& effect = *factor.effect;
  return value_cell(text(change(effect.value)), {{"value", change(effect.value)}, {"se", effect.se}, {"t", factor.t()}},
                    "(" + format_fixed(std::min(factor.t(), 99.9), 1) + " se)");
}

std::string suspected_in(const ScreenedEffect& effect) {
  if (!effect.is_suspect()) return "-";
  if (!effect.loss.is_suspect) return "time";
  return effect.time.is_suspect ? "loss, time" : "loss";
}

std::vector<std::string> suspect_names(const Screening& screening) {
  std::vector<std::string> names;
  for (const ScreenedEffect& effect : screening.effects) {
    if (effect.is_suspect()) names.push_back(effect.feature);
  }
  return names;
}

/// Those that were tested without having been suspected.
std::vector<std::string> tested_at_once(const Screening& screening, const results::PlanRecord& suspects_plan) {
  const std::vector<std::string> suspects = suspect_names(screening);
  std::vector<std::string> names;
  for (const results::PlanContrast& contrast : suspects_plan.contrasts) {
    const std::string& name = contrast.factors.front().setting;
    if (std::find(suspects.begin(), suspects.end(), name) == suspects.end()) names.push_back(name);
  }
  return names;
}

}  // namespace

Section screening_section(const Screening& screening) {
  Table table{.id = "screening",
              .title = "Suspects first: what changes when a feature has its other value, given all suspects",
              .columns = {text_column("feature", "feature"), text_column("value", "other value", 2),
                          number_column("cells", "cells", 3), number_column("loss", "val loss, nats"),
                          number_column("time", "training clock"), text_column("suspected_in", "suspected in"),
                          text_column("always_with", "always with", 1)}};
  const auto same = [](double value) { return value; };
  for (const ScreenedEffect& effect : screening.effects) {
    table.rows.push_back({text_cell(effect.feature), text_cell(effect.value), count_cell(effect.cells),
                          effect_cell(effect.loss, same, [](double nats) { return format_signed(nats, 4); }),
                          effect_cell(
                              effect.time, [](double log) { return std::expm1(log); },
                              [](double share) { return format_signed_percent(share, 1); }),
                          text_cell(suspected_in(effect)), text_cell(joined(effect.always))});
  }
  Section section{.title = "Screening"};
  section.tables.push_back(std::move(table));
  section.reading = {
      "Each cell has about a quarter of the features at their other value. A model of main effects takes in one "
      "feature "
      "after the other, while one stands out by " +
          format_fixed(kSuspectT, 1) +
          " standard errors or more. The data that chose a suspect flatter it: suspicion is no verdict.",
      "A feature in the column \"always with\" has its other value in exactly the same cells, so these cannot tell "
      "them "
      "apart."};
  if (screening.diverged > 0)
    section.reading.push_back(counted(screening.diverged, "cell") +
                              " diverged; each counts with the worst loss of the others.");
  return section;
}

std::string screening_headline(const Screening& screening) {
  const std::vector<std::string> names = suspect_names(screening);
  const std::string all = counted(static_cast<std::int64_t>(screening.effects.size()), "feature");
  const std::string after = " after " + counted(screening.cells, "cell");
  if (screening.cells == 0) return "Nothing has been measured yet.";
  if (names.empty()) return "None of " + all + " is suspected of changing the loss or the time" + after + ".";
  std::vector<std::string> named(names.begin(),
                                 names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMaxNamed)));
  if (names.size() > kMaxNamed) named.push_back(std::to_string(names.size() - kMaxNamed) + " more");
  return std::to_string(names.size()) + " of " + all + (names.size() == 1 ? " is" : " are") +
         " suspected of changing the loss or the time" + after + ": " + joined(named) + ".";
}

Document hunt_report(const results::Store& store, const results::PlanRecord& screening_plan,
                     const results::PlanRecord* suspects_plan, const ComparisonOptions& options) {
  const Screening screening = screened_effects(read_cells(store, screening_plan, options));
  Document document{.kind = "hunt", .title = screening_plan.title};
  document.headline = screening_headline(screening);
  if (suspects_plan != nullptr) {
    Document verdicts = comparison_report(store, *suspects_plan, options);
    document.headline += " Tested alone with fresh seeds: " + verdicts.headline;
    document.sections = std::move(verdicts.sections);
    document.warnings = std::move(verdicts.warnings);
    document.notes = std::move(verdicts.notes);
    if (const std::vector<std::string> names = tested_at_once(screening, *suspects_plan); !names.empty()) {
      document.notes.push_back(
          "Tested without a screening, because they cannot be combined with the others: " + joined(names) + ".");
    }
    document.notes.emplace_back(
        "The verdicts' error rate is that of the whole hunt: no run that chose a suspect judges it.");
  }
  document.sections.push_back(screening_section(screening));
  return document;
}

}  // namespace nanobench::reports

#include "reports/kinds/attribution_section.h"

#include <cmath>

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

/// Enough that an error above 0 does not look like none.
int decimals_of(const FactorShare& share) {
  return share.se && *share.se > 0.0 && *share.se < 0.00005 ? 6 : 4;
}

TableCell loss_cell(const FactorShare& share, const LossAttribution& attribution) {
  OrderedJson value = {{"value", share.value}, {"se", nullptr}, {"n", attribution.n}};
  if (share.se) value["se"] = *share.se;
  value["error_from"] = !share.se ? "none" : attribution.is_by_seed ? "seeds" : "cells";
  return {.text = format_signed(share.value, decimals_of(share)),
          .detail = share.se ? "±" + format_fixed(*share.se, decimals_of(share)) : "",
          .value = std::move(value)};
}

/// Of a total that its own error does not reach: parts of nearly nothing say nothing.
TableCell part_cell(const FactorShare& share, const FactorShare& total) {
  constexpr double kLeastErrors = 3.0;
  if (!total.se || !(std::abs(total.value) > kLeastErrors * *total.se)) return missing_cell();
  const double part = share.value / total.value;
  return {.text = format_percent(part, 0), .detail = "", .value = part};
}

std::string reading_of(const LossAttribution& attribution) {
  std::string text =
      "From none of the changes to all of them. A change's share is what it adds to val loss, the mean over all orders "
      "in which they can be made; below 0 it lowers the loss, and the shares sum to the whole. ";
  if (!attribution.total.se) return text + "One run of a cell tells no error.";
  text += "± is the standard error, ";
  if (attribution.is_by_seed) return text + "over " + std::to_string(attribution.n) + " seeds.";
  return text + "from the spread within the cells.";
}

}  // namespace

Section attribution_section(const LossAttribution& attribution) {
  Section section{.title = "Who earned the gain (Shapley)", .paragraphs = {reading_of(attribution)}};
  Table table{.id = "shapley",
              .columns = {{.key = "change", .title = "change"},
                          {.key = "loss", .title = "share of val loss", .is_number = true},
                          {.key = "part", .title = "of the whole", .is_number = true}}};
  const auto add = [&](const FactorShare& share) {
    table.rows.push_back({text_cell(share.factor), loss_cell(share, attribution), part_cell(share, attribution.total)});
  };
  for (const FactorShare& share : attribution.shares) add(share);
  add(attribution.total);
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace nanobench::reports

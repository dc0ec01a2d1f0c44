#include "reports/kinds/contrast_section.h"

#include <algorithm>

#include "reports/text.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr std::size_t kMostNamedCells = 4;  ///< of more, the JSON has them

TableCell effect_cell(const std::optional<Effect>& effect, const std::string& text, int decimals) {
  if (!effect) return missing_cell();
  TableCell cell{.text = text};
  cell.detail = effect->sd ? "±" + format_fixed(*effect->sd, decimals) : "";
  cell.value = {{"value", effect->value},
                {"sd", effect->sd ? OrderedJson(*effect->sd) : OrderedJson(nullptr)},
                {"n", effect->n},
                {"is_paired", effect->is_paired}};
  return cell;
}

std::string signed_fixed(double value, int decimals) {
  return (value >= 0 ? "+" : "") + format_fixed(value, decimals);
}

/// "record17 - without rotary", or how many cells with which weights.
TableCell contrast_cell(const results::PlanContrast& contrast) {
  OrderedJson value = OrderedJson::object();
  for (const auto& [label, coefficient] : contrast.coefficients) value[label] = coefficient;
  std::string text;
  if (contrast.coefficients.size() > kMostNamedCells) {
    text = "over " + std::to_string(contrast.coefficients.size()) + " cells";
  } else {
    std::vector<std::pair<std::string, double>> parts(contrast.coefficients.begin(), contrast.coefficients.end());
    std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    for (const auto& [label, coefficient] : parts) {
      text += text.empty() ? (coefficient < 0 ? "- " : "") : coefficient < 0 ? " - " : " + ";
      const double size = coefficient < 0 ? -coefficient : coefficient;
      text += (size == 1.0 ? "" : format_significant(size, 3) + " ") + "(" + label + ")";
    }
  }
  return {.text = text, .detail = "", .value = std::move(value)};
}

TableCell alias_cell(const results::PlanContrast& contrast) {
  constexpr std::size_t kMostAliases = 6;
  if (contrast.aliases.empty()) return {.text = "-", .detail = "", .value = OrderedJson::array()};
  std::string text;
  for (std::size_t i = 0; i < std::min(contrast.aliases.size(), kMostAliases); ++i)
    text += (i == 0 ? "" : ", ") + contrast.aliases[i];
  if (contrast.aliases.size() > kMostAliases)
    text += " and " + std::to_string(contrast.aliases.size() - kMostAliases) + " more";
  return {.text = text, .detail = "", .value = contrast.aliases};
}

TableCell n_cell(const ContrastEffect& effect) {
  TableCell cell = count_cell(effect.n);
  if (effect.missing.empty()) return cell;
  cell.detail = "(" + std::to_string(effect.missing.size()) + " of its cells without a result)";
  return cell;
}

std::vector<Column> columns(bool has_estimates) {
  std::vector<Column> list = {{.key = "effect", .title = "effect"}, {.key = "kind", .title = "kind", .priority = 4}};
  if (has_estimates) {
    list.push_back({.key = "loss", .title = "on val loss", .is_number = true});
    list.push_back({.key = "time_ratio", .title = "on step time", .is_number = true});
    list.push_back({.key = "n", .title = "n", .is_number = true});
  }
  list.push_back({.key = "meaning", .title = "which is", .wraps = true, .priority = has_estimates ? 2 : 0});
  list.push_back({.key = "aliases", .title = "aliased with", .wraps = true, .priority = 1});
  list.push_back({.key = "contrast", .title = "from", .wraps = true, .priority = 3});
  return list;
}

std::vector<std::string> reading_of(bool has_estimates, const std::vector<results::PlanContrast>& contrasts) {
  std::vector<std::string> lines;
  const auto any = [&](const auto& test) { return std::any_of(contrasts.begin(), contrasts.end(), test); };
  if (has_estimates) {
    lines.push_back(
        "Effects: the later value against the earlier one. On val loss below 0 is better, on step time below "
        "1x is faster; ± is the standard deviation over the seeds, each seed's own estimate being one.");
  }
  if (any([](const auto& contrast) { return !contrast.aliases.empty(); })) {
    lines.push_back(
        "An effect that is aliased with others is the sum of all of them; it is its own where they are zero.");
  }
  return lines;
}

}  // namespace

Section contrast_section(const std::vector<results::PlanContrast>& contrasts) {
  return contrast_section(contrasts, {});
}

Section contrast_section(const std::vector<results::PlanContrast>& contrasts,
                         const std::vector<ContrastEffect>& effects) {
  const bool has_estimates = !effects.empty();
  Section section{.title = "What estimates what", .paragraphs = reading_of(has_estimates, contrasts)};
  Table table{.id = "effects", .columns = columns(has_estimates)};
  for (std::size_t i = 0; i < contrasts.size(); ++i) {
    const results::PlanContrast& contrast = contrasts[i];
    std::vector<TableCell> row = {text_cell(contrast.effect), text_cell(contrast.kind)};
    if (has_estimates) {
      const ContrastEffect& effect = effects.at(i);
      row.push_back(effect_cell(effect.loss, effect.loss ? signed_fixed(effect.loss->value, 4) : "", 4));
      row.push_back(
          effect_cell(effect.time_ratio, effect.time_ratio ? format_fixed(effect.time_ratio->value, 3) + "x" : "", 3));
      row.push_back(n_cell(effect));
    }
    row.push_back(text_cell(contrast.meaning));
    row.push_back(alias_cell(contrast));
    row.push_back(contrast_cell(contrast));
    table.rows.push_back(std::move(row));
  }
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace nanobench::reports

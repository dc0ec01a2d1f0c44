#include "reports/kinds/contrast_section.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr std::size_t kMostNamedCells = 4;  ///< of more, the JSON has them

OrderedJson json_of(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? OrderedJson(*value) : OrderedJson(nullptr);
}

const char* to_string(ErrorSource source) {
  switch (source) {
    case ErrorSource::kNone: return "none";
    case ErrorSource::kSeeds: return "seeds";
    case ErrorSource::kCells: return "cells";
    case ErrorSource::kLenth: return "lenth";
  }
  return "?";
}

/// The numbers of an effect for machines; `show` brings them to the unit that people read.
template <class Show>
OrderedJson effect_json(const MeasuredEffect& effect, Show show) {
  OrderedJson json = {{"value", show(*effect.value)}, {"n", effect.n}, {"error_from", to_string(effect.source)}};
  json["low"] = effect.interval ? OrderedJson(show(effect.interval->low)) : OrderedJson(nullptr);
  json["high"] = effect.interval ? OrderedJson(show(effect.interval->high)) : OrderedJson(nullptr);
  json["p"] = json_of(effect.p);
  json["adjusted_p"] = json_of(effect.adjusted_p);
  json["verdict"] = reports::to_string(effect.verdict);
  if (effect.decided_at_look) json["decided_at_look"] = *effect.decided_at_look;
  return json;
}

OrderedJson rank_json(const std::optional<RankShift>& shift, const char* test) {
  if (!shift) return nullptr;
  OrderedJson json = {{"test", test}, {"shift", shift->shift}};
  json["low"] = shift->interval ? OrderedJson(shift->interval->low) : OrderedJson(nullptr);
  json["high"] = shift->interval ? OrderedJson(shift->interval->high) : OrderedJson(nullptr);
  json["p"] = json_of(shift->p);
  json["adjusted_p"] = json_of(shift->adjusted_p);
  json["least_p"] = shift->least_p;
  json["n"] = shift->n;
  json["n_without"] = shift->n_without;
  return json;
}

TableCell loss_cell(const MeasuredEffect& effect, const SecondOpinion& second) {
  if (!effect.value) return missing_cell();
  TableCell cell{.text = format_signed(*effect.value, 4)};
  if (effect.interval)
    cell.detail = "[" + format_signed(effect.interval->low, 4) + ", " + format_signed(effect.interval->high, 4) + "]";
  cell.value = effect_json(effect, [](double value) { return value; });
  cell.value["second_opinion"] = {{"arms", rank_json(second.arms, "mann_whitney")},
                                  {"pairs", rank_json(second.pairs, "signed_rank")},
                                  {"disagrees", second.disagrees}};
  return cell;
}

TableCell time_cell(const MeasuredEffect& effect) {
  if (!effect.value) return missing_cell();
  const auto ratio = [](double value) { return std::exp(value); };
  TableCell cell{.text = format_fixed(ratio(*effect.value), 3) + "x"};
  if (effect.interval) {
    cell.detail =
        "[" + format_fixed(ratio(effect.interval->low), 3) + ", " + format_fixed(ratio(effect.interval->high), 3) + "]";
  }
  cell.value = effect_json(effect, ratio);
  return cell;
}

std::string seconds_text(double seconds) {
  return (seconds < 0 ? "" : "+") + format_significant(seconds, 3);
}

TableCell seconds_cell(const EffectResult& effect) {
  const EqualLoss& equal_loss = effect.seconds.equal_loss;
  if (!equal_loss.is_converted()) return missing_cell();
  const ConfidenceInterval& interval = equal_loss.seconds_interval;
  return {.text = seconds_text(equal_loss.seconds.value),
          .detail = "[" + seconds_text(interval.low) + ", " + seconds_text(interval.high) + "]",
          .value = {{"value", equal_loss.seconds.value},
                    {"low", interval.low},
                    {"high", interval.high},
                    {"steps", equal_loss.steps.value},
                    {"reference_s", json_of(effect.seconds.reference_s)},
                    {"adjusted_p", json_of(effect.adjusted_p)}}};
}

TableCell verdict_cell(const EffectResult& effect) {
  if (!effect.verdict) return missing_cell();
  std::string remark = effect.reason;
  if (effect.decided_at_look) remark = "at look " + std::to_string(*effect.decided_at_look);
  return {.text = reports::to_string(*effect.verdict),
          .detail = remark.empty() ? "" : "(" + remark + ")",
          .value = reports::to_string(*effect.verdict)};
}

/// The seeds that give this verdict four times in five, if the effect is as it looks.
TableCell seeds_cell(const std::optional<SeedsForVerdict>& needed) {
  if (!needed) return missing_cell();
  TableCell cell{.text = "-", .detail = "", .value = {{"seeds", nullptr}, {"more", nullptr}}};
  switch (needed->status) {
    case SeedsForVerdict::Status::kTold:
      cell.text = std::to_string(*needed->seeds);
      cell.detail = "(" + std::to_string(needed->more()) + " more)";
      cell.value = {{"seeds", *needed->seeds}, {"more", needed->more()}};
      break;
    case SeedsForVerdict::Status::kTooMany: cell.text = "over " + std::to_string(kMostSeedsTold); break;
    case SeedsForVerdict::Status::kOneSeed: cell.text = std::to_string(kLeastSeedsAdvised) + " or more"; break;
    case SeedsForVerdict::Status::kUnknown: cell.text = "unknown"; break;
  }
  cell.value["status"] = to_string(needed->status);
  return cell;
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

TableCell n_cell(const EffectResult& effect) {
  TableCell cell = count_cell(effect.loss.n);
  if (effect.missing.empty()) return cell;
  cell.detail = "(" + std::to_string(effect.missing.size()) + " of its cells without a result)";
  return cell;
}

std::vector<Column> columns(bool has_estimates) {
  std::vector<Column> list = {{.key = "effect", .title = "effect"}, {.key = "kind", .title = "kind", .priority = 4}};
  if (has_estimates) {
    list.push_back({.key = "loss", .title = "on val loss", .is_number = true});
    list.push_back({.key = "time_ratio", .title = "on step time", .is_number = true});
    list.push_back({.key = "seconds", .title = "s at equal loss", .is_number = true});
    list.push_back({.key = "n", .title = "n", .is_number = true});
    list.push_back({.key = "verdict", .title = "verdict", .wraps = true});
    list.push_back({.key = "seeds_needed", .title = "seeds needed", .is_number = true, .priority = 1});
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
    lines.emplace_back(
        "Effects are of having the change: the later value against the earlier one. On val loss below 0 is better, on "
        "step time below 1x is faster, and seconds at equal loss below 0 are saved: the loss is turned into steps by "
        "the slope of the loss curve at its end. Intervals hold together at 95 %.");
    lines.emplace_back(
        "Verdicts are of each change: keep, it is proved to save time; drop, it is proved to cost time; barnacle, it "
        "is proved to do neither; inconclusive, more runs are needed. p-values are adjusted by Holm over all of them.");
    lines.emplace_back(
        "Seeds needed: of each cell, altogether, for a verdict in four of five cases if the effect and its spread are "
        "as they look now; from few seeds that is rough.");
  }
  if (any([](const auto& contrast) { return !contrast.aliases.empty(); })) {
    lines.push_back(
        "An effect that is aliased with others is the sum of all of them; it is its own where they are zero.");
  }
  return lines;
}

/// One line for each change on whose loss the two tests differ.
std::vector<std::string> disagreements(const std::vector<EffectResult>& effects) {
  std::vector<std::string> lines;
  for (const EffectResult& effect : effects) {
    const RankShift* const shift = effect.second.beside(effect.loss);
    if (!effect.second.disagrees || shift == nullptr) continue;
    const bool is_paired = shift == &*effect.second.pairs;
    const std::string test = is_paired ? "Wilcoxon's signed ranks" : "Mann and Whitney's ranks";
    const std::string runs = is_paired
                                 ? std::to_string(shift->n) + " seeds"
                                 : std::to_string(shift->n) + " against " + std::to_string(shift->n_without) + " runs";
    lines.push_back(effect.contrast.effect +
                    ": the tests differ on val loss, p = " + format_significant(*effect.loss.adjusted_p, 2) +
                    " by t and " + format_significant(*shift->adjusted_p, 2) + " by " + test + " over " + runs +
                    ", where the shift is " + format_signed(shift->shift, 4) +
                    "; look at its single runs before you rely on either.");
  }
  return lines;
}

}  // namespace

Section contrast_section(const std::vector<results::PlanContrast>& contrasts) {
  return contrast_section(contrasts, {}, {});
}

Section contrast_section(const std::vector<results::PlanContrast>& contrasts, const std::vector<EffectResult>& effects,
                         const std::vector<std::optional<SeedsForVerdict>>& needed) {
  const bool has_estimates = !effects.empty();
  Section section{.title = has_estimates ? "What each change is worth" : "What estimates what"};
  (has_estimates ? section.reading : section.paragraphs) = reading_of(has_estimates, contrasts);
  const auto is_decided_at_look = [](const EffectResult& effect) { return effect.decided_at_look.has_value(); };
  if (std::any_of(effects.begin(), effects.end(), is_decided_at_look)) {
    section.reading.emplace_back(
        "A verdict at a look was decided there, by the boundary of that look, and stands whatever the seeds after it "
        "say.");
  }
  section.bullets = disagreements(effects);
  Table table{.id = "effects", .columns = columns(has_estimates)};
  for (std::size_t i = 0; i < contrasts.size(); ++i) {
    const results::PlanContrast& contrast = contrasts[i];
    std::vector<TableCell> row = {text_cell(contrast.effect), text_cell(enum_name(contrast.kind))};
    if (has_estimates) {
      const EffectResult& effect = effects.at(i);
      row.push_back(loss_cell(effect.loss, effect.second));
      row.push_back(time_cell(effect.log_time));
      row.push_back(seconds_cell(effect));
      row.push_back(n_cell(effect));
      row.push_back(verdict_cell(effect));
      row.push_back(i < needed.size() ? seeds_cell(needed[i]) : missing_cell());
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

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/text.h"
#include "reports/effects/effect_text.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr std::size_t kMaxNamedCells = 4;  ///< a longer list is in the JSON only

/// "0.013", "< 0.0001": no more digits than a p-value has.
std::string p_text(double p) {
  constexpr double kMinNamed = 1e-4;
  return p < kMinNamed ? "< 0.0001" : format_significant(p, 2);
}

/// "[+0.0012, +0.0034]"
template <class Format>
std::string interval_text(const ConfidenceInterval& interval, Format format) {
  return "[" + format(interval.low) + ", " + format(interval.high) + "]";
}

/// The numbers of an effect for machines. `show` converts them to the unit that people read.
template <class Show>
OrderedJson effect_json(const MeasuredEffect& effect, Show show) {
  OrderedJson json = {{"value", show(*effect.value)}, {"n", effect.n}, {"error_from", enum_name(effect.source)}};
  json["low"] = effect.interval ? OrderedJson(show(effect.interval->low)) : OrderedJson(nullptr);
  json["high"] = effect.interval ? OrderedJson(show(effect.interval->high)) : OrderedJson(nullptr);
  json["p"] = json_of(effect.p);
  json["adjusted_p"] = json_of(effect.adjusted_p);
  json["equivalence_p"] = json_of(effect.equivalence_p);
  json["spread"] = enum_name(effect.spread);
  json["own_sd"] = json_of(effect.own_sd);
  json["plan_sd"] = json_of(effect.plan_sd);
  json["plan_df"] = effect.plan_df;
  json["df"] = effect.estimate && std::isfinite(effect.estimate->df) ? OrderedJson(effect.estimate->df) : nullptr;
  json["verdict"] = enum_name(effect.verdict);
  if (effect.decided_at_look) json["decided_at_look"] = *effect.decided_at_look;
  return json;
}

OrderedJson rank_json(const std::optional<RankShift>& shift, const char* test) {
  if (!shift) return nullptr;
  OrderedJson json = {{"test", test}, {"shift", shift->shift}};
  add_bounds(json, shift->interval);
  json["p"] = json_of(shift->p);
  json["adjusted_p"] = json_of(shift->adjusted_p);
  json["least_p"] = shift->min_p;
  json["n"] = shift->n;
  json["n_without"] = shift->n_without;
  return json;
}

}  // namespace

TableCell loss_change_cell(const MeasuredEffect& effect) {
  if (!effect.value) return missing_cell();
  const auto text = [](double value) { return format_signed(value, 4); };
  TableCell cell = value_cell(text(*effect.value), effect_json(effect, [](double value) { return value; }));
  if (effect.interval) cell.detail = interval_text(*effect.interval, text);
  return cell;
}

TableCell metric_verdict_cell(const MeasuredEffect& effect, const char* better, const char* worse) {
  const char* word = "open";
  switch (effect.verdict) {
    case Verdict::kImproved: word = better; break;
    case Verdict::kRegressed: word = worse; break;
    case Verdict::kUnchanged: word = "unchanged"; break;
    case Verdict::kNotWorse:
    case Verdict::kInconclusive: break;
    case Verdict::kMissing: return missing_cell();
  }
  TableCell cell = value_cell(word, enum_name(effect.verdict));
  if (effect.adjusted_p) cell.detail = "(p " + p_text(*effect.adjusted_p) + ")";
  return cell;
}

namespace {

TableCell loss_cell(const MeasuredEffect& effect, const SecondOpinion& second) {
  TableCell cell = loss_change_cell(effect);
  if (!effect.value) return cell;
  cell.value["second_opinion"] = {{"arms", rank_json(second.arms, "mann_whitney")},
                                  {"pairs", rank_json(second.pairs, "signed_rank")},
                                  {"disagrees", second.disagrees}};
  return cell;
}

TableCell ratio_cell(const MeasuredEffect& effect) {
  if (!effect.value) return missing_cell();
  const auto ratio = [](double value) { return std::exp(value); };
  const auto text = [&](double value) { return format_ratio(ratio(value)); };
  TableCell cell = value_cell(text(*effect.value) + "x", effect_json(effect, ratio));
  if (effect.interval) cell.detail = interval_text(*effect.interval, text);
  return cell;
}

std::string seconds_text(double seconds) {
  return (seconds < 0 ? "" : "+") + format_significant(seconds, 3);
}

TableCell seconds_cell(const EffectResult& effect) {
  const EqualLoss& equal_loss = effect.seconds.equal_loss;
  if (!equal_loss.is_converted()) return missing_cell();
  return value_cell(seconds_text(equal_loss.seconds),
                    {{"value", equal_loss.seconds},
                     {"low", equal_loss.interval.low},
                     {"high", equal_loss.interval.high},
                     {"steps", json_of(effect.seconds.steps)},
                     {"reference_s", json_of(effect.seconds.reference_s)},
                     {"p", json_of(effect.p)},
                     {"adjusted_p", json_of(effect.adjusted_p)},
                     {"equivalence_p", json_of(effect.equivalence_p)},
                     {"is_indicated", effect.is_indicated}},
                    interval_text(equal_loss.interval, seconds_text));
}

TableCell verdict_cell(const EffectResult& effect) {
  if (!effect.verdict) return missing_cell();
  std::string remark = reason_text(effect);
  if (effect.is_indicated) remark = "indicated: p " + p_text(*effect.adjusted_p) + "; " + remark;
  if (effect.decided_at_look) remark = "at look " + std::to_string(*effect.decided_at_look);
  const std::string verdict = enum_name(*effect.verdict);
  return value_cell(verdict, verdict, remark.empty() ? "" : "(" + remark + ")");
}

OrderedJson count_json(const std::optional<int>& count) {
  return count ? OrderedJson(*count) : OrderedJson(nullptr);
}

/// The number of seeds that gives a verdict four times in five.
TableCell seeds_cell(const std::optional<SeedsForVerdict>& needed) {
  if (!needed) return missing_cell();
  TableCell cell =
      value_cell("-", {{"seeds", nullptr}, {"more", nullptr}, {"min_seeds", nullptr}, {"max_seeds", nullptr}});
  switch (needed->status) {
    case SeedsForVerdict::Status::kKnown:
      cell = value_cell(seeds_range(*needed), {{"seeds", *needed->seeds},
                                               {"more", needed->more()},
                                               {"min_seeds", count_json(needed->min_seeds)},
                                               {"max_seeds", count_json(needed->max_seeds)}});
      break;
    case SeedsForVerdict::Status::kTooMany: cell.text = "over " + std::to_string(kMaxSeedsNamed); break;
    case SeedsForVerdict::Status::kOneSeed: cell.text = std::to_string(kMinSeedsAdvised) + " or more"; break;
    case SeedsForVerdict::Status::kWithinNoise: cell.text = "within noise"; break;
    case SeedsForVerdict::Status::kUnknown: cell.text = "unknown"; break;
  }
  cell.value["status"] = enum_name(needed->status);
  return cell;
}

/// "record17 - without rotary", or how many cells with which weights.
TableCell contrast_cell(const results::PlanContrast& contrast) {
  OrderedJson value = OrderedJson::object();
  for (const auto& [label, coefficient] : contrast.coefficients) value[label] = coefficient;
  if (contrast.coefficients.size() > kMaxNamedCells)
    return value_cell("over " + std::to_string(contrast.coefficients.size()) + " cells", std::move(value));
  std::vector<std::pair<std::string, double>> parts(contrast.coefficients.begin(), contrast.coefficients.end());
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [label, coefficient] : parts) {
    text += text.empty() ? (coefficient < 0 ? "- " : "") : coefficient < 0 ? " - " : " + ";
    const double size = std::abs(coefficient);
    text += (size == 1.0 ? "" : format_significant(size, 3) + " ") + "(" + label + ")";
  }
  return value_cell(text, std::move(value));
}

TableCell alias_cell(const results::PlanContrast& contrast) {
  constexpr std::size_t kMaxAliases = 6;
  if (contrast.aliases.empty()) return value_cell("-", OrderedJson::array());
  return value_cell(listed_first(contrast.aliases, kMaxAliases), contrast.aliases);
}

TableCell n_cell(const EffectResult& effect) {
  TableCell cell = count_cell(effect.loss.n);
  if (!effect.missing.empty())
    cell.detail = "(" + counted(static_cast<std::int64_t>(effect.missing.size()), "cell") + " without a result)";
  return cell;
}

std::vector<Column> columns(bool has_estimates, bool has_memory) {
  std::vector<Column> list = {text_column("effect", "effect"), text_column("kind", "kind", 4)};
  if (has_estimates) {
    list.push_back(number_column("loss", "on val loss"));
    list.push_back(text_column("loss_verdict", "loss is", 1));
    list.push_back(number_column("time_ratio", "on training time"));
    list.push_back(text_column("time_verdict", "time is", 1));
    if (has_memory) {
      list.push_back(number_column("memory_ratio", "on training memory", 3));
      list.push_back(text_column("memory_verdict", "memory is", 3));
    }
    list.push_back(number_column("seconds", "s at equal loss"));
    list.push_back(number_column("n", "n"));
    list.push_back(wide_column("verdict", "verdict"));
    list.push_back(number_column("seeds_needed", "seeds needed", 1));
  }
  list.push_back(wide_column("meaning", "which is", has_estimates ? 2 : 0));
  list.push_back(wide_column("aliases", "aliased with", 1));
  list.push_back(wide_column("contrast", "from", 3));
  return list;
}

std::vector<std::string> reading_of(bool has_estimates, const std::vector<results::PlanContrast>& contrasts) {
  std::vector<std::string> lines;
  const auto any = [&](const auto& test) { return std::any_of(contrasts.begin(), contrasts.end(), test); };
  if (has_estimates) {
    lines.emplace_back(
        "An effect compares the later value of a change with the earlier one. On val loss, below 0 is better; on "
        "training time, below 1x is faster. Seconds at equal loss below 0 are saved: the slope of the loss curve at "
        "its end converts loss into time. All intervals of a column hold simultaneously at 95 %.");
    lines.emplace_back(
        "Loss, time, and time at equal loss are three questions with a verdict each. Verdict at equal loss: keep, the "
        "change is proved to save time; drop, it is proved to cost time; barnacle, it is proved to do neither; "
        "inconclusive, more runs are needed. Holm adjusts all p-values of one question over all effects.");
    lines.emplace_back(
        "The error of an effect comes from the spread of the whole plan and from its own; from three seeds on, its own "
        "stands alone where it is far below, and counts more where it is far above.");
    lines.emplace_back(
        "Seeds needed: the total number of seeds of each cell that gives a verdict in four of five cases, for effects "
        "from one end of this effect's own interval to the other. Within noise: the effect may be nothing.");
  }
  if (any([](const auto& contrast) { return !contrast.aliases.empty(); })) {
    lines.push_back(
        "An effect that is aliased with others is the sum of all of them. It stands alone where the others are zero.");
  }
  return lines;
}

/// One line for each change whose loss the two tests judge differently.
std::vector<std::string> disagreements(const std::vector<EffectResult>& effects) {
  std::vector<std::string> lines;
  for (const EffectResult& effect : effects) {
    if (!effect.second.disagrees || effect.second.beside(effect.loss) == nullptr) continue;
    lines.push_back(disagreement_text(effect));
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
  Section section{.title = has_estimates ? "What each change is worth" : "Which contrast estimates which effect"};
  (has_estimates ? section.reading : section.paragraphs) = reading_of(has_estimates, contrasts);
  const auto is_decided_at_look = [](const EffectResult& effect) { return effect.decided_at_look.has_value(); };
  if (std::any_of(effects.begin(), effects.end(), is_decided_at_look)) {
    section.reading.emplace_back(
        "A verdict at a look was decided by the boundary of that look. Later seeds do not change it.");
  }
  section.bullets = disagreements(effects);
  const bool has_memory = std::any_of(effects.begin(), effects.end(),
                                      [](const EffectResult& effect) { return effect.log_memory.value.has_value(); });
  Table table{.id = "effects", .columns = columns(has_estimates, has_memory)};
  for (std::size_t i = 0; i < contrasts.size(); ++i) {
    const results::PlanContrast& contrast = contrasts[i];
    std::vector<TableCell> row = {text_cell(contrast.effect), text_cell(enum_name(contrast.kind))};
    if (has_estimates) {
      const EffectResult& effect = effects.at(i);
      row.push_back(loss_cell(effect.loss, effect.second));
      row.push_back(metric_verdict_cell(effect.loss, "better", "worse"));
      row.push_back(ratio_cell(effect.log_time));
      row.push_back(metric_verdict_cell(effect.log_time, "shorter", "longer"));
      if (has_memory) {
        row.push_back(ratio_cell(effect.log_memory));
        row.push_back(metric_verdict_cell(effect.log_memory, "smaller", "larger"));
      }
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

namespace {

/// Enough digits that an error above 0 does not look like 0.
int decimals_of(const FactorShare& share) {
  return share.se && *share.se > 0.0 && *share.se < 0.00005 ? 6 : 4;
}

TableCell share_cell(const FactorShare& share, const LossAttribution& attribution) {
  OrderedJson value = {{"value", share.value}, {"se", nullptr}, {"n", attribution.n}};
  if (share.se) value["se"] = *share.se;
  value["error_from"] = !share.se ? "none" : attribution.is_by_seed ? "seeds" : "cells";
  return value_cell(format_signed(share.value, decimals_of(share)), std::move(value),
                    share.se ? "±" + format_fixed(*share.se, decimals_of(share)) : "");
}

/// The part of the total, if the total clearly exceeds its own error: parts of nearly nothing mean nothing.
TableCell part_cell(const FactorShare& share, const FactorShare& total) {
  constexpr double kMinErrors = 3.0;
  if (!total.se || !(std::abs(total.value) > kMinErrors * *total.se)) return missing_cell();
  return percent_cell(share.value / total.value, 0);
}

std::string attribution_text(const LossAttribution& attribution) {
  std::string text =
      "The whole is the step from none of the changes to all of them. A change's share is what it adds to val loss, "
      "averaged over all orders in which the changes can be made. Below 0 it lowers the loss; the shares sum to the "
      "whole. ";
  if (!attribution.total.se) return text + "One run of each cell gives no error.";
  text += "± is the standard error ";
  if (attribution.is_by_seed) return text + "over " + counted(attribution.n, "seed") + ".";
  return text + "from the spread within the cells.";
}

}  // namespace

Section attribution_section(const LossAttribution& attribution) {
  Section section{.title = "What each change contributes (Shapley)", .paragraphs = {attribution_text(attribution)}};
  Table table{.id = "shapley",
              .columns = {text_column("change", "change"), number_column("loss", "share of val loss"),
                          number_column("part", "of the whole")}};
  const auto add = [&](const FactorShare& share) {
    table.rows.push_back(
        {text_cell(share.factor), share_cell(share, attribution), part_cell(share, attribution.total)});
  };
  for (const FactorShare& share : attribution.shares) add(share);
  add(attribution.total);
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace nanobench::reports

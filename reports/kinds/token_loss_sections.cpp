// Losses of tokens by group: by place in the document, by its length, by how frequent the token is.
#include "core/base/text.h"
#include "core/data/token_groups.h"
#include "reports/charts/charts.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {
namespace {

using core::AskedMetric;

BucketWords words_of(AskedMetric metric) {
  switch (metric) {
    case AskedMetric::kLossAtPosition:
    case AskedMetric::kHealth: break;  // of no bucket
    case AskedMetric::kLossByDocumentLength:
      return {
          .title = "Loss by the length of the document", .axis = "tokens of the document", .last = "Long documents"};
    case AskedMetric::kLossByTokenFrequency:
      return {.title = "Loss by the frequency of the token",
              .axis = "rank of the target token (1: the most frequent)",
              .last = "Rare tokens"};
  }
  return {.title = "Loss by the position in the document",
          .axis = "position in the document, tokens",
          .last = "Long positions"};
}

TableCell range_loss_cell(const CellBuckets& cell, const BucketRange& range) {
  return summary_cell(cell.summary(range), [](double loss) { return format_fixed(loss, 4); });
}

Table cell_table(const PlanBuckets& buckets, const RangeEffects& effects) {
  Table table{
      .id = enum_name(buckets.metric),
      .columns = {text_column("row", "record"), number_column("before", "val loss, " + range_text(effects.before)),
                  number_column("last", "val loss, " + range_text(effects.last)), number_column("n", "n")}};
  for (const CellBuckets& cell : buckets.cells) {
    if (cell.runs.empty()) continue;
    table.rows.push_back({text_cell(cell.cell), range_loss_cell(cell, effects.before),
                          range_loss_cell(cell, effects.last),
                          count_cell(static_cast<std::int64_t>(cell.runs.size()))});
  }
  return table;
}

Table change_table(const results::PlanRecord& plan, const PlanBuckets& buckets, const RangeEffects& effects) {
  Table table{
      .id = std::string(enum_name(buckets.metric)) + "_effects",
      .columns = {text_column("effect", "effect"), number_column("before", "change, " + range_text(effects.before), 1),
                  number_column("last", "change, " + range_text(effects.last)), text_column("verdict", "verdict")}};
  for (std::size_t i = 0; i < plan.contrasts.size(); ++i) {
    const MeasuredEffect& effect = effects.effects[i];
    table.rows.push_back({text_cell(plan.contrasts[i].effect), loss_change_cell(effects.on_before[i]),
                          loss_change_cell(effect), metric_verdict_cell(effect, "better", "worse")});
  }
  return table;
}

/// "Long positions are those of 256 on: 27 % of the targets. Val loss there: better with a, b; open for 2 effects."
std::string answer_of(const results::PlanRecord& plan, const PlanBuckets& buckets, const RangeEffects& effects) {
  std::vector<std::string> better, worse, same;
  std::size_t open = 0;
  for (std::size_t i = 0; i < plan.contrasts.size(); ++i) {
    const std::string& name = plan.contrasts[i].effect;
    switch (effects.effects[i].verdict) {
      case Verdict::kImproved: better.push_back(name); break;
      case Verdict::kRegressed: worse.push_back(name); break;
      case Verdict::kUnchanged: same.push_back(name); break;
      default: ++open;
    }
  }
  const std::vector<double> counts = pooled_counts(buckets);
  double last = 0.0, all = 0.0;
  for (int bucket = 0; bucket < core::kLogBuckets; ++bucket) {
    const double tokens = counts[static_cast<std::size_t>(bucket)];
    all += tokens;
    if (bucket >= effects.last.first) last += tokens;
  }
  std::vector<std::string> parts;
  if (!better.empty()) parts.push_back("better with " + joined(better));
  if (!worse.empty()) parts.push_back("worse with " + joined(worse));
  if (!same.empty()) parts.push_back("unchanged by " + joined(same));
  if (open > 0) parts.push_back("open for " + counted(static_cast<std::int64_t>(open), "effect"));
  return std::string(words_of(buckets.metric).last) + " are those of " + range_text(effects.last) + ": " +
         format_fixed(100.0 * last / all, 0) + " % of the targets." +
         (parts.empty() ? "" : " Val loss there: " + joined(parts, "; ") + ".");
}

/// Every bucket of every cell, and every doubling of every change.
std::vector<Table> bucket_tables(const results::PlanRecord& plan, const PlanBuckets& buckets,
                                 const RangeEffects& effects) {
  const std::string id = enum_name(buckets.metric);
  Table losses{
      .id = id + "_buckets",
      .columns = {text_column("row", "record"), number_column("bucket", "bucket"), number_column("first", "from"),
                  number_column("loss", "val loss"), number_column("tokens", "targets"), number_column("n", "n")}};
  for (const CellBuckets& cell : buckets.cells) {
    for (int bucket = 0; bucket < core::kLogBuckets; ++bucket) {
      const BucketRange range{bucket, bucket + 1};
      const Summary summary = cell.summary(range);
      if (!summary.mean) continue;
      const BucketLosses& any = cell.runs.begin()->second;
      losses.rows.push_back({text_cell(cell.cell), count_cell(bucket), count_cell(core::log_bucket_begin(bucket)),
                             range_loss_cell(cell, range), count_cell(static_cast<std::int64_t>(any.count(range))),
                             count_cell(summary.n)});
    }
  }
  Table changes{.id = id + "_doublings",
                .columns = {text_column("effect", "effect"), number_column("first", "from"),
                            text_column("range", "numbers"), number_column("change", "change")}};
  for (std::size_t i = 0; i < plan.contrasts.size(); ++i) {
    for (std::size_t range = 0; range < effects.ranges.size(); ++range) {
      changes.rows.push_back(
          {text_cell(plan.contrasts[i].effect), count_cell(core::log_bucket_begin(effects.ranges[range].first)),
           text_cell(range_text(effects.ranges[range])), loss_change_cell(effects.by_range[range][i])});
    }
  }
  return {std::move(losses), std::move(changes)};
}

Section main_section(const results::PlanRecord& plan, const PlanBuckets& buckets, const RangeEffects& effects,
                     bool has_charts) {
  const BucketWords words = words_of(buckets.metric);
  Section section{.title = words.title, .paragraphs = {answer_of(plan, buckets, effects)}};
  section.tables.push_back(cell_table(buckets, effects));
  if (!plan.contrasts.empty()) section.tables.push_back(change_table(plan, buckets, effects));
  section.reading = {
      std::string("Losses of the last validation's tokens by ") + words.axis + ", in nats per token. " + words.last +
          ": the fewest last buckets that hold a quarter of the targets.",
      "Verdicts: the change of the loss there, judged like the final losses and adjusted over all changes; a family "
      "of its own. Intervals of one range hold for all changes together, not for all ranges."};
  if (!share_targets(buckets))
    section.reading.emplace_back(
        "The runs did not validate on the same targets: their validations differ in length, so compare with care.");
  if (has_charts) section.charts = bucket_charts(plan, buckets, effects, words);
  return section;
}

}  // namespace

std::vector<Section> token_loss_sections(const results::PlanRecord& plan, const std::vector<JudgedBuckets>& judged,
                                         bool has_charts) {
  std::vector<Section> sections;
  for (const JudgedBuckets& one : judged) sections.push_back(main_section(plan, one.buckets, one.effects, has_charts));
  return sections;
}

std::vector<Section> bucket_sections(const results::PlanRecord& plan, const std::vector<JudgedBuckets>& judged) {
  std::vector<Section> sections;
  for (const JudgedBuckets& one : judged) {
    Section& section = sections.emplace_back();
    section.title = std::string(words_of(one.buckets.metric).title) + ": every bucket";
    section.tables = bucket_tables(plan, one.buckets, one.effects);
    section.is_background = true;
  }
  return sections;
}

}  // namespace nanobench::reports

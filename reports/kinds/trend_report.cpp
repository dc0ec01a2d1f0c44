#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"
#include "reports/kinds/trend_remarks.h"
#include "reports/kinds/trend_text.h"
#include "reports/trend/trend.h"

namespace nanobench::reports {
namespace {

TableCell mean_cell(TrendMetric metric, const Summary& summary) {
  return summary_cell(summary, [=](double value) { return trend_value_text(metric, value); });
}

TableCell metric_cell(TrendMetric metric) {
  return value_cell(title_of(metric), enum_name(metric));
}

TableCell level_cell(TrendMetric metric, double value) {
  return value_cell(trend_value_text(metric, value), value);
}

/// How many runs completed, and what happened to the others.
TableCell runs_cell(const SeriesRevision& runs) {
  std::vector<std::string> others;
  const auto add = [&](int count, const char* what) {
    if (count > 0) others.push_back(std::to_string(count) + " " + what);
  };
  add(runs.failed, "failed");
  add(runs.unfinished, "unfinished");
  add(runs.disturbed, "disturbed");
  return value_cell(std::to_string(runs.completed),
                    {{"completed", runs.completed},
                     {"failed", runs.failed},
                     {"unfinished", runs.unfinished},
                     {"disturbed", runs.disturbed}},
                    others.empty() ? "" : "(" + joined(others) + ")");
}

const TrendChange* worst_change(const SeriesTrend& item) {
  const auto worst = std::max_element(item.changes.begin(), item.changes.end(),
                                      [](const TrendChange& a, const TrendChange& b) { return a.harm < b.harm; });
  return worst == item.changes.end() ? nullptr : &*worst;
}

TableCell answer_cell(const Trend& trend, const SeriesTrend& item) {
  TableCell cell = text_cell(enum_name(item.answer));
  if (const TrendChange* worst = worst_change(item)) {
    cell.detail = change_text(trend, item, *worst);
    if (item.changes.size() > 1)
      cell.detail += "; " + counted(static_cast<std::int64_t>(item.changes.size()) - 1, "other change");
    if (item.has_days) cell.detail += "; doubtful";
  } else if (item.answer == TrendAnswer::kTooFew) {
    cell.detail = std::to_string(item.values) + " of " + std::to_string(item.needed) + " values";
  }
  return cell;
}

TableCell values_cell(const SeriesTrend& item) {
  return value_cell(std::to_string(item.values),
                    {{"values", item.values},
                     {"needed", item.needed},
                     {"is_by_revision", item.is_by_revision},
                     {"has_days", item.has_days}},
                    item.is_by_revision ? "means" : "");
}

std::vector<TableCell> series_row(const Trend& trend, const SeriesTrend& item) {
  const TrendMetric metric = item.series.metric;
  const TrendChange* worst = worst_change(item);
  TableCell newest = missing_cell();
  TableCell revision = missing_cell();
  if (!item.rows.empty()) {
    newest = expectation_cell(metric, item.rows.back().expectation);
    newest.value["is_apart"] = item.is_newest_apart;
    revision = revision_cell(revision_at(trend, item, item.rows.size() - 1));
  }
  return {text_cell(item.series.cell),
          metric_cell(metric),
          answer_cell(trend, item),
          p_cell(worst != nullptr ? std::optional(worst->adjusted_p) : std::nullopt),
          std::move(revision),
          std::move(newest),
          p_cell(item.newest_p),
          count_cell(static_cast<std::int64_t>(item.rows.size())),
          runs_cell(sum_of(item.series)),
          values_cell(item)};
}

std::vector<TableCell> change_row(const Trend& trend, const PlacedChange& placed) {
  const SeriesTrend& item = *placed.item;
  const TrendChange& change = *placed.change;
  const TrendMetric metric = item.series.metric;
  return {text_cell(item.series.cell),
          metric_cell(metric),
          shift_cell(metric, change.shift),
          revision_cell(revision_at(trend, item, change.before)),
          revision_cell(revision_at(trend, item, change.after)),
          date_cell(item.series.revisions[change.after].first_at),
          level_cell(metric, change.mean_before),
          level_cell(metric, change.mean_after),
          p_cell(change.p),
          p_cell(change.adjusted_p),
          value_cell(std::to_string(change.n_before) + ", " + std::to_string(change.n_after),
                     {{"before", change.n_before}, {"after", change.n_after}})};
}

/// Whether a new level begins with this revision, or within it.
TableCell mark_cell(const SeriesTrend& item, std::size_t index) {
  for (const TrendChange& change : item.changes) {
    if (change.after != index) continue;
    return text_cell(change.is_within_revision() ? "change within" : "new level");
  }
  return value_cell("", nullptr);
}

void add_revision_rows(Table& table, const Trend& trend, const SeriesTrend& item) {
  const TrendMetric metric = item.series.metric;
  for (std::size_t i = 0; i < item.rows.size(); ++i) {
    const SeriesRevision& runs = item.series.revisions[i];
    table.rows.push_back({text_cell(item.series.cell), metric_cell(metric), revision_cell(revision_at(trend, item, i)),
                          date_cell(runs.first_at), runs_cell(runs), mean_cell(metric, item.rows[i].summary),
                          expectation_cell(metric, item.rows[i].expectation), mark_cell(item, i)});
  }
}

/// One row per series: its answer, its newest revision, its runs.
Table series_table(const Trend& trend) {
  Table table{.id = "series",
              .title = "",
              .columns = {text_column("cell", "cell"), text_column("metric", "metric"), wide_column("answer", "answer"),
                          number_column("adjusted_p", "p", 3), text_column("newest_revision", "newest revision", 2),
                          text_column("newest", "newest is", 1), number_column("newest_p", "p of newest", 4),
                          number_column("revisions", "revisions", 1), number_column("runs", "runs"),
                          number_column("values", "values", 5)}};
  for (const SeriesTrend& item : trend.series) table.rows.push_back(series_row(trend, item));
  return table;
}

/// Worst first.
Table changes_table(const Trend& trend) {
  Table table{
      .id = "changes",
      .title = "Changes, the worst first",
      .columns = {text_column("cell", "cell"), text_column("metric", "metric"), number_column("change", "change"),
                  text_column("last_before", "last before"), text_column("first_after", "first after"),
                  text_column("date", "date", 1), number_column("mean_before", "before", 2),
                  number_column("mean_after", "since", 2), number_column("p", "p alone", 4),
                  number_column("adjusted_p", "p", 3), number_column("values", "values", 5)}};
  for (const PlacedChange& placed : all_changes(trend)) table.rows.push_back(change_row(trend, placed));
  return table;
}

/// One row for each series and revision; with more than `max_rows`, steady series are left out.
Table revisions_table(const Trend& trend, std::size_t max_rows) {
  Table table{
      .id = "revisions",
      .title = "Revision by revision",
      .columns = {text_column("cell", "cell"), text_column("metric", "metric"), text_column("revision", "revision"),
                  text_column("date", "date", 1), number_column("runs", "runs"), number_column("value", "mean"),
                  text_column("expected", "beside the runs before", 2), text_column("change", "change", 3)}};
  std::size_t all = 0;
  for (const SeriesTrend& item : trend.series) all += item.rows.size();
  for (const SeriesTrend& item : trend.series) {
    if (all <= max_rows || item.answer == TrendAnswer::kChanged || item.is_newest_apart)
      add_revision_rows(table, trend, item);
  }
  return table;
}

/// Runs that cannot be compared with the others of their cell.
Table left_out_table(const Trend& trend) {
  Table table{.id = "left_out",
              .title = "Left out: not comparable",
              .columns = {text_column("cell", "cell"), text_column("metrics", "metrics"),
                          wide_column("reason", "because of"), number_column("runs", "completed runs")}};
  for (const LeftOutRuns& item : trend.left_out) {
    std::vector<std::string> titles;
    core::OrderedJson names = core::OrderedJson::array();
    for (const TrendMetric metric : item.metrics) {
      titles.emplace_back(title_of(metric));
      names.push_back(enum_name(metric));
    }
    table.rows.push_back({text_cell(item.cell), value_cell(joined(titles), std::move(names)),
                          text_cell(conditions_text(item.others)), count_cell(item.runs)});
  }
  return table;
}

void add_method_notes(Document& document, const Trend& trend) {
  bool has_runs = false, has_means = false, has_mixed_seeds = false;
  for (const SeriesTrend& item : trend.series) {
    has_means = has_means || item.is_by_revision;
    has_runs = has_runs || (!item.is_by_revision && item.answer != TrendAnswer::kTooFew);
    has_mixed_seeds = has_mixed_seeds || item.has_mixed_seeds;
  }
  document.reading.push_back("Changes: E-divisive with a seeded permutation test, " + std::to_string(kMinBeside) +
                             " values or more on each side. Times may be correlated by up to 0.5 from value to value, "
                             "which is no change. p is adjusted by Holm over all series of this report. [ ]: 95 % "
                             "interval of the size, given the place that was found.");
  if (has_means)
    document.reading.emplace_back(
        "With enough revisions, their means are the values, because runs of one revision share the machine's state of "
        "that day.");
  if (has_runs)
    document.reading.emplace_back(
        "With few revisions, single runs are the values. A machine that is slower on one day may then look like a "
        "change. The change is doubtful where revisions of one level differ more than their runs do "
        "(F test).");
  document.reading.push_back(
      "Beside the runs before: whether the mean lies within the range of " + format_percent(1.0 - trend.alpha, 0) +
      " of such means, judged by " + std::to_string(kMinBeside) +
      " or more values since the last change. Losses are compared in a layout of revision and seed, and revisions with "
      "the same losses count as one. The newest revisions of all series are judged together (Holm).");
  if (has_mixed_seeds)
    document.reading.emplace_back(
        "The revisions of a loss have different seeds. The level of a seed is taken out of the means where the seed "
        "returns, and is part of the noise elsewhere.");
}

/// Warnings of failed, disturbed and left out runs, notes on the revisions, and how to read the report.
void add_trend_remarks(Document& document, const Trend& trend) {
  for (const TrendRemark& warning : trend_warnings(trend)) document.warnings.push_back(text_of(warning));
  for (const TrendRemark& note : trend_notes(trend)) document.notes.push_back(text_of(note));
  add_method_notes(document, trend);
}

constexpr std::size_t kMaxSentences = 5;

std::int64_t count_of(const Trend& trend, TrendAnswer answer) {
  return std::count_if(trend.series.begin(), trend.series.end(),
                       [&](const SeriesTrend& item) { return item.answer == answer; });
}

/// "11 series are steady; 2 have too few runs (9 needed)."
std::string rest_sentence(const Trend& trend) {
  const std::int64_t steady = count_of(trend, TrendAnswer::kSteady);
  const std::int64_t too_few = count_of(trend, TrendAnswer::kTooFew);
  std::vector<std::string> parts;
  if (steady > 0) parts.push_back(counted(steady, "series is steady", "series are steady"));
  if (too_few > 0)
    parts.push_back(counted(too_few, steady > 0 ? "has" : "series has", steady > 0 ? "have" : "series have") +
                    " too few runs (" + std::to_string(needed_values(trend.family(), trend.alpha)) + " needed)");
  return joined(parts, "; ") + ".";
}

std::vector<Fact> facts_of(const std::string& suite, const Trend& trend) {
  std::vector<Fact> facts = {{"suite", "suite", text_cell(suite)},
                             {"series", "series", count_cell(trend.family())},
                             {"changed", "changed", count_cell(count_of(trend, TrendAnswer::kChanged))},
                             {"steady", "steady", count_cell(count_of(trend, TrendAnswer::kSteady))},
                             {"too_few", "too few runs", count_cell(count_of(trend, TrendAnswer::kTooFew))},
                             {"revisions", "revisions", count_cell(static_cast<std::int64_t>(trend.revisions.size()))}};
  if (!trend.revisions.empty()) {
    facts.push_back({"oldest", "oldest revision", revision_cell(trend.revisions.front())});
    facts.push_back({"newest", "newest revision", revision_cell(trend.revisions.back())});
    facts.back().cell.detail = "(first run " + date_cell(trend.revisions.back().first_at).text + ")";
  }
  facts.push_back(
      {"false_alarms", "false alarms",
       value_cell("at most " + format_percent(trend.alpha, 1), trend.alpha,
                  "of such reports over steady series show a change, if values are independent and times at most "
                  "half correlated with those before (Holm over " +
                      std::to_string(trend.family()) + " series)")});
  return facts;
}

}  // namespace

std::vector<std::string> trend_headline(const Trend& trend) {
  std::vector<std::string> sentences;
  if (trend.series.empty()) return {"No runs that can be ordered in time."};
  const std::vector<PlacedChange> changes = all_changes(trend);
  for (const PlacedChange& placed : changes) {
    if (sentences.size() == kMaxSentences) break;
    std::string text = name_of(placed.item->series) + " " + change_text(trend, *placed.item, *placed.change);
    if (placed.change->is_within_revision()) text += ": the sources are the same, so look at the machine and the data";
    if (placed.item->has_days) text += ": doubtful, because other revisions also differ more than their runs do";
    sentences.push_back(text + ".");
  }
  if (changes.size() > kMaxSentences)
    sentences.push_back(counted(static_cast<std::int64_t>(changes.size() - kMaxSentences), "more change") + " below.");
  std::size_t apart = 0;
  for (const SeriesTrend& item : trend.series) {
    const bool is_said = !item.changes.empty() && item.changes.back().after + 1 == item.rows.size();
    if (!item.is_newest_apart || is_said || ++apart > kMaxSentences) continue;
    const bool is_above = item.rows.back().expectation.position == TrendPosition::kAbove;
    sentences.push_back(name_of(item.series) + " in its newest revision, " +
                        revision_at(trend, item, item.rows.size() - 1).label + ", is " +
                        (is_above ? "above" : "below") + " the range that the runs before predict.");
  }
  if (count_of(trend, TrendAnswer::kChanged) < trend.family()) sentences.push_back(rest_sentence(trend));
  return sentences;
}

Document trend_report(const std::string& suite, const Trend& trend, std::size_t max_rows) {
  Document document{.kind = "trend", .title = "Trend of " + suite};
  Section& head = document.sections.emplace_back();
  std::vector<std::string> sentences = trend_headline(trend);
  if (!sentences.empty()) {
    document.headline = sentences.front();
    head.paragraphs.assign(sentences.begin() + 1, sentences.end());
  }
  head.facts = facts_of(suite, trend);
  Section& body = document.sections.emplace_back();
  body.tables = {series_table(trend), changes_table(trend), revisions_table(trend, max_rows), left_out_table(trend)};
  std::size_t left_out = 0;
  for (const SeriesTrend& item : trend.series) left_out += item.rows.size();
  left_out -= body.tables[2].rows.size();
  std::erase_if(body.tables, [](const Table& table) { return table.id != "series" && table.rows.empty(); });
  if (left_out > 0)
    document.notes.push_back(
        text_of(TrendRemark{.kind = TrendRemark::Kind::kRowsLeftOut, .count = static_cast<std::int64_t>(left_out)}));
  add_trend_remarks(document, trend);
  return document;
}

}  // namespace nanobench::reports

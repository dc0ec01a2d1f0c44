#include "reports/kinds/trend_tables.h"

#include <algorithm>

#include "core/base/text.h"
#include "reports/kinds/trend_text.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

TableCell mean_cell(TrendMetric metric, const Summary& summary) {
  OrderedJson value = {{"mean", nullptr}, {"sd", nullptr}, {"n", summary.n}};
  if (!summary.mean) return {.text = "-", .detail = "", .value = std::move(value)};
  TableCell cell{.text = trend_value_text(metric, *summary.mean), .detail = "", .value = nullptr};
  value["mean"] = *summary.mean;
  if (summary.sd) {
    value["sd"] = *summary.sd;
    cell.detail = "±" + trend_value_text(metric, *summary.sd);
  }
  cell.value = std::move(value);
  return cell;
}

TableCell number_cell(TrendMetric metric, double value) {
  return {.text = trend_value_text(metric, value), .detail = "", .value = value};
}

/// How many completed, and what became of the others.
TableCell runs_cell(int completed, int failed, int unfinished, int disturbed) {
  TableCell cell{
      .text = std::to_string(completed),
      .detail = "",
      .value = {{"completed", completed}, {"failed", failed}, {"unfinished", unfinished}, {"disturbed", disturbed}}};
  const auto add = [&](int count, const char* what) {
    if (count > 0) cell.detail += (cell.detail.empty() ? "(" : ", ") + std::to_string(count) + " " + what;
  };
  add(failed, "failed");
  add(unfinished, "unfinished");
  add(disturbed, "disturbed");
  if (!cell.detail.empty()) cell.detail += ")";
  return cell;
}

TableCell runs_cell(const SeriesRevision& runs) {
  return runs_cell(runs.completed, runs.failed, runs.unfinished, runs.disturbed);
}

const TrendChange* worst_change(const SeriesTrend& item) {
  const auto worst = std::max_element(item.changes.begin(), item.changes.end(),
                                      [](const TrendChange& a, const TrendChange& b) { return a.harm < b.harm; });
  return worst == item.changes.end() ? nullptr : &*worst;
}

TableCell answer_cell(const Trend& trend, const SeriesTrend& item) {
  TableCell cell = text_cell(to_string(item.answer));
  if (const TrendChange* worst = worst_change(item)) {
    cell.detail = change_text(trend, item, *worst);
    if (item.changes.size() > 1)
      cell.detail += "; " + counted(item.changes.size() - 1, "other change", "other changes");
    if (item.has_days) cell.detail += "; doubtful";
  } else if (item.answer == TrendAnswer::kTooFew) {
    cell.detail = std::to_string(item.values) + " of " + std::to_string(item.needed) + " values";
  }
  return cell;
}

TableCell values_cell(const SeriesTrend& item) {
  return {.text = std::to_string(item.values),
          .detail = item.is_by_revision ? "means" : "",
          .value = {{"values", item.values},
                    {"needed", item.needed},
                    {"is_by_revision", item.is_by_revision},
                    {"has_days", item.has_days}}};
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
          {.text = title_of(metric), .detail = "", .value = to_string(metric)},
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
          {.text = title_of(metric), .detail = "", .value = to_string(metric)},
          shift_cell(metric, change.shift),
          revision_cell(revision_at(trend, item, change.before)),
          revision_cell(revision_at(trend, item, change.after)),
          date_cell(item.series.revisions[change.after].first_at),
          number_cell(metric, change.mean_before),
          number_cell(metric, change.mean_after),
          p_cell(change.p),
          p_cell(change.adjusted_p),
          {.text = std::to_string(change.n_before) + ", " + std::to_string(change.n_after),
           .detail = "",
           .value = {{"before", change.n_before}, {"after", change.n_after}}}};
}

/// Whether a new level begins with this revision, or within it.
TableCell mark_cell(const SeriesTrend& item, std::size_t index) {
  for (const TrendChange& change : item.changes) {
    if (change.after != index) continue;
    const std::string text = change.is_within_revision() ? "change within" : "new level";
    return {.text = text, .detail = "", .value = text};
  }
  return {.text = "", .detail = "", .value = nullptr};
}

void add_revision_rows(Table& table, const Trend& trend, const SeriesTrend& item) {
  const TrendMetric metric = item.series.metric;
  for (std::size_t i = 0; i < item.rows.size(); ++i) {
    const SeriesRevision& runs = item.series.revisions[i];
    table.rows.push_back({text_cell(item.series.cell),
                          {.text = title_of(metric), .detail = "", .value = to_string(metric)},
                          revision_cell(revision_at(trend, item, i)),
                          date_cell(runs.first_at),
                          runs_cell(runs),
                          mean_cell(metric, item.rows[i].summary),
                          expectation_cell(metric, item.rows[i].expectation),
                          mark_cell(item, i)});
  }
}

}  // namespace

Table series_table(const Trend& trend) {
  Table table{.id = "series",
              .title = "",
              .columns = {{.key = "cell", .title = "cell"},
                          {.key = "metric", .title = "metric"},
                          {.key = "answer", .title = "answer", .wraps = true},
                          {.key = "adjusted_p", .title = "p", .is_number = true, .priority = 3},
                          {.key = "newest_revision", .title = "newest revision", .priority = 2},
                          {.key = "newest", .title = "newest is", .priority = 1},
                          {.key = "newest_p", .title = "p of newest", .is_number = true, .priority = 4},
                          {.key = "revisions", .title = "revisions", .is_number = true, .priority = 1},
                          {.key = "runs", .title = "runs", .is_number = true},
                          {.key = "values", .title = "values", .is_number = true, .priority = 5}}};
  for (const SeriesTrend& item : trend.series) table.rows.push_back(series_row(trend, item));
  return table;
}

Table changes_table(const Trend& trend) {
  Table table{.id = "changes",
              .title = "Changes, the worst first",
              .columns = {{.key = "cell", .title = "cell"},
                          {.key = "metric", .title = "metric"},
                          {.key = "change", .title = "change", .is_number = true},
                          {.key = "last_before", .title = "after"},
                          {.key = "first_after", .title = "up to"},
                          {.key = "date", .title = "date", .priority = 1},
                          {.key = "mean_before", .title = "before", .is_number = true, .priority = 2},
                          {.key = "mean_after", .title = "since", .is_number = true, .priority = 2},
                          {.key = "p", .title = "p alone", .is_number = true, .priority = 4},
                          {.key = "adjusted_p", .title = "p", .is_number = true, .priority = 3},
                          {.key = "values", .title = "values", .is_number = true, .priority = 5}}};
  for (const PlacedChange& placed : all_changes(trend)) table.rows.push_back(change_row(trend, placed));
  return table;
}

Table revisions_table(const Trend& trend, std::size_t most_rows) {
  Table table{.id = "revisions",
              .title = "Revision by revision",
              .columns = {{.key = "cell", .title = "cell"},
                          {.key = "metric", .title = "metric"},
                          {.key = "revision", .title = "revision"},
                          {.key = "date", .title = "date", .priority = 1},
                          {.key = "runs", .title = "runs", .is_number = true},
                          {.key = "value", .title = "mean", .is_number = true},
                          {.key = "expected", .title = "beside the runs before", .priority = 2},
                          {.key = "change", .title = "change", .priority = 3}}};
  std::size_t all = 0;
  for (const SeriesTrend& item : trend.series) all += item.rows.size();
  for (const SeriesTrend& item : trend.series) {
    if (all <= most_rows || item.answer == TrendAnswer::kChanged || item.is_newest_apart)
      add_revision_rows(table, trend, item);
  }
  return table;
}

Table left_out_table(const Trend& trend) {
  Table table{.id = "left_out",
              .title = "Left out: not comparable",
              .columns = {{.key = "cell", .title = "cell"},
                          {.key = "metrics", .title = "metrics"},
                          {.key = "reason", .title = "because of", .wraps = true},
                          {.key = "runs", .title = "completed runs", .is_number = true}}};
  for (const LeftOutRuns& item : trend.left_out) {
    std::string names;
    OrderedJson list = OrderedJson::array();
    for (const TrendMetric metric : item.metrics) {
      names += (names.empty() ? "" : ", ") + std::string(title_of(metric));
      list.push_back(to_string(metric));
    }
    table.rows.push_back({text_cell(item.cell),
                          {.text = names, .detail = "", .value = std::move(list)},
                          text_cell(item.reason),
                          count_cell(item.runs)});
  }
  return table;
}

}  // namespace nanobench::reports

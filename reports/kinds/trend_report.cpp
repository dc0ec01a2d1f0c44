#include "reports/kinds/trend_report.h"

#include <algorithm>
#include <map>
#include <set>

#include "reports/kinds/trend_text.h"
#include "reports/text.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr std::size_t kMostSentences = 5;
constexpr std::size_t kDateLetters = 10;  // of an ISO 8601 time

/// One change with the series that it is in.
struct PlacedChange {
  const SeriesTrend* item = nullptr;
  const TrendChange* change = nullptr;
};

/// The worst first.
std::vector<PlacedChange> all_changes(const Trend& trend) {
  std::vector<PlacedChange> changes;
  for (const SeriesTrend& item : trend.series) {
    for (const TrendChange& change : item.changes) changes.push_back({.item = &item, .change = &change});
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const PlacedChange& a, const PlacedChange& b) { return a.change->harm > b.change->harm; });
  return changes;
}

std::string counted(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::size_t count_of(const Trend& trend, TrendAnswer answer) {
  return static_cast<std::size_t>(std::count_if(trend.series.begin(), trend.series.end(),
                                                [&](const SeriesTrend& item) { return item.answer == answer; }));
}

/// "11 series are steady; 2 have too few runs (9 needed)."
std::string rest_sentence(const Trend& trend) {
  const std::size_t steady = count_of(trend, TrendAnswer::kSteady);
  const std::size_t too_few = count_of(trend, TrendAnswer::kTooFew);
  std::string text;
  if (steady > 0) text = counted(steady, "series is steady", "series are steady");
  if (too_few > 0) {
    text += text.empty() ? "" : "; ";
    text += counted(too_few, steady > 0 ? "has" : "series has", steady > 0 ? "have" : "series have");
    text += " too few runs (" + std::to_string(needed_values(trend.family(), trend.alpha)) + " needed)";
  }
  return text + ".";
}

std::string date_cell_text(const std::string& time) {
  return time.substr(0, kDateLetters);
}

TableCell date_cell(const std::string& time) {
  return {.text = date_cell_text(time), .detail = "", .value = time};
}

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

SeriesRevision sum_of(const TrendSeries& series) {
  SeriesRevision sum;
  for (const SeriesRevision& revision : series.revisions) {
    sum.completed += revision.completed;
    sum.failed += revision.failed;
    sum.unfinished += revision.unfinished;
    sum.disturbed += revision.disturbed;
  }
  return sum;
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

Table revisions_table(const Trend& trend, std::size_t most_rows, std::size_t& left_out) {
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
  left_out = all - table.rows.size();
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

std::vector<Fact> facts_of(const std::string& suite, const Trend& trend) {
  std::vector<Fact> facts = {
      {"suite", "suite", text_cell(suite)},
      {"series", "series", count_cell(trend.family())},
      {"changed", "changed", count_cell(static_cast<std::int64_t>(count_of(trend, TrendAnswer::kChanged)))},
      {"steady", "steady", count_cell(static_cast<std::int64_t>(count_of(trend, TrendAnswer::kSteady)))},
      {"too_few", "too few runs", count_cell(static_cast<std::int64_t>(count_of(trend, TrendAnswer::kTooFew)))},
      {"revisions", "revisions", count_cell(static_cast<std::int64_t>(trend.revisions.size()))}};
  if (!trend.revisions.empty()) {
    facts.push_back({"oldest", "oldest revision", revision_cell(trend.revisions.front())});
    facts.push_back({"newest", "newest revision", revision_cell(trend.revisions.back())});
    facts.back().cell.detail = "(first run " + date_cell_text(trend.revisions.back().first_at) + ")";
  }
  facts.push_back(
      {"false_alarms",
       "false alarms",
       {.text = "at most " + format_percent(trend.alpha, 1),
        .detail = "of such reports over steady series show a change, if their values are independent (Holm over " +
                  counted(trend.series.size(), "series)", "series)"),
        .value = trend.alpha}});
  return facts;
}

/// The runs of a cell are counted once, not for each metric.
std::map<std::string, const SeriesTrend*> one_for_each_cell(const Trend& trend) {
  std::map<std::string, const SeriesTrend*> cells;
  for (const SeriesTrend& item : trend.series) {
    const SeriesTrend*& known = cells[item.series.cell];
    if (known == nullptr || sum_of(item.series).completed > sum_of(known->series).completed) known = &item;
  }
  return cells;
}

void add_warnings(Document& document, const Trend& trend) {
  int disturbed = 0, failed = 0;
  for (const auto& [cell, item] : one_for_each_cell(trend)) {
    const SeriesRevision sum = sum_of(item->series);
    disturbed += sum.disturbed;
    const SeriesRevision& newest = item->series.revisions.back();
    failed += sum.failed - newest.failed;
    if (newest.failed == 0) continue;
    document.warnings.push_back(cell + ": " + std::to_string(newest.failed) + " of " +
                                std::to_string(newest.failed + newest.completed) + " runs of its newest revision, " +
                                revision_at(trend, *item, item->rows.size() - 1).label + ", failed (" + newest.failure +
                                ").");
  }
  if (failed > 0)
    document.warnings.push_back(counted(static_cast<std::size_t>(failed), "run of an earlier revision failed",
                                        "runs of earlier revisions failed") +
                                ": without values, and counted in the column runs.");
  if (disturbed > 0)
    document.warnings.push_back(
        counted(static_cast<std::size_t>(disturbed), "run was disturbed", "runs were disturbed") +
        " by other work on the machine: losses count, times are doubtful.");
  for (const LeftOutRuns& item : trend.left_out) {
    if (item.is_newer)
      document.warnings.push_back("Newer runs of " + item.cell + " are left out (" + item.reason +
                                  "): what they show is not in this report.");
  }
}

void add_revision_notes(Document& document, const Trend& trend) {
  std::size_t dirty = 0, rebuilt = 0;
  for (const Revision& revision : trend.revisions) {
    dirty += revision.is_dirty ? 1 : 0;
    rebuilt += revision.programs > 1 ? 1 : 0;
  }
  document.notes.emplace_back(
      "Revisions stand in the order of their first runs, which need not be that of the history.");
  if (dirty > 0)
    document.notes.push_back(counted(dirty, "revision has", "revisions have") +
                             " uncommitted changes (+dirty): such a program is another one each time, so each counts "
                             "for itself and apart from the clean one.");
  if (rebuilt > 0)
    document.notes.push_back(counted(rebuilt, "revision was", "revisions were") +
                             " measured with more than one program (another compiler or other options); they count as "
                             "one.");
}

void add_method_notes(Document& document, const Trend& trend) {
  bool has_runs = false, has_means = false, has_mixed_seeds = false;
  for (const SeriesTrend& item : trend.series) {
    has_means = has_means || item.is_by_revision;
    has_runs = has_runs || (!item.is_by_revision && item.answer != TrendAnswer::kTooFew);
    has_mixed_seeds = has_mixed_seeds || item.has_mixed_seeds;
  }
  document.notes.push_back("Changes: E-divisive with a permutation test (seeded), " + std::to_string(kLeastBeside) +
                           " values or more on each side; p is adjusted by Holm over all series of this report. [ ]: "
                           "95 % interval of the size, for the place that was found.");
  if (has_means)
    document.notes.emplace_back(
        "Where revisions are many enough, their means are the values: runs of one revision share the machine's state "
        "of "
        "that day.");
  if (has_runs)
    document.notes.emplace_back(
        "Where revisions are few, single runs are the values and count as independent: a machine that is slower on one "
        "day than on another then looks like a change. It is doubtful where revisions of one level differ more than "
        "their runs do (F test).");
  document.notes.push_back("Beside the runs before: whether the mean lies where " +
                           format_percent(1.0 - trend.alpha, 0) +
                           " of such means lie, by the values since the last change, " + std::to_string(kLeastBeside) +
                           " or more; of a loss seed by seed. The newest of all series are judged together (Holm).");
  if (has_mixed_seeds)
    document.notes.emplace_back(
        "The revisions of a loss have different seeds: a seed's own level is taken out of means where the seed "
        "returns, "
        "and is part of the noise where it does not.");
}

}  // namespace

std::vector<std::string> trend_headline(const Trend& trend) {
  std::vector<std::string> sentences;
  if (trend.series.empty()) return {"No runs that can be put in the order of time."};
  const std::vector<PlacedChange> changes = all_changes(trend);
  for (const PlacedChange& placed : changes) {
    if (sentences.size() == kMostSentences) break;
    std::string text = name_of(placed.item->series) + " " + change_text(trend, *placed.item, *placed.change);
    if (placed.change->is_within_revision()) text += ": the sources are the same, so look at the machine and the data";
    if (placed.item->has_days) text += ": doubtful, as other revisions also differ more than their runs do";
    sentences.push_back(text + ".");
  }
  if (changes.size() > kMostSentences)
    sentences.push_back(counted(changes.size() - kMostSentences, "more change", "more changes") + " below.");
  std::size_t apart = 0;
  for (const SeriesTrend& item : trend.series) {
    const bool is_said = !item.changes.empty() && item.changes.back().after + 1 == item.rows.size();
    if (!item.is_newest_apart || is_said || ++apart > kMostSentences) continue;
    const bool is_above = item.rows.back().expectation.position == TrendPosition::kAbove;
    sentences.push_back(name_of(item.series) + " in its newest revision, " +
                        revision_at(trend, item, item.rows.size() - 1).label + ", is " +
                        (is_above ? "above" : "below") + " what the runs before let expect.");
  }
  if (count_of(trend, TrendAnswer::kChanged) < trend.series.size()) sentences.push_back(rest_sentence(trend));
  return sentences;
}

Document trend_report(const std::string& suite, const Trend& trend, std::size_t most_rows) {
  Document document{.kind = "trend", .title = "Trend of " + suite};
  Section& head = document.sections.emplace_back();
  head.paragraphs = trend_headline(trend);
  head.facts = facts_of(suite, trend);
  Section& body = document.sections.emplace_back();
  std::size_t left_out = 0;
  body.tables = {series_table(trend), changes_table(trend), revisions_table(trend, most_rows, left_out),
                 left_out_table(trend)};
  std::erase_if(body.tables, [](const Table& table) { return table.id != "series" && table.rows.empty(); });
  add_warnings(document, trend);
  if (left_out > 0)
    document.notes.push_back(
        counted(left_out, "row", "rows") +
        " of steady series left out: --cell shows those of one cell, every other format all of them.");
  add_revision_notes(document, trend);
  add_method_notes(document, trend);
  return document;
}

}  // namespace nanobench::reports

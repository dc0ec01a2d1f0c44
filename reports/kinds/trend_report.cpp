#include "reports/kinds/trend_report.h"

#include <algorithm>

#include "core/base/text.h"
#include "reports/kinds/trend_remarks.h"
#include "reports/kinds/trend_tables.h"
#include "reports/kinds/trend_text.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kMostSentences = 5;

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
    facts.back().cell.detail = "(first run " + date_cell(trend.revisions.back().first_at).text + ")";
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
  std::vector<std::string> sentences = trend_headline(trend);
  if (!sentences.empty()) {
    document.headline = sentences.front();
    head.paragraphs.assign(sentences.begin() + 1, sentences.end());
  }
  head.facts = facts_of(suite, trend);
  Section& body = document.sections.emplace_back();
  body.tables = {series_table(trend), changes_table(trend), revisions_table(trend, most_rows), left_out_table(trend)};
  std::size_t left_out = 0;
  for (const SeriesTrend& item : trend.series) left_out += item.rows.size();
  left_out -= body.tables[2].rows.size();
  std::erase_if(body.tables, [](const Table& table) { return table.id != "series" && table.rows.empty(); });
  if (left_out > 0)
    document.notes.push_back(
        counted(left_out, "row", "rows") +
        " of steady series left out: --cell shows those of one cell, every other format all of them.");
  add_trend_remarks(document, trend);
  return document;
}

}  // namespace nanobench::reports

#include "reports/kinds/trend_remarks.h"

#include <map>

#include "core/base/text.h"
#include "reports/kinds/trend_text.h"

namespace nanobench::reports {
namespace {

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
  document.reading.push_back("Changes: E-divisive with a permutation test (seeded), " + std::to_string(kLeastBeside) +
                             " values or more on each side; p is adjusted by Holm over all series of this report. [ ]: "
                             "95 % interval of the size, for the place that was found.");
  if (has_means)
    document.reading.emplace_back(
        "Where revisions are many enough, their means are the values: runs of one revision share the machine's state "
        "of "
        "that day.");
  if (has_runs)
    document.reading.emplace_back(
        "Where revisions are few, single runs are the values and count as independent: a machine that is slower on one "
        "day than on another then looks like a change. It is doubtful where revisions of one level differ more than "
        "their runs do (F test).");
  document.reading.push_back(
      "Beside the runs before: whether the mean lies where " + format_percent(1.0 - trend.alpha, 0) +
      " of such means lie, by the values since the last change, " + std::to_string(kLeastBeside) +
      " or more; of a loss seed by seed. The newest of all series are judged together (Holm).");
  if (has_mixed_seeds)
    document.reading.emplace_back(
        "The revisions of a loss have different seeds: a seed's own level is taken out of means where the seed "
        "returns, "
        "and is part of the noise where it does not.");
}

}  // namespace

void add_trend_remarks(Document& document, const Trend& trend) {
  add_warnings(document, trend);
  add_revision_notes(document, trend);
  add_method_notes(document, trend);
}

}  // namespace nanobench::reports

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

std::string condition_text(const OtherCondition& other) {
  switch (other.kind) {
    case OtherCondition::Kind::kImported: return "imported logs, whose dates are unknown";
    case OtherCondition::Kind::kEngine: return "the engine " + other.value;
    case OtherCondition::Kind::kScale: return "the scale " + other.value;
    case OtherCondition::Kind::kConfiguration: return "another configuration";
    case OtherCondition::Kind::kData: return "other data";
    case OtherCondition::Kind::kDtype: return "numbers in " + other.value;
    case OtherCondition::Kind::kHardware: return "the machine " + other.value;
    case OtherCondition::Kind::kThreads: return other.value + (other.value == "1" ? " thread" : " threads");
    case OtherCondition::Kind::kHost: return "the host " + other.value;
    case OtherCondition::Kind::kGpu: break;
  }
  return other.value.empty() ? "no GPU" : "the GPU " + other.value;
}

}  // namespace

std::vector<TrendRemark> trend_warnings(const Trend& trend) {
  std::vector<TrendRemark> warnings;
  TrendRemark disturbed{.kind = TrendRemark::Kind::kDisturbed}, failed{.kind = TrendRemark::Kind::kEarlierFailed};
  for (const auto& [cell, item] : one_for_each_cell(trend)) {
    const SeriesRevision sum = sum_of(item->series);
    disturbed.count += sum.disturbed;
    const SeriesRevision& newest = item->series.revisions.back();
    failed.count += sum.failed - newest.failed;
    if (newest.failed == 0) continue;
    warnings.push_back({.kind = TrendRemark::Kind::kNewestFailed,
                        .cell = cell,
                        .revision = revision_at(trend, *item, item->rows.size() - 1).label,
                        .failure = newest.failure,
                        .count = newest.failed,
                        .of = newest.failed + newest.completed});
  }
  for (const TrendRemark& remark : {failed, disturbed}) {
    if (remark.count > 0) warnings.push_back(remark);
  }
  for (const LeftOutRuns& item : trend.left_out) {
    if (item.is_newer)
      warnings.push_back({.kind = TrendRemark::Kind::kNewerLeftOut, .cell = item.cell, .others = item.others});
  }
  return warnings;
}

std::vector<TrendRemark> trend_notes(const Trend& trend) {
  std::vector<TrendRemark> notes = {{.kind = TrendRemark::Kind::kOrder}};
  TrendRemark dirty{.kind = TrendRemark::Kind::kUncommitted}, rebuilt{.kind = TrendRemark::Kind::kPrograms};
  for (const Revision& revision : trend.revisions) {
    dirty.count += revision.is_dirty ? 1 : 0;
    rebuilt.count += revision.programs > 1 ? 1 : 0;
  }
  for (const TrendRemark& remark : {dirty, rebuilt}) {
    if (remark.count > 0) notes.push_back(remark);
  }
  return notes;
}

std::string text_of(const TrendRemark& remark) {
  switch (remark.kind) {
    case TrendRemark::Kind::kNewestFailed:
      return remark.cell + ": " + std::to_string(remark.count) + " of " + std::to_string(remark.of) +
             " runs of its newest revision, " + remark.revision + ", failed (" + remark.failure + ").";
    case TrendRemark::Kind::kEarlierFailed:
      return counted(remark.count, "run of an earlier revision", "runs of earlier revisions") +
             " failed: no values, but counted in the column runs.";
    case TrendRemark::Kind::kDisturbed:
      return counted(remark.count, "run was", "runs were") +
             " disturbed by other work on the machine: losses count, times are doubtful.";
    case TrendRemark::Kind::kNewerLeftOut:
      return "Newer runs of " + remark.cell + " are left out (" + conditions_text(remark.others) +
             "): this report does not show them.";
    case TrendRemark::Kind::kOrder:
      return "Revisions appear in the order of their first runs, which may differ from the order of the history.";
    case TrendRemark::Kind::kUncommitted:
      return counted(remark.count, "revision has", "revisions have") +
             " uncommitted changes (+dirty). Each such program counts as a revision of its own, apart from the clean "
             "one.";
    case TrendRemark::Kind::kPrograms:
      return counted(remark.count, "revision was", "revisions were") +
             " measured with more than one program (another compiler or other options); its programs count as one.";
    case TrendRemark::Kind::kRowsLeftOut: break;
  }
  return counted(remark.count, "row") +
         " of steady series left out. --cell shows those of one cell; every other format shows all of them.";
}

std::string conditions_text(const std::vector<OtherCondition>& others) {
  std::vector<std::string> texts;
  for (const OtherCondition& other : others) texts.push_back(condition_text(other));
  return joined(texts);
}

}  // namespace nanobench::reports

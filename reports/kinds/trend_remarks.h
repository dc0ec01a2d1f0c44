/// What is said beside a trend, as values; text_of() makes the sentences. Private to reports/kinds. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/trend/trend.h"

namespace nanobench::reports {

struct TrendRemark {
  enum class Kind {
    // Warnings.
    kNewestFailed,   ///< of `cell`: `count` of `of` runs of its newest revision `revision`, the last one as `failure`
    kEarlierFailed,  ///< `count` runs of earlier revisions
    kDisturbed,      ///< `count` runs
    kNewerLeftOut,   ///< newer runs of `cell`, for `others`
    // Notes.
    kOrder,        ///< of the revisions
    kUncommitted,  ///< `count` revisions have changes that are not committed
    kPrograms,     ///< `count` revisions have several programs
    kRowsLeftOut,  ///< `count` rows of steady series
  };
  Kind kind = Kind::kOrder;
  std::string cell = {};
  std::string revision = {};  ///< label
  std::string failure = {};
  std::vector<OtherCondition> others = {};
  std::int64_t count = 0;
  std::int64_t of = 0;

  bool operator==(const TrendRemark&) const = default;
};

std::vector<TrendRemark> trend_warnings(const Trend& trend);
/// About the revisions.
std::vector<TrendRemark> trend_notes(const Trend& trend);

std::string text_of(const TrendRemark& remark);

/// "the host there, 2 threads"
std::string conditions_text(const std::vector<OtherCondition>& others);

}  // namespace nanobench::reports

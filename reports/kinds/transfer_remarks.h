/// What is said beside a transfer between scales, as values; text_of() makes the sentences. Private to reports/kinds.
/// Pure, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/transfer/transfer.h"

namespace nanobench::reports {

/// What a remark names. Members that do not belong to the remark's kind are empty.
struct TransferPlace {
  std::string change = {};
  std::string base = {};
  std::vector<std::string> scales = {};
  std::vector<std::string> data = {};
  std::int64_t count = 0;
  int group = 0;  ///< of kOtherBases: places of one change with the same values have one number

  bool operator==(const TransferPlace&) const = default;
};

struct TransferRemark {
  enum class Kind {
    kRowsLeftOut,       ///< `count` rows whose signs are not opposite
    kPublishedLeftOut,  ///< `count` changes whose published time does not count
    kOneScale,          ///< `names` were measured at one scale only
    kOtherBases,        ///< `places`: changes with their bases, side by side, which are not compared
    kEqualLosses,       ///< `count` changes of code alone
    kOtherData,         ///< `places`: scales with their data
    kOtherCode,         ///< `places`: changes at scales, whose times are left out
    kUnconverted,       ///< `places`: numbers of changes at scales, without a time at equal loss
  };
  Kind kind = Kind::kRowsLeftOut;
  std::vector<std::string> names = {};
  std::vector<TransferPlace> places = {};
  std::int64_t count = 0;

  bool operator==(const TransferRemark&) const = default;
};

/// What was not compared, and what differs besides the scale.
std::vector<TransferRemark> transfer_notes(const Transfer& transfer);

std::string text_of(const TransferRemark& remark);

}  // namespace nanobench::reports

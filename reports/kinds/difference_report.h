/// The page that compares two records or runs: features, settings that no feature explains, circumstances. Pure.
#pragma once

#include <string>
#include <vector>

#include "ablations/config_difference.h"
#include "reports/document/document.h"

namespace nanobench::reports {

/// Something that belongs to a run and not to its configuration: seed, data, threads.
struct Circumstance {
  std::string key;    ///< stable name in JSON
  std::string title;  ///< for people
  std::string a;
  std::string b;
};

/// The names stand over the columns. Circumstances that do not differ are left out; without any there is no table of
/// them.
Document difference_report(const ablations::Catalogue& catalogue, const std::string& a, const std::string& b,
                           const ablations::ConfigDifference& difference,
                           const std::vector<Circumstance>& circumstances);

}  // namespace nanobench::reports

/// The wording of what `bench` measured. Private to reports/kinds. Pure, thread-safe. Texts hold the names of commands.
#pragma once

#include <string>
#include <vector>

#include "reports/kinds/bench_data.h"

namespace nanobench::reports {

/// One unit for all times of a report.
struct TimeUnit {
  const char* name = "ms";
  double ms = 1.0;

  std::string text(double value_ms) const;
  /// With as many decimals as the mean of its row.
  std::string like(double value_ms, const Summary& mean) const;
};
TimeUnit unit_of(const std::vector<CellMeasures>& cells);

/// "./b is faster than ./a: it takes 0.74 times as long (0.72 to 0.76)."
std::string bench_headline(const BenchData& data);

/// "about 40 rounds, if there is no difference"; empty for kNone.
std::string text_of(const BenchRemedy& remedy);
std::string text_of(const BenchWarning& warning);

/// How to read the report.
std::vector<std::string> bench_reading(const BenchData& data);

/// "faster", "slower", "same", "open", "no result"
std::string bench_verdict(const MeasuredEffect& effect);
/// " (0.72 to 0.76)"; empty without an interval.
std::string ratio_interval_text(const MeasuredEffect& time);
/// "100 ms"
std::string turn_text(double turn_ms);

/// Commands that a sentence names; further ones are counted.
inline constexpr std::size_t kNamedCommands = 3;

}  // namespace nanobench::reports

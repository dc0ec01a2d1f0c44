#include "reports/watch/time_left.h"

#include <algorithm>

namespace nanobench::reports {

void TimeLeft::add_finished(const std::string& cell, double seconds) {
  for (Total* total : {&by_cell_[cell], &all_}) {
    total->seconds += seconds;
    ++total->runs;
  }
}

std::optional<double> TimeLeft::expected_s(const std::string& cell) const {
  if (all_.runs == 0) return std::nullopt;
  const auto known = by_cell_.find(cell);
  const Total& total = known == by_cell_.end() ? all_ : known->second;
  return total.seconds / static_cast<double>(total.runs);
}

std::optional<double> TimeLeft::rest_of(const CurrentRun& current) const {
  if (current.remaining_s) return current.remaining_s;
  const std::optional<double> expected = expected_s(current.cell);
  return expected ? std::optional(std::max(*expected - current.elapsed_s, 0.0)) : std::nullopt;
}

std::optional<double> TimeLeft::remaining_s(const std::map<std::string, std::size_t>& later,
                                            const std::optional<CurrentRun>& current) const {
  double sum = 0.0;
  std::optional<double> like_current;  // what a run takes before one has ended
  if (current) {
    const std::optional<double> rest = rest_of(*current);
    if (!rest) return std::nullopt;
    sum = *rest;
    like_current = current->elapsed_s + *rest;
  }
  for (const auto& [cell, runs] : later) {
    if (runs == 0) continue;
    std::optional<double> each = expected_s(cell);
    if (!each) each = like_current;
    if (!each) return std::nullopt;
    sum += *each * static_cast<double>(runs);
  }
  return sum;
}

std::optional<double> TimeLeft::remaining_at_once_s(const std::map<std::string, std::size_t>& later,
                                                    const std::vector<CurrentRun>& current) const {
  double sum = 0.0, longest = 0.0, whole = 0.0;
  for (const CurrentRun& run : current) {
    const std::optional<double> rest = rest_of(run);
    if (!rest) return std::nullopt;
    sum += *rest;
    longest = std::max(longest, *rest);
    whole += run.elapsed_s + *rest;
  }
  if (current.empty()) return std::nullopt;
  const auto count = static_cast<double>(current.size());
  for (const auto& [cell, runs] : later) sum += expected_s(cell).value_or(whole / count) * static_cast<double>(runs);
  return std::max(longest, sum / count);
}

}  // namespace nanobench::reports

/// How long the rest of a suite will take, from its runs that ended. Pure state, no clock of its own; seconds. Not
/// thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nanobench::reports {

/// A run on its way.
struct CurrentRun {
  std::string cell;
  double elapsed_s = 0.0;
  std::optional<double> remaining_s;  ///< from its own pace, where that is known
};

class TimeLeft {
 public:
  void add_finished(const std::string& cell, double seconds);

  /// Of one run of the cell: the mean of the cell's runs that ended, else of all; nullopt before one has ended.
  std::optional<double> expected_s(const std::string& cell) const;

  /// Until the end of the last run. `later` counts by cell the runs that have not begun. Before a run has ended, each
  /// is taken to last as long as the current one; nullopt when that is not known either.
  std::optional<double> remaining_s(const std::map<std::string, std::size_t>& later,
                                    const std::optional<CurrentRun>& current) const;

  /// The same where several run at once, and as many do from now on; not before the last of those that run has ended.
  /// nullopt while none runs: nobody knows how long a queue takes.
  std::optional<double> remaining_at_once_s(const std::map<std::string, std::size_t>& later,
                                            const std::vector<CurrentRun>& current) const;

 private:
  std::optional<double> rest_of(const CurrentRun& current) const;

  struct Total {
    double seconds = 0.0;
    std::size_t runs = 0;
  };
  std::map<std::string, Total> by_cell_;
  Total all_;
};

}  // namespace nanobench::reports

/// The progress of one run, from its events: pure state, no output, no clock of its own. Times are seconds of any
/// steady clock. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "core/config/train_config.h"
#include "core/protocol/run_event.h"
#include "core/protocol/run_spec.h"

namespace nanobench::tools {

class RunMeter {
 public:
  RunMeter(const core::TrainConfig& config, double now_s);
  /// The same for a run that may measure an operation instead of training.
  RunMeter(const core::RunSpec& spec, double now_s);

  void on_event(const core::RunEvent& event, double now_s);

  std::int64_t step() const { return step_; }  ///< completed steps
  std::int64_t total_steps() const { return total_steps_; }
  std::optional<double> loss() const { return loss_; }          ///< loss of the last step
  std::optional<double> val_loss() const { return val_loss_; }  ///< loss of the last validation
  std::optional<double> tokens_per_s() const;                   ///< over the last steps
  double elapsed_s(double now_s) const { return now_s - started_s_; }
  /// Seconds until the last step, from the pace since the first one; nullopt until two steps are done.
  std::optional<double> remaining_s(double now_s) const;

  /// "step 120/240  loss 3.4512  val 3.5120  12,345 tok/s"
  std::string text() const;

 private:
  bool is_operation_ = false;
  std::int64_t measured_ = 0;  ///< values that an operation has reported
  std::int64_t total_steps_;
  double tokens_per_step_;
  double started_s_;
  std::int64_t step_ = 0;
  std::optional<double> loss_;
  std::optional<double> val_loss_;
  std::deque<double> step_ms_;          ///< times of the last steps
  std::optional<double> first_step_s_;  ///< when the first step event arrived
  double last_step_s_ = 0.0;
  std::int64_t first_step_ = 0;
};

/// "LABEL [#######.....] REST": the bar is as long as fits into `width` columns, at most 20 places, or left out.
std::string with_bar(const std::string& label, double fraction, const std::string& rest, std::size_t width);

}  // namespace nanobench::tools

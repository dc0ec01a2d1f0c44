/// Turns the events of one run into samples in the store, in batches. Also keeps what the run's result needs. Not
/// thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/run_event.h"
#include "results/store.h"

namespace nanobench::suites {

class RunRecorder {
 public:
  /// Without times, steps keep their losses only.
  RunRecorder(results::Store& store, std::int64_t run_id, bool keeps_times = true);

  /// Throws Error{kDataLoss} if the event cannot follow the earlier ones (no hello, a repeated step, anything after the
  /// end). May write a batch.
  void add(const core::RunEvent& event);
  /// The next step is the first one of a turn: its caches are cold. `place` as in results::kTurn.
  void begin_turn(double place) { turn_ = place; }
  /// Writes the batch if it is old enough; otherwise writes an occasional heartbeat.
  void flush_if_due();
  void add_message(results::RunMessageKind kind, const std::string& text);
  void add_facts(const std::map<std::string, std::string>& facts);
  /// Writes the remaining samples and the result in one transaction.
  void finish(const results::RunResult& result);

  bool keeps_times() const { return keeps_times_; }
  bool has_hello() const { return has_hello_; }
  const std::optional<core::FinishedEvent>& finished() const { return finished_; }
  const std::optional<core::FailedEvent>& failed() const { return failed_; }
  /// "step 12: the training loss is not finite", once such a loss has occurred.
  const std::optional<std::string>& not_finite() const { return not_finite_; }
  std::optional<double> last_val_loss() const { return last_val_loss_; }
  std::optional<double> last_clock_ms() const { return last_clock_ms_; }
  std::int64_t steps() const { return steps_; }
  std::int64_t timed_steps() const { return timed_steps_; }
  std::int64_t peak_bytes() const { return peak_bytes_; }

 private:
  void on(const core::HelloEvent& event);
  void on(const core::StepEvent& event);
  void add_times(const core::StepEvent& event);
  void on(const core::EvalEvent& event);
  void on(const core::BucketsEvent& event);
  void on(const core::MemoryEvent& event);
  void on(const core::CounterEvent& event);
  void on(const core::SamplesEvent& event);
  void on(const core::WarningEvent& event);
  void on(const core::TurnEvent&) {}
  void on(const core::CheckpointEvent& event);
  void on(const core::ChoiceEvent& event);
  void on(const core::EvaluationEvent& event);
  void on(const core::FinishedEvent& event);
  void on(const core::FailedEvent& event);

  void add_gpu_fact(const core::CounterEvent& event);

  /// The batch's list of a metric. Its address is stable for the recorder's lifetime.
  using Track = std::vector<results::Sample>;
  Track& track(std::string_view metric);
  void sample(Track& values, std::int64_t step, double value);
  void check_order(const char* what, std::int64_t step, std::int64_t& last) const;
  void flush();

  using Clock = std::chrono::steady_clock;
  results::Store& store_;
  std::int64_t run_id_;
  bool keeps_times_;
  results::RunBatch batch_;
  std::size_t batch_size_ = 0;  ///< samples in it
  Track& loss_;
  Track& step_ms_;
  Track& clock_ms_;
  std::map<std::string, Track*> phases_;
  Clock::time_point last_write_ = Clock::now();
  bool has_hello_ = false;
  std::optional<core::FinishedEvent> finished_;
  std::optional<core::FailedEvent> failed_;
  std::optional<std::string> not_finite_;
  std::optional<double> last_val_loss_;
  std::optional<double> last_clock_ms_;
  std::int64_t steps_ = 0;
  std::int64_t timed_steps_ = 0;
  std::int64_t peak_bytes_ = 0;
  std::int64_t last_step_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t last_samples_ = 0;
  std::int64_t last_eval_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t last_memory_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t window_tokens_ = -1;
  double learning_rate_factor_ = std::numeric_limits<double>::quiet_NaN();
  std::map<std::string, std::int64_t> counters_;
  std::set<std::string> buckets_;  ///< metrics by bucket that were reported
  std::map<std::string, double> gpu_facts_;
  std::map<std::string, std::int64_t> last_items_;  ///< by evaluation
  std::int64_t messages_ = 0;
  std::optional<double> turn_;  ///< begun, and none of its steps has been reported
};

}  // namespace nanobench::suites

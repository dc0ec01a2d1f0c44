#include "engine/train/run_counters.h"

#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <string>

#include "core/base/error.h"

namespace nanobench::core {

void FdMetricSink::report(const RunEvent& event) {
  const std::string line = to_line(event) + "\n";
  const std::lock_guard lock(mutex_);
  if (has_ended_) return;
  has_ended_ = std::holds_alternative<FinishedEvent>(event) || std::holds_alternative<FailedEvent>(event);
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = write(fd_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw Error(ErrorCode::kIo, std::string("cannot report an event: ") + std::strerror(errno));
    written += static_cast<std::size_t>(count);
  }
}

namespace {

void add_difference(CollectiveCounts::Kind& total, const CollectiveCounts::Kind& before,
                    const CollectiveCounts::Kind& after) {
  total.calls += after.calls - before.calls;
  total.bytes += after.bytes - before.bytes;
}

MaskCounts sum_of_processes(const MaskCounts& counts, Communicator& communicator) {
  return {.visited_blocks = sum_over_processes(communicator, counts.visited_blocks),
          .full_blocks = sum_over_processes(communicator, counts.full_blocks),
          .visible_pairs = sum_over_processes(communicator, counts.visible_pairs)};
}

}  // namespace

at::Tensor CommunicationMeter::state() const {
  const CollectiveTimes times = times_.value_or(CollectiveTimes{});
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  return at::tensor(
      {number(steps_), number(total_.all_reduce.calls), number(total_.all_reduce.bytes),
       number(total_.all_gather.calls), number(total_.all_gather.bytes), number(total_.broadcast.calls),
       number(total_.broadcast.bytes), number(total_.reduce_scatter.calls), number(total_.reduce_scatter.bytes),
       times_ ? 1.0 : 0.0, times.all_reduce_ms, times.all_gather_ms, times.broadcast_ms, times.reduce_scatter_ms},
      at::kDouble);
}

void CommunicationMeter::restore(const at::Tensor& state) {
  const double* const values = state.const_data_ptr<double>();
  const auto count = [values](std::size_t i) { return static_cast<std::int64_t>(values[i]); };
  steps_ = count(0);
  total_ = {.all_reduce = {count(1), count(2)},
            .all_gather = {count(3), count(4)},
            .broadcast = {count(5), count(6)},
            .reduce_scatter = {count(7), count(8)}};
  times_.reset();
  if (values[9] != 0.0)
    times_ = {.all_reduce_ms = values[10],
              .all_gather_ms = values[11],
              .broadcast_ms = values[12],
              .reduce_scatter_ms = values[13]};
}

void CommunicationMeter::add_step(const CommunicationState& before, const CommunicationState& after) {
  add_difference(total_.all_reduce, before.counts.all_reduce, after.counts.all_reduce);
  add_difference(total_.all_gather, before.counts.all_gather, after.counts.all_gather);
  add_difference(total_.broadcast, before.counts.broadcast, after.counts.broadcast);
  add_difference(total_.reduce_scatter, before.counts.reduce_scatter, after.counts.reduce_scatter);
  if (before.times && after.times) {
    if (!times_) times_.emplace();
    times_->all_reduce_ms += after.times->all_reduce_ms - before.times->all_reduce_ms;
    times_->all_gather_ms += after.times->all_gather_ms - before.times->all_gather_ms;
    times_->broadcast_ms += after.times->broadcast_ms - before.times->broadcast_ms;
    times_->reduce_scatter_ms += after.times->reduce_scatter_ms - before.times->reduce_scatter_ms;
  }
  ++steps_;
}

void CommunicationMeter::report(MetricSink& sink) const {
  if (steps_ == 0) return;
  const auto report_mean = [&](const std::string& name, double sum) {
    sink.report(CounterEvent{"communication/" + name, sum / static_cast<double>(steps_)});
  };
  const auto report = [&](const std::string& name, std::int64_t count) {
    report_mean(name, static_cast<double>(count));
  };
  report("calls_per_step",
         total_.all_reduce.calls + total_.all_gather.calls + total_.broadcast.calls + total_.reduce_scatter.calls);
  report("bytes_per_step",
         total_.all_reduce.bytes + total_.all_gather.bytes + total_.broadcast.bytes + total_.reduce_scatter.bytes);
  report("calls_per_step/all_reduce", total_.all_reduce.calls);
  report("bytes_per_step/all_reduce", total_.all_reduce.bytes);
  report("calls_per_step/all_gather", total_.all_gather.calls);
  report("bytes_per_step/all_gather", total_.all_gather.bytes);
  if (times_) {
    report_mean("ms_per_step/all_reduce", times_->all_reduce_ms);
    report_mean("ms_per_step/all_gather", times_->all_gather_ms);
  }
  if (total_.reduce_scatter.calls == 0) return;
  report("calls_per_step/reduce_scatter", total_.reduce_scatter.calls);
  report("bytes_per_step/reduce_scatter", total_.reduce_scatter.bytes);
  if (times_) report_mean("ms_per_step/reduce_scatter", times_->reduce_scatter_ms);
}

MaskCounts CostMeter::count(const AttentionPlan& plan) const {
  return count_mask(plan.first_key(), config_.attention.block_size, config_.attention.window.granularity);
}

void CostMeter::add(const SequenceInput& input) {
  pending_.whole += count(*input.plan);
  if (input.half_plan) pending_.half += count(*input.half_plan);
}

void CostMeter::count_step() {
  counts_ += pending_;
  pending_ = {};
  ++steps_;
}

at::Tensor CostMeter::state() const {
  return at::tensor({steps_, counts_.whole.visited_blocks, counts_.whole.full_blocks, counts_.whole.visible_pairs,
                     counts_.half.visited_blocks, counts_.half.full_blocks, counts_.half.visible_pairs},
                    at::kLong);
}

void CostMeter::restore(const at::Tensor& state) {
  const std::int64_t* const n = state.const_data_ptr<std::int64_t>();
  steps_ = n[0];
  counts_ = {.whole = {n[1], n[2], n[3]}, .half = {n[4], n[5], n[6]}};
}

void CostMeter::report(MetricSink& sink, Communicator& communicator, std::int64_t number_bytes) const {
  if (steps_ == 0) return;
  const AttentionCounts counts{sum_of_processes(counts_.whole, communicator),
                               sum_of_processes(counts_.half, communicator)};
  const StepCost cost = training_cost(config_, counts, steps_, number_bytes);
  const auto steps = static_cast<double>(steps_);
  const auto say = [&](const std::string& name, double value) { sink.report(CounterEvent{"cost/" + name, value}); };
  const auto say_both = [&](const std::string& name, double value) {
    say(name, value);
    say(name + "_per_step", value / steps);
  };
  say_both("flops", cost.total().flops);
  say_both("bytes", cost.total().bytes);
  say_both("visited_blocks", static_cast<double>(cost.visited_blocks));
  say_both("visible_pairs", static_cast<double>(cost.visible_pairs));
  const auto say_part = [&](const std::string& part, const Cost& of_part) {
    say(std::string("flops_per_step/") + part, of_part.flops / steps);
    say(std::string("bytes_per_step/") + part, of_part.bytes / steps);
  };
  for (std::size_t i = 0; i < kOpFamilies; ++i)
    say_part(enum_name(static_cast<OpFamily>(i)), cost.of(static_cast<OpFamily>(i)));
  for (std::size_t i = 0; i < kCostPhases; ++i)
    say_part(enum_name(static_cast<CostPhase>(i)), cost.of(static_cast<CostPhase>(i)));
}

}  // namespace nanobench::core

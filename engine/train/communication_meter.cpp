#include "engine/train/communication_meter.h"

#include <string>

namespace nanobench::core {
namespace {

void add_difference(CollectiveCounts::Kind& total, const CollectiveCounts::Kind& before,
                    const CollectiveCounts::Kind& after) {
  total.calls += after.calls - before.calls;
  total.bytes += after.bytes - before.bytes;
}

}  // namespace

void CommunicationMeter::add_step(const CollectiveCounts& before, const CollectiveCounts& after) {
  add_difference(total_.all_reduce, before.all_reduce, after.all_reduce);
  add_difference(total_.all_gather, before.all_gather, after.all_gather);
  add_difference(total_.broadcast, before.broadcast, after.broadcast);
  ++steps_;
}

void CommunicationMeter::report(MetricSink& sink) const {
  if (steps_ == 0) return;
  const auto report = [&](const std::string& name, std::int64_t count) {
    sink.report(CounterEvent{"communication/" + name, static_cast<double>(count) / static_cast<double>(steps_)});
  };
  report("calls_per_step", total_.all_reduce.calls + total_.all_gather.calls + total_.broadcast.calls);
  report("bytes_per_step", total_.all_reduce.bytes + total_.all_gather.bytes + total_.broadcast.bytes);
  report("calls_per_step/all_reduce", total_.all_reduce.calls);
  report("bytes_per_step/all_reduce", total_.all_reduce.bytes);
  report("calls_per_step/all_gather", total_.all_gather.calls);
  report("bytes_per_step/all_gather", total_.all_gather.bytes);
}

}  // namespace nanobench::core

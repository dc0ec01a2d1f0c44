#include "reports/watch/machine_watch.h"

#include <unistd.h>

#include <cstdlib>

namespace nanobench::reports {
namespace {

using results::Facts;

constexpr std::size_t kReadings = 10;  // at a reading a second, shares over about ten seconds
constexpr const char* kStart = "start/";
constexpr const char* kEnd = "end/";

std::optional<double> number(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? std::nullopt : std::optional(std::strtod(found->second.c_str(), nullptr));
}

}  // namespace

WatchedMachine MachineWatch::read(const Facts& start) {
  const std::string end = kEnd;
  const Facts now = results::glance_facts(end);
  WatchedMachine machine;
  machine.processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  machine.load_1m = number(now, end + "load_1m");
  machine.total_bytes = number(now, end + "memory_total_bytes");
  machine.available_bytes = number(now, end + "memory_available_bytes");
  Facts both = readings_.empty() ? start : readings_.front();
  both.insert(now.begin(), now.end());
  machine.busy_share = results::busy_share(both);
  machine.steal_share = results::steal_share(both);
  Facts reading;
  for (const auto& [name, value] : now) reading[kStart + name.substr(end.size())] = value;
  readings_.push_back(std::move(reading));
  if (readings_.size() > kReadings) readings_.pop_front();
  return machine;
}

}  // namespace nanobench::reports

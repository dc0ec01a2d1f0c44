#include "engine/operations/operation_cost.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/process/command.h"

namespace nanobench::core {

namespace {

/// LibTorch's allocators report each allocation of a thread to its profiler.
class Reporter : public c10::MemoryReportingInfoBase {
 public:
  using c10::MemoryReportingInfoBase::reportMemoryUsage;
  void reportMemoryUsage(void* /*pointer*/, std::int64_t size, std::size_t /*allocated*/, std::size_t /*reserved*/,
                         c10::Device /*device*/) override {
    held_ += size;  // negative when memory is given back
    peak_ = std::max(peak_, held_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t peak() const { return peak_; }
  std::int64_t held() const { return held_; }

 private:
  std::int64_t held_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace

struct AllocationMeter::State {
  std::shared_ptr<Reporter> reporter = std::make_shared<Reporter>();
  c10::DebugInfoGuard guard{c10::DebugInfoKind::PROFILER_STATE, reporter};
};

AllocationMeter::AllocationMeter() : state_(std::make_unique<State>()) {}
AllocationMeter::~AllocationMeter() = default;

std::int64_t AllocationMeter::peak_bytes() const {
  return state_->reporter->peak();
}

std::int64_t AllocationMeter::held_bytes() const {
  return state_->reporter->held();
}

namespace {

namespace fs = std::filesystem;

constexpr double kNoLimit = 1e8;  ///< seconds: the runner has one
// One simulated cache on all machines, so that counts are comparable: first level 32 KiB, last level 8 MiB.
constexpr const char* kFirstInstructions = "--I1=32768,8,64";
constexpr const char* kFirstData = "--D1=32768,8,64";
constexpr const char* kLastLevel = "--LL=8388608,16,64";

std::string text_of(const fs::path& file) {
  return read_beginning(file).value_or("");
}

/// Function whose calls are counted, including everything they call.
std::string counted_function(const std::string& metric) {
  return metric == "mask_instructions" ? "*mask_scores*" : "*make_counted_call*";
}

std::vector<std::string> counting_command(const std::string& metric, const fs::path& folder) {
  std::vector<std::string> options = {"--tool=callgrind", "--callgrind-out-file=/dev/null",
                                      "--log-file=" + (folder / "log").string(),
                                      "--toggle-collect=" + counted_function(metric)};
  if (metric == "cache_misses" || metric == "cache_miss_share") {
    for (const char* option : {"--cache-sim=yes", kFirstInstructions, kFirstData, kLastLevel})
      options.emplace_back(option);
  }
  const fs::path program = fs::read_symlink("/proc/self/exe");
  return valgrind_command(options, {program.string(), "--spec", (folder / "spec.json").string(), "--events-fd", "1"});
}

double total_of(const std::string& metric, const std::map<std::string, double>& totals) {
  const auto at = [&](const char* event) {
    const auto found = totals.find(event);
    if (found == totals.end()) throw Error(ErrorCode::kUnavailable, std::string("valgrind counted no ") + event);
    return found->second;
  };
  if (metric == "cache_misses") return at("D1mr") + at("D1mw");
  if (metric == "cache_miss_share") return (at("D1mr") + at("D1mw")) / (at("Dr") + at("Dw"));
  return at("Ir");
}

}  // namespace

bool is_counted_by_valgrind(const std::string& metric) {
  return metric == "instructions" || metric == "mask_instructions" || metric == "cache_misses" ||
         metric == "cache_miss_share";
}

[[gnu::noinline]] void make_counted_call(const std::function<std::vector<at::Tensor>()>& call) {
  call();
}

std::map<std::string, double> callgrind_totals(const std::string& log) {
  std::vector<std::string> events;
  std::map<std::string, double> totals;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string process, what, colon;
    if (!(words >> process >> what >> colon) || colon != ":") continue;
    if (what == "Events") events.assign(std::istream_iterator<std::string>(words), {});
    if (what != "Collected") continue;
    totals.clear();
    double number = 0;
    for (std::size_t i = 0; i < events.size() && words >> number; ++i) totals[events[i]] = number;
  }
  return totals;
}

double count_by_valgrind(const RunSpec& spec) {
  const TemporaryFolder folder("count");
  RunSpec one = spec;
  one.threads = 1;
  const std::string metric = std::exchange(one.operation->metric, "call");
  std::ofstream(folder.path() / "spec.json") << to_json(one);
  const CommandResult result =
      run_command(counting_command(metric, folder.path()), {.seconds = kNoLimit, .group = ChildGroup::kOurs});
  std::fputs(result.err.c_str(), stderr);
  if (result.start_error != 0)
    throw Error(ErrorCode::kUnavailable, "valgrind is not installed, and it counts " + metric);
  if (!result.is_success())
    throw Error(ErrorCode::kUnavailable, "the operation under valgrind ended with " + result.exit.text());
  const double total = total_of(metric, callgrind_totals(text_of(folder.path() / "log")));
  if (total == 0) throw Error(ErrorCode::kUnavailable, "valgrind saw no call: the program has no symbols");
  return total;
}

}  // namespace nanobench::core

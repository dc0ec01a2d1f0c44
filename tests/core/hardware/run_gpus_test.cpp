#include "core/hardware/run_gpus.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/core/hardware/fake_driver.h"

namespace nanobench::core {
namespace {

using namespace std::chrono_literals;

/// A run of so many processes with a GPU each: 0 to N - 1 of one host, whose processes are 1000, 1001, ...
class RunGpus : public testing::Test {
 protected:
  void set(int gpu, const std::string& key, const std::string& value) {
    driver_.set("gpu." + std::to_string(gpu) + "." + key, value);
  }

  /// A quiet GPU on which its process computes.
  void begin(int count) {
    driver_.set("gpus", std::to_string(count));
    for (int i = 0; i < count; ++i) {
      set(i, "power_mw", "300000");
      set(i, "sm_clock", "1755");
      set(i, "temperature", std::to_string(50 + i));
      set(i, "memory", "85520809984 1000");
      set(i, "utilization", "97 41");
      set(i, "pcie_sent", "12500");
      set(i, "throttle", "0x4");
      set(i, "processes", processes_on(i));
    }
    count_ = count;
  }

  /// This process asks for all; 1000 + gpu is foreign to it until it is known to be of the run.
  static std::string processes_on(int gpu) {
    return std::to_string(getpid()) + ":1 " + std::to_string(1000 + gpu) + ":1000";
  }

  /// What process 0 has of all of them in the end: each GPU was asked twice.
  std::vector<ProcessGpu> all() const {
    std::vector<ProcessGpu> gpus;
    for (int i = 0; i < count_; ++i) {
      ProcessGpu gpu{.process = i, .pid = 1000 + i, .host = 7, .gpu = i, .summary = {}};
      const GpuLookup found = find_gpu(std::to_string(i));
      if (found.device) gpu.summary = GpuMonitor(*found.device, {.interval = 1h}).stop();
      gpus.push_back(unpacked(packed(gpu)));
    }
    exclude_own_processes(gpus);
    return gpus;
  }

  static double at(const std::map<std::string, double>& counters, const std::string& name) {
    const auto found = counters.find(name);
    return found == counters.end() ? -1 : found->second;
  }

  FakeDriver driver_;
  int count_ = 0;
};

ProcessGpu seen(int process, GpuSummary summary) {
  return {.process = process, .pid = 1000 + process, .host = 7, .gpu = process, .summary = std::move(summary)};
}

TEST(RunGpusPacked, ComesBackAsItWas) {
  const ProcessGpu gpu{
      .process = 7,
      .pid = 4194303,
      .host = host_number(),
      .gpu = 3,
      .summary = GpuSummary{.samples = 9,
                            .power_w = GpuRange{100, 350, 699.5},
                            .temperature_c = GpuRange{40, 60, 84},
                            .pcie_received_mb_per_s = GpuRange{1, 2, 3},
                            .most_used_bytes = 85520809984,
                            .throttle_reasons = std::set<std::string>{"power_cap", "hw_power_brake", "other"},
                            .other_processes = std::vector<std::int64_t>{12, 4194302}}};
  const std::vector<double> values = packed(gpu);
  ASSERT_EQ(values.size(), static_cast<std::size_t>(kPackedGpu));
  const ProcessGpu read = unpacked(values);
  EXPECT_EQ(read.process, 7);
  EXPECT_EQ(read.pid, 4194303);
  EXPECT_EQ(read.host, host_number());
  EXPECT_EQ(read.gpu, 3);
  ASSERT_TRUE(read.summary && read.summary->power_w && read.summary->temperature_c);
  EXPECT_EQ(read.summary->samples, 9);
  EXPECT_EQ(read.summary->power_w->median, 350);
  EXPECT_EQ(read.summary->temperature_c->max, 84);
  EXPECT_EQ(read.summary->pcie_received_mb_per_s.value_or(GpuRange()).max, 3);
  EXPECT_FALSE(read.summary->pcie_sent_mb_per_s || read.summary->sm_clock_mhz || read.summary->memory_clock_mhz);
  EXPECT_EQ(read.summary->most_used_bytes, 85520809984);
  EXPECT_EQ(read.summary->throttle_reasons, gpu.summary->throttle_reasons);
  EXPECT_EQ(read.summary->other_processes, gpu.summary->other_processes);
}

TEST(RunGpusPacked, WhatIsNotKnownStaysSo) {
  EXPECT_FALSE(unpacked(packed({.process = 1, .pid = 2, .host = 3, .gpu = 4, .summary = {}})).summary);
  const ProcessGpu silent = unpacked(packed(seen(1, {.samples = 2})));
  ASSERT_TRUE(silent.summary);
  EXPECT_FALSE(silent.summary->throttle_reasons || silent.summary->other_processes || silent.summary->most_used_bytes);
  std::vector<std::int64_t> many(100);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::int64_t>(i) + 1;
  EXPECT_EQ(unpacked(packed(seen(1, {.other_processes = many}))).summary->other_processes->size(),
            static_cast<std::size_t>(kMaxPackedProcesses));
  EXPECT_TRUE(unpacked(packed(seen(1, {.other_processes = std::vector<std::int64_t>()}))).summary->other_processes)
      << "nobody was there, which is known";
}

TEST_F(RunGpus, TwoQuietOnesAreNotDisturbed) {
  begin(2);
  const std::map<std::string, double> counters = run_gpu_counters(all());
  EXPECT_EQ(at(counters, "gpu/watched"), 2);
  EXPECT_EQ(at(counters, "gpu/power_w/median"), 600);
  EXPECT_EQ(at(counters, "gpu/temperature_c/max"), 51);
  EXPECT_EQ(at(counters, "gpu/samples"), 2);
  EXPECT_EQ(at(counters, "gpu/process_0/temperature_c/max"), 50);
  EXPECT_EQ(at(counters, "gpu/process_1/power_w/max"), 300);
  EXPECT_FALSE(run_gpu_warning(all()));
}

TEST_F(RunGpus, OfEightTheHotOneAndTheSharedOneAreNamed) {
  begin(8);
  set(3, "temperature", "91");
  set(3, "sm_clock", "1200");
  set(6, "utilization", "55 20");
  set(3, "throttle", "0x44");
  set(5, "memory", "85520809984 9000");
  set(5, "processes", processes_on(5) + " 1002:1 4000000:5");  // 1002 reads its peer's memory
  const std::vector<ProcessGpu> gpus = all();
  const std::map<std::string, double> counters = run_gpu_counters(gpus);
  EXPECT_EQ(at(counters, "gpu/watched"), 8);
  EXPECT_EQ(at(counters, "gpu/power_w/max"), 2400);
  EXPECT_EQ(at(counters, "gpu/sm_clock_mhz/min"), 1200);
  EXPECT_EQ(at(counters, "gpu/temperature_c/max"), 91);
  EXPECT_EQ(at(counters, "gpu/utilization_percent/min"), 55) << "of the GPU that idles most";
  EXPECT_EQ(at(counters, "gpu/pcie_sent_mb_per_s/max"), 8 * 12.5) << "of all GPUs";
  EXPECT_EQ(at(counters, "gpu/used_bytes/max"), 9000);
  EXPECT_EQ(at(counters, "gpu/throttle/hw_thermal_slowdown"), 1);
  EXPECT_EQ(at(counters, "gpu/process_3/throttle/hw_thermal_slowdown"), 1);
  EXPECT_EQ(at(counters, "gpu/process_4/throttle/hw_thermal_slowdown"), -1);
  EXPECT_EQ(at(counters, "gpu/other_processes"), 1);
  EXPECT_EQ(at(counters, "gpu/process_5/other_processes"), 1);
  EXPECT_EQ(at(counters, "gpu/process_4/other_processes"), 0);
  EXPECT_EQ(
      run_gpu_warning(gpus),
      "GPU 3 slowed down (hw_thermal_slowdown), another process was on GPU 5 (4000000): the times of this run are "
      "doubtful");
}

TEST_F(RunGpus, OneThatFailsToAnswerIsSaid) {
  begin(2);
  for (const char* key : kSampledAnswers) set(1, std::string(key) + ".error", "15");
  const std::map<std::string, double> counters = run_gpu_counters(all());
  EXPECT_EQ(at(counters, "gpu/watched"), 1);
  EXPECT_EQ(at(counters, "gpu/power_w/median"), 300);
  EXPECT_EQ(at(counters, "gpu/process_1/power_w/median"), -1);
  EXPECT_EQ(run_gpu_warning(all()), "GPU 1 could not be watched: whether something disturbed it is not known");
  set(0, "throttle", "0x80");
  EXPECT_EQ(
      run_gpu_warning(all()),
      "GPU 0 slowed down (hw_power_brake): the times of this run are doubtful; GPU 1 could not be watched: whether "
      "something disturbed it is not known");
}

TEST(RunGpusOthers, TheRunsOwnProcessesAreNone) {
  using Pids = std::vector<std::int64_t>;
  std::vector<ProcessGpu> gpus = {seen(0, {.other_processes = Pids{1001}}), seen(1, {.other_processes = Pids{1000, 5}}),
                                  seen(2, {.other_processes = Pids{5, 1000}})};
  gpus.push_back(seen(3, {.other_processes = Pids{1000}}));
  gpus.back().host = 8;  // there, this number is somebody else
  exclude_own_processes(gpus);
  EXPECT_EQ(gpus[0].summary->other_processes, Pids());
  EXPECT_EQ(gpus[1].summary->other_processes, Pids{5});
  EXPECT_EQ(gpus[3].summary->other_processes, Pids{1000});
  EXPECT_EQ(run_gpu_counters(gpus).at("gpu/other_processes"), 2) << "one that is on two GPUs is one";
  EXPECT_EQ(run_gpu_warning(gpus),
            "another process was on GPU 1 of process 1 (5), another process was on GPU 2 of process 2 (5), another "
            "process was on GPU 3 of process 3 (1000): the times of this run are doubtful");
}

TEST(RunGpusOthers, WithoutADriversLibraryNothingIsSaid) {
  const std::vector<ProcessGpu> gpus = {{.process = 0, .pid = 1, .gpu = 0, .summary = {}},
                                        {.process = 1, .pid = 2, .gpu = 1, .summary = {}}};
  EXPECT_TRUE(run_gpu_counters(gpus).empty());
  EXPECT_FALSE(run_gpu_warning(gpus));
}

}  // namespace
}  // namespace nanobench::core

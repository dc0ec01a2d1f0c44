#include "core/hardware/gpu_monitor.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "core/hardware/gpu_report.h"
#include "tests/core/hardware/fake_driver.h"

namespace nanobench::core {
namespace {

using namespace std::chrono_literals;

/// A child of this process, which waits to be ended.
class Sleeper {
 public:
  Sleeper() : pid_(fork()) {
    if (pid_ == 0) {
      while (true) pause();
    }
  }
  ~Sleeper() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  std::int64_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

std::string list_of(const std::vector<std::int64_t>& pids) {
  std::string text;
  for (const std::int64_t pid : pids) text += std::to_string(pid) + ":1000 ";
  return text;
}

/// Until the monitor has asked so many more times.
void wait_for(const GpuMonitor& monitor, int more) {
  const int wanted = monitor.summary().samples + more;
  while (monitor.summary().samples < wanted) std::this_thread::sleep_for(1ms);
}

TEST(GpuMonitor, SumsUpWhatItSaw) {
  FakeDriver driver;
  GpuMonitor monitor(list_gpus().devices.at(0), {.interval = 1ms});
  driver.set("gpu.0.power_mw", "650000");
  driver.set("gpu.0.sm_clock", "1200");
  driver.set("gpu.0.temperature", "83");
  driver.set("gpu.0.utilization", "12 3");
  driver.set("gpu.0.pcie_received", "64000");
  driver.set("gpu.0.memory", "85520809984 7000000");
  driver.set("gpu.0.throttle", "0x4");
  wait_for(monitor, 3);
  driver.set("gpu.0.power_mw", "400000");
  driver.set("gpu.0.throttle", "0x20");
  driver.set("gpu.0.memory", "85520809984 1000");
  wait_for(monitor, 3);
  const GpuSummary summary = monitor.stop();
  EXPECT_GE(summary.samples, 7);
  ASSERT_TRUE(summary.power_w && summary.sm_clock_mhz && summary.memory_clock_mhz && summary.temperature_c);
  EXPECT_EQ(summary.power_w->min, 312.5);
  EXPECT_EQ(summary.power_w->max, 650.0);
  EXPECT_GE(summary.power_w->median, 400.0);
  EXPECT_EQ(summary.sm_clock_mhz->min, 1200.0);
  EXPECT_EQ(summary.sm_clock_mhz->max, 1755.0);
  EXPECT_EQ(summary.memory_clock_mhz->median, 2619.0);
  EXPECT_EQ(summary.temperature_c->max, 83.0);
  ASSERT_TRUE(summary.utilization_percent && summary.memory_utilization_percent && summary.pcie_received_mb_per_s);
  EXPECT_EQ(summary.utilization_percent->min, 12.0);
  EXPECT_EQ(summary.memory_utilization_percent->max, 41.0);
  EXPECT_EQ(summary.pcie_received_mb_per_s->max, 64.0);
  EXPECT_EQ(summary.most_used_bytes, 7000000);
  EXPECT_EQ(summary.throttle_reasons, (std::set<std::string>{"power_cap", "sw_thermal_slowdown"}));
  EXPECT_EQ(monitor.stop().samples, summary.samples) << "it has ended";
}

TEST(GpuMonitor, ShortRunsAreAskedAtBothEnds) {
  FakeDriver driver;
  GpuMonitor monitor(list_gpus().devices.at(0), {.interval = 1h});
  driver.set("gpu.0.power_mw", "100000");
  const GpuSummary summary = monitor.stop();
  EXPECT_EQ(summary.samples, 2);
  EXPECT_EQ(summary.power_w->min, 100.0);
  EXPECT_EQ(summary.power_w->median, 100.0);
  EXPECT_EQ(summary.power_w->max, 312.5);
}

TEST(GpuMonitor, OwnProcessesAndTheirChildrenAreNoOthers) {
  FakeDriver driver;
  const Sleeper child;
  driver.set("gpu.0.processes", list_of({getpid(), child.pid()}));
  GpuMonitor monitor(list_gpus().devices.at(0), {.interval = 1ms});
  wait_for(monitor, 1);
  EXPECT_EQ(monitor.summary().other_processes, std::vector<std::int64_t>());
  driver.set("gpu.0.processes", list_of({getpid(), child.pid(), getppid()}));
  wait_for(monitor, 2);
  driver.set("gpu.0.processes", list_of({getpid()}));
  wait_for(monitor, 2);
  EXPECT_EQ(monitor.stop().other_processes, std::vector<std::int64_t>{getppid()}) << "also one that went away";
}

TEST(GpuMonitor, AnotherRootHasOtherDescendants) {
  FakeDriver driver;
  const Sleeper measured;
  driver.set("gpu.0.processes", list_of({getpid(), measured.pid()}));
  GpuMonitor monitor(list_gpus().devices.at(0), {.interval = 1h, .root = measured.pid()});
  EXPECT_EQ(monitor.stop().other_processes, std::vector<std::int64_t>{getpid()});
}

TEST(GpuMonitor, ADriverThatTellsNothingLeavesNothing) {
  FakeDriver driver;
  for (const char* key : kSampledAnswers) driver.set(std::string("gpu.0.") + key + ".error", "15");
  GpuMonitor monitor(list_gpus().devices.at(0));
  const GpuSummary summary = monitor.stop();
  EXPECT_FALSE(summary.power_w || summary.sm_clock_mhz || summary.memory_clock_mhz || summary.temperature_c);
  EXPECT_FALSE(summary.throttle_reasons || summary.other_processes || summary.most_used_bytes);
  EXPECT_EQ(gpu_counters(summary), (std::map<std::string, double>{{"gpu/samples", 2}}));
  EXPECT_FALSE(gpu_warning(summary));
}

TEST(GpuMonitor, ManyMayAskAndStopAtOnce) {
  FakeDriver driver;
  GpuMonitor monitor(list_gpus().devices.at(0), {.interval = 1ms});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) EXPECT_GE(monitor.summary().samples, 1);
      monitor.stop();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const int samples = monitor.summary().samples;
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(monitor.summary().samples, samples);
}

TEST(GpuProcessWatch, SaysNothingWhereNumbersMayMeanOtherProcesses) {
  GpuProcessWatch contained(getpid(), /*counts_as_driver=*/false);
  EXPECT_FALSE(contained.others());
  contained.see({999999999});
  EXPECT_FALSE(contained.others()) << "that may be this process under another number";
  contained.see({getpid(), 999999999});
  EXPECT_EQ(contained.others(), std::vector<std::int64_t>{999999999}) << "the numbers are ours";
  GpuProcessWatch sure(getpid(), /*counts_as_driver=*/true);
  EXPECT_FALSE(sure.others()) << "nobody was asked";
  sure.see({});
  EXPECT_EQ(sure.others(), std::vector<std::int64_t>());
  sure.see({getppid()});
  EXPECT_EQ(sure.others(), std::vector<std::int64_t>{getppid()});
}

TEST(GpuProcessWatch, OneOfOursThatEndedIsStillOurs) {
  GpuProcessWatch watch(getpid(), true);
  std::int64_t pid = 0;
  {
    const Sleeper child;
    pid = child.pid();
    watch.see({pid});
  }
  EXPECT_FALSE(is_of_family(pid, getpid()));
  watch.see({pid});
  EXPECT_EQ(watch.others(), std::vector<std::int64_t>());
}

TEST(GpuReport, CountersAndWarningSayWhatWasSeen) {
  const GpuSummary summary{.samples = 9,
                           .power_w = GpuRange{100, 350, 699.5},
                           .temperature_c = GpuRange{40, 60, 84},
                           .throttle_reasons = std::set<std::string>{"power_cap", "hw_thermal_slowdown"},
                           .other_processes = std::vector<std::int64_t>{12, 34}};
  EXPECT_EQ(gpu_counters(summary), (std::map<std::string, double>{{"gpu/power_w/min", 100},
                                                                  {"gpu/power_w/median", 350},
                                                                  {"gpu/power_w/max", 699.5},
                                                                  {"gpu/temperature_c/min", 40},
                                                                  {"gpu/temperature_c/median", 60},
                                                                  {"gpu/temperature_c/max", 84},
                                                                  {"gpu/throttle/power_cap", 1},
                                                                  {"gpu/throttle/hw_thermal_slowdown", 1},
                                                                  {"gpu/other_processes", 2},
                                                                  {"gpu/samples", 9}}));
  EXPECT_EQ(gpu_warning(summary),
            "other processes were on the GPU (12, 34), and it slowed down (hw_thermal_slowdown): the times of this run "
            "are doubtful");
  EXPECT_EQ(gpu_warning({.other_processes = std::vector<std::int64_t>{5}}),
            "another process was on the GPU (5): the times of this run are doubtful");
  EXPECT_FALSE(gpu_warning({.throttle_reasons = std::set<std::string>{"idle", "power_cap"},
                            .other_processes = std::vector<std::int64_t>()}));
}

}  // namespace
}  // namespace nanobench::core

#include "core/hardware/nvml.h"

#include <gtest/gtest.h>

#include "core/hardware/gpu_report.h"
#include "tests/core/hardware/fake_driver.h"

namespace nanobench::core {
namespace {

TEST(Nvml, TellsWhatTheDriverTells) {
  const FakeDriver driver;
  const GpuList list = list_gpus();
  EXPECT_EQ(list.trouble, GpuTrouble::kNone) << list.problem;
  EXPECT_EQ(list.problem, "");
  ASSERT_EQ(list.devices.size(), 2U);
  const GpuFacts facts = list.devices[1].facts();
  EXPECT_EQ(facts.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(facts.uuid, "GPU-00000000-0000-0000-0000-000000000001");
  EXPECT_EQ(facts.driver, "570.86.15");
  EXPECT_EQ(facts.cuda_driver, "12.8");
  EXPECT_EQ(facts.memory_bytes, 85520809984);
  EXPECT_EQ(facts.power_limit_w, 700.0);
  EXPECT_EQ(facts.max_sm_clock_mhz, 1980.0);
  EXPECT_EQ(facts.max_memory_clock_mhz, 2619.0);
  EXPECT_EQ(facts.has_ecc, true);
  EXPECT_EQ(facts.is_persistent, true);
  EXPECT_EQ(facts.has_mig, false);
  const GpuState state = list.devices[0].state();
  EXPECT_EQ(state.used_bytes, 1048576);
  EXPECT_EQ(state.power_w, 312.5);
  EXPECT_EQ(state.sm_clock_mhz, 1755.0);
  EXPECT_EQ(state.memory_clock_mhz, 2619.0);
  EXPECT_EQ(state.temperature_c, 54.0);
  EXPECT_EQ(state.utilization_percent, 97.0);
  EXPECT_EQ(state.memory_utilization_percent, 41.0);
  EXPECT_EQ(state.pcie_sent_mb_per_s, 12.5);
  EXPECT_EQ(state.pcie_received_mb_per_s, 30.5);
  ASSERT_TRUE(state.throttle_reasons);
  EXPECT_TRUE(state.throttle_reasons->empty());
  ASSERT_TRUE(state.processes);
  EXPECT_TRUE(state.processes->empty());
}

TEST(Nvml, NamesTheReasonsForLowerClocks) {
  FakeDriver driver;
  driver.set("gpu.0.throttle", "0x44");
  EXPECT_EQ(list_gpus().devices.at(0).state().throttle_reasons,
            (std::vector<std::string>{"power_cap", "hw_thermal_slowdown"}));
  driver.set("gpu.0.throttle", "0x10001");
  EXPECT_EQ(list_gpus().devices.at(0).state().throttle_reasons, (std::vector<std::string>{"idle", "other"}));
}

TEST(Nvml, ReadsProcessesHoweverMany) {
  FakeDriver driver;
  std::string many;
  for (int pid = 100; pid < 140; ++pid) many += std::to_string(pid) + ":" + std::to_string(1000 * pid) + " ";
  driver.set("gpu.0.processes", many + "7:?");
  const auto processes = list_gpus().devices.at(0).state().processes;
  ASSERT_TRUE(processes);
  ASSERT_EQ(processes->size(), 41U);
  EXPECT_EQ(processes->at(3).pid, 103);
  EXPECT_EQ(processes->at(3).used_bytes, 103000);
  EXPECT_EQ(processes->back().pid, 7);
  EXPECT_FALSE(processes->back().used_bytes);
}

TEST(Nvml, OfAnOldDriverIsReadAsFarAsItGoes) {
  FakeDriver driver("fake_old_nvml");
  driver.set("gpu.0.processes", "11:500 12:?");
  driver.set("gpu.0.throttle", "0x20");
  const GpuList list = list_gpus();
  ASSERT_EQ(list.devices.size(), 2U) << list.problem;
  const GpuFacts facts = list.devices[0].facts();
  EXPECT_EQ(facts.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(facts.cuda_driver, "");
  EXPECT_EQ(facts.power_limit_w, 700.0);
  EXPECT_FALSE(facts.has_mig);
  const GpuState state = list.devices[0].state();
  EXPECT_EQ(state.throttle_reasons, (std::vector<std::string>{"sw_thermal_slowdown"}));
  ASSERT_TRUE(state.processes);
  ASSERT_EQ(state.processes->size(), 2U);
  EXPECT_EQ(state.processes->at(1).pid, 12) << "its list has another layout";
  EXPECT_EQ(state.processes->at(0).used_bytes, 500);
  const GpuLookup lookup = find_gpu("GPU-00000000-0000-0000-0000-000000000001");
  EXPECT_FALSE(lookup.device);
  EXPECT_EQ(lookup.trouble, GpuTrouble::kNoSuchName) << lookup.problem;
  EXPECT_NE(lookup.problem.find("GPU-00000000"), std::string::npos) << lookup.problem;
}

TEST(Nvml, WhatADriverRefusesIsAbsent) {
  FakeDriver driver;
  for (const char* key : kSampledAnswers) driver.set(std::string("gpu.0.") + key + ".error", "15");
  const GpuState state = list_gpus().devices.at(0).state();
  EXPECT_FALSE(state.power_w || state.sm_clock_mhz || state.memory_clock_mhz || state.temperature_c);
  EXPECT_FALSE(state.utilization_percent || state.pcie_sent_mb_per_s || state.pcie_received_mb_per_s);
  EXPECT_FALSE(state.throttle_reasons || state.processes || state.used_bytes);
  for (const char* key : {"name", "uuid", "power_limit_mw", "ecc", "persistence", "mig", "max_sm_clock"})
    driver.set(std::string("gpu.0.") + key + ".error", "3");
  const GpuFacts facts = list_gpus().devices.at(0).facts();
  EXPECT_EQ(facts.name, "NVIDIA GPU");
  EXPECT_EQ(facts.uuid, "");
  EXPECT_FALSE(facts.power_limit_w || facts.has_ecc || facts.is_persistent || facts.has_mig || facts.max_sm_clock_mhz);
}

TEST(Nvml, GpusAreFoundByEveryName) {
  const FakeDriver driver;
  for (const char* id : {"1", "GPU-00000000-0000-0000-0000-000000000001", "00000000:01:00.0"}) {
    const GpuLookup lookup = find_gpu(id);
    ASSERT_TRUE(lookup.device) << id << ": " << lookup.problem;
    EXPECT_EQ(lookup.device->facts().uuid, "GPU-00000000-0000-0000-0000-000000000001");
  }
  EXPECT_FALSE(find_gpu("2").device);
  const GpuLookup lookup = find_gpu("GPU-x");
  EXPECT_FALSE(lookup.device);
  EXPECT_EQ(lookup.trouble, GpuTrouble::kNotFound) << lookup.problem;
  EXPECT_TRUE(lookup.problem.ends_with("GPU-x: Not Found")) << "the driver's words: " << lookup.problem;
}

TEST(Nvml, WithoutItThereIsAReason) {
  {
    FakeDriver driver;
    setenv("NANOBENCH_NVML", "/no/such/library.so", 1);
    EXPECT_TRUE(list_gpus().devices.empty());
    EXPECT_EQ(list_gpus().trouble, GpuTrouble::kNoLibrary);
    EXPECT_EQ(find_gpu("0").trouble, GpuTrouble::kNoLibrary);
    EXPECT_NE(list_gpus().problem.find("/no/such/library.so"), std::string::npos) << list_gpus().problem;
    EXPECT_NE(find_gpu("0").problem.find("/no/such/library.so"), std::string::npos);
    setenv("NANOBENCH_NVML", "libm.so.6", 1);
    EXPECT_EQ(list_gpus().trouble, GpuTrouble::kNoFunctions);
    EXPECT_NE(list_gpus().problem.find("libm.so.6"), std::string::npos) << list_gpus().problem;
  }
  FakeDriver driver;
  driver.set("init", "9");
  EXPECT_EQ(list_gpus().trouble, GpuTrouble::kNotStarted);
  EXPECT_TRUE(list_gpus().problem.ends_with(": Driver Not Loaded")) << "the driver's words: " << list_gpus().problem;
  driver.set("init", "0");
  driver.set("gpus", "0");
  EXPECT_EQ(list_gpus().trouble, GpuTrouble::kNoGpu) << list_gpus().problem;
  driver.set("gpus", "2");
  driver.set("gpu.0.handle.error", "15");
  const GpuList list = list_gpus();
  EXPECT_EQ(list.devices.size(), 1U) << "the other one works";
  EXPECT_EQ(list.trouble, GpuTrouble::kNoAnswer);
  EXPECT_TRUE(list.problem.find("GPU 0 ") == 0 && list.problem.ends_with(": GPU is lost")) << list.problem;
}

TEST(GpuReport, EnvironmentHasWhatIsKnown) {
  FakeDriver driver;
  const std::map<std::string, std::string> all = gpu_environment(list_gpus().devices.at(0).facts());
  EXPECT_EQ(all, (std::map<std::string, std::string>{{"gpu", "NVIDIA H100 80GB HBM3"},
                                                     {"gpu_uuid", "GPU-00000000-0000-0000-0000-000000000000"},
                                                     {"driver", "570.86.15"},
                                                     {"cuda_driver", "12.8"},
                                                     {"gpu_memory_bytes", "85520809984"},
                                                     {"gpu_power_limit_w", "700"},
                                                     {"gpu_max_sm_clock_mhz", "1980"},
                                                     {"gpu_max_memory_clock_mhz", "2619"},
                                                     {"gpu_ecc", "on"},
                                                     {"gpu_persistence", "on"},
                                                     {"gpu_mig", "off"}}));
  EXPECT_EQ(gpu_environment({.name = "NVIDIA GPU"}), (std::map<std::string, std::string>{{"gpu", "NVIDIA GPU"}}));
}

}  // namespace
}  // namespace nanobench::core

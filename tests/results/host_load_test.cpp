#include "results/host_load.h"

#include "results/metric.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace nanobench::results {
namespace {

/// Ten quiet seconds on two processors, both of which the run used nine tenths of the time.
Facts quiet() {
  return {{"start/uptime_s", "1000.00"},
          {"end/uptime_s", "1010.00"},
          {"start/load_1m", "9.0"},
          {"end/load_1m", "2.0"},
          {"start/cpu_ticks", "50000"},
          {"end/cpu_ticks", "52000"},
          {"start/idle_ticks", "20000"},
          {"end/idle_ticks", "20180"},
          {"start/steal_ticks", "100"},
          {"end/steal_ticks", "110"},
          {"start/throttled_us", "5"},
          {"end/throttled_us", "5"},
          {"used/user_ms", "17000"},
          {"used/system_ms", "1000"},
          {"used/voluntary_switches", "9000"},
          {"used/involuntary_switches", "300"}};
}

std::string reason_with(const std::string& name, const std::string& value, int threads = 2) {
  Facts facts = quiet();
  facts[name] = value;
  return disturbance(facts, threads).value_or("");
}

bool says(const std::string& reason, const std::string& words) {
  return reason.find(words) != std::string::npos;
}

TEST(Disturbance, AQuietMachineDisturbsNothing) {
  EXPECT_EQ(disturbance(quiet(), 2), std::nullopt) << "the load before the run is not held against it";
  EXPECT_EQ(disturbance({}, 2), std::nullopt) << "nothing is known";
}

TEST(Disturbance, StealTime) {
  EXPECT_EQ(reason_with("end/steal_ticks", "140"), "") << "2.0 % is the limit";
  EXPECT_EQ(reason_with("end/steal_ticks", "150"), "the hypervisor took 2.5 % of the CPU time");
}

TEST(HostLoad, SharesBetweenTwoReadings) {
  EXPECT_DOUBLE_EQ(*steal_share(quiet()), 0.005);
  EXPECT_DOUBLE_EQ(*busy_share(quiet()), 0.905);
  EXPECT_EQ(steal_share({}), std::nullopt);
  EXPECT_EQ(busy_share({{"end/cpu_ticks", "5"}, {"end/idle_ticks", "5"}}), std::nullopt) << "one reading is no share";
}

TEST(HostLoad, AGlanceIsPartOfWhatARunStoresAndTheMemory) {
  const Facts whole = load_facts("x/");
  Facts glance = glance_facts("x/");
  ASSERT_TRUE(glance.contains("x/cpu_ticks"));
  EXPECT_GT(std::stod(glance.at("x/memory_total_bytes")), std::stod(glance.at("x/memory_available_bytes")));
  glance.erase("x/memory_total_bytes");
  glance.erase("x/memory_available_bytes");
  for (const auto& [name, value] : glance) EXPECT_TRUE(whole.contains(name)) << name;
}

TEST(Disturbance, OtherProgramsOnTheRunsProcessors) {
  // 18.1 s were used: by the run only 13.
  EXPECT_EQ(reason_with("used/user_ms", "12000"), "other programs kept 0.5 of 2 processors busy");
  EXPECT_EQ(reason_with("used/user_ms", "12000", 1), "") << "a run of one thread had a processor left";
}

TEST(Disturbance, OthersOnTheGpu) {
  EXPECT_EQ(reason_with("gpu/other_processes", "0"), "");
  EXPECT_EQ(reason_with("gpu/other_processes", "1"), "another process was on its GPU");
  EXPECT_EQ(reason_with("gpu/other_processes", "3"), "3 other processes were on its GPU");
  EXPECT_EQ(disturbance({{"gpu/other_processes", "1"}}, 2), "another process was on its GPU") << "however short";
}

TEST(Disturbance, OfSeveralGpusTheOneIsNamed) {
  EXPECT_EQ(disturbance({{"gpu/other_processes", "1"},
                         {"gpu/process_0/other_processes", "0"},
                         {"gpu/process_3/other_processes", "1"}},
                        2),
            "another process was on the GPU of its process 3");
  EXPECT_EQ(disturbance({{"gpu/throttle/hw_slowdown", "1"},
                         {"gpu/process_2/throttle/hw_slowdown", "1"},
                         {"gpu/process_10/throttle/hw_slowdown", "1"},
                         {"gpu/process_4/throttle/power_cap", "1"}},
                        2),
            "the GPUs of its processes 2, 10 slowed down (hw_slowdown)");
}

TEST(Disturbance, AGpuThatSlowsDown) {
  for (const char* reason : {"hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake"})
    EXPECT_EQ(reason_with(std::string("gpu/throttle/") + reason, "1"),
              std::string("its GPU slowed down (") + reason + ")");
  for (const char* reason : {"idle", "power_cap", "application_clocks", "sync_boost", "display_clocks", "other"})
    EXPECT_EQ(reason_with(std::string("gpu/throttle/") + reason, "1"), "") << reason;
  EXPECT_EQ(reason_with("gpu/throttle/hw_slowdown", "0"), "");
}

TEST(Disturbance, Throttling) {
  EXPECT_EQ(reason_with("end/throttled_us", "90000"), "");
  EXPECT_TRUE(says(reason_with("end/throttled_us", "200005"), "quota stopped it for 2.0 %"));
  Facts hot = quiet();
  hot["start/thermal_throttles"] = "4";
  hot["end/thermal_throttles"] = "4";
  EXPECT_EQ(disturbance(hot, 2), std::nullopt);
  hot["end/thermal_throttles"] = "5";
  EXPECT_EQ(disturbance(hot, 2), "the processor slowed down for heat");
}

TEST(Disturbance, InvoluntarySwitches) {
  EXPECT_EQ(reason_with("used/involuntary_switches", "1900"), "");
  EXPECT_EQ(reason_with("used/involuntary_switches", "4000"),
            "its threads lost their processors 200 times a second each");
}

TEST(Disturbance, OlderAndShortRunsAreJudgedByTheLoad) {
  EXPECT_EQ(disturbance({{"start/load_1m", "2.5"}}, 2), std::nullopt) << "about the suite's own two threads";
  EXPECT_EQ(disturbance({{"start/load_1m", "9.4"}}, 2), "the load was 9.4 when it began");
  EXPECT_EQ(reason_with("end/uptime_s", "1000.50"), "the load was 9.0 when it began");
}

TEST(Disturbance, ARunBesideOthersHasNoTimesToDoubt) {
  Facts facts = quiet();
  facts["end/steal_ticks"] = "9000";
  EXPECT_NE(disturbance(facts, 2), std::nullopt);
  facts[kJobProcessors] = "0 1";
  EXPECT_EQ(disturbance(facts, 2), std::nullopt);
}

TEST(Disturbance, NonsenseIsNoReason) {
  EXPECT_EQ(reason_with("end/steal_ticks", "50"), "") << "a counter that fell";
  EXPECT_EQ(reason_with("end/cpu_ticks", "many"), "");
  EXPECT_EQ(reason_with("end/uptime_s", "nan"), "the load was 9.0 when it began");
}

TEST(SpanFacts, CountersGrowOnlyWithinTheSpans) {
  SpanFacts spans;
  spans.begin();
  spans.end();
  const double between = std::stod(load_facts("").at("uptime_s"));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double after = std::stod(load_facts("").at("uptime_s"));
  spans.begin();
  spans.end();
  const double whole = std::stod(load_facts("").at("uptime_s")) - std::stod(spans.facts().at("start/uptime_s"));
  const Facts facts = spans.facts();
  const double growth = std::stod(facts.at("end/uptime_s")) - std::stod(facts.at("start/uptime_s"));
  EXPECT_LE(growth, whole - (after - between) + 0.05) << "the kernel counts hundredths";
  EXPECT_GE(growth, 0.0);
  for (const char* const name : {"start/time", "end/time", "start/load_1m", "end/load_1m", "end/cpu_ticks"})
    EXPECT_TRUE(facts.contains(name)) << name;
}

TEST(HostLoad, SecondsOfARunAreItsOwnWhereTheyAreKnown) {
  const std::string start = "2026-11-23T10:00:00.000Z", end = "2026-11-23T10:00:30.500Z";
  EXPECT_EQ(used_seconds({}, start, end), 30.5);
  EXPECT_EQ(used_seconds({{kUsedWall, "4200"}}, start, end), 4.2);
  EXPECT_EQ(used_seconds({{kUsedWall, "4200"}}, "", ""), 4.2);
  EXPECT_EQ(used_seconds({}, start, ""), std::nullopt);
  EXPECT_EQ(used_seconds({}, end, start), 0.0);
}

TEST(HostLoad, MemoryThatIsLeftIsLessThanTheMachineHas) {
  const std::optional<std::int64_t> left = available_memory_bytes();
  ASSERT_TRUE(left);
  EXPECT_GT(*left, 0);
  EXPECT_LT(static_cast<double>(*left), std::stod(glance_facts("").at("memory_total_bytes")));
}

TEST(LoadFacts, TellOfThisMachine) {
  const Facts facts = load_facts("start/");
  for (const char* name : {"time", "uptime_s", "load_1m", "cpu_ticks", "idle_ticks", "steal_ticks"})
    EXPECT_TRUE(facts.contains(std::string("start/") + name)) << name;
  EXPECT_GT(std::stod(facts.at("start/cpu_ticks")), std::stod(facts.at("start/idle_ticks")));
}

}  // namespace
}  // namespace nanobench::results

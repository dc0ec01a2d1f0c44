#include "results/provenance.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

namespace nanobench::results {
namespace {

TEST(Provenance, KnowsThisMachine) {
  const MachineInfo machine = machine_info();
  EXPECT_FALSE(machine.host.empty());
  EXPECT_FALSE(machine.cpu_model.empty());
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.memory_bytes, 0);
  EXPECT_NE(hardware_class(machine).find(machine.cpu_model), std::string::npos);
}

TEST(Provenance, AGpuAndItsDriverAreAnotherClassOfMachine) {
  MachineInfo machine = machine_info();
  EXPECT_FALSE(machine.gpu) << "runs use the processors unless somebody says otherwise";
  std::set<std::string> classes = {hardware_class(machine)};
  for (const char* name : {"NVIDIA H100 80GB HBM3", "NVIDIA H200"}) {
    for (const char* driver : {"570.86.15", "580.65.06"}) {
      machine.gpu = core::GpuFacts{.name = name, .uuid = "GPU-1", .driver = driver};
      EXPECT_NE(hardware_class(machine).find(std::string(name) + ", driver " + driver), std::string::npos);
      classes.insert(hardware_class(machine));
    }
  }
  EXPECT_EQ(classes.size(), 5U);
  const std::string before = hardware_class(machine);
  machine.gpu->uuid = "GPU-2";
  EXPECT_EQ(hardware_class(machine), before) << "of one kind";
}

TEST(Provenance, AProcessKnowsThatItLives) {
  EXPECT_EQ(is_alive(this_process()), true);
}

TEST(Provenance, AnEndedProcessIsGone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    const Owner owner = this_process();
    const std::int64_t started = owner.pid_started;
    _exit(write(ends[1], &started, sizeof started) == static_cast<ssize_t>(sizeof started) ? 0 : 1);
  }
  Owner owner = this_process();
  owner.pid = pid;
  ASSERT_EQ(read(ends[0], &owner.pid_started, sizeof owner.pid_started),
            static_cast<ssize_t>(sizeof owner.pid_started));
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(is_alive(owner), false) << "a zombie has ended";
  waitpid(pid, nullptr, 0);
  EXPECT_EQ(is_alive(owner), false);
}

TEST(Provenance, AnotherProcessWithTheSameNumberIsNotTheOwner) {
  Owner owner = this_process();
  owner.pid_started += 1;
  EXPECT_EQ(is_alive(owner), false);
}

TEST(Provenance, AnotherBootIsOutOfSight) {
  Owner owner = this_process();
  owner.boot_id = "another";
  EXPECT_EQ(is_alive(owner), std::nullopt);
}

TEST(Provenance, TimesSortAsText) {
  const std::string now = utc_now();
  EXPECT_EQ(now.size(), std::string("2026-01-31T23:59:59.123Z").size());
  EXPECT_LE(now, utc_now());
}

TEST(Provenance, FactsNameBuildAndMachine) {
  const auto facts = provenance_facts();
  for (const char* name : {"nanobench_version", "git_revision", "compiler", "build_type", "cpu_model", "kernel"})
    EXPECT_TRUE(facts.contains(name)) << name;
}

}  // namespace
}  // namespace nanobench::results

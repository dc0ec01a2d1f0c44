// What the environment of torchrun, mpirun and srun says, and what it says when it makes no sense.
#include "engine/distributed/launch.h"

#include <gtest/gtest.h>

#include <map>

#include "core/base/error.h"
#include "tests/core/base/refusal_support.h"

namespace nanobench::core::testing {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<Launch> launch_of(const Variables& variables) {
  return find_launch([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

Refused refusal_with(const Variables& variables) {
  return refusal_of([&] { launch_of(variables); });
}

TEST(Launch, TorchrunSaysWhoAndWhere) {
  const auto launch = launch_of({{"RANK", "3"},
                                 {"WORLD_SIZE", "16"},
                                 {"LOCAL_RANK", "1"},
                                 {"MASTER_ADDR", "node7"},
                                 {"MASTER_PORT", "29501"},
                                 {"TORCHELASTIC_RUN_ID", "run"},
                                 {"TORCHELASTIC_RESTART_COUNT", "2"},
                                 {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                 {"NANOBENCH_SECRET_FILE", "/home/me/secret"}});
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->secret_file, "/home/me/secret");
  EXPECT_EQ(launch->launcher, Launcher::kTorchrun);
  EXPECT_EQ(launch->rank, 3);
  EXPECT_EQ(launch->size, 16);
  EXPECT_EQ(launch->local_rank, 1);
  EXPECT_EQ(launch->address, "node7");
  EXPECT_EQ(launch->port, 29501);
  EXPECT_TRUE(launch->has_hosted_store);
  EXPECT_EQ(launch->job, "run.2");
}

TEST(Launch, MpirunSaysWhoButNotWhere) {
  const auto open_mpi =
      launch_of({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}});
  ASSERT_TRUE(open_mpi);
  EXPECT_EQ(open_mpi->launcher, Launcher::kMpirun);
  EXPECT_EQ(open_mpi->rank, 1);
  EXPECT_EQ(open_mpi->local_rank, 0);
  EXPECT_EQ(open_mpi->address, "");
  const auto mpich = launch_of({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}});
  ASSERT_TRUE(mpich);
  EXPECT_EQ(mpich->size, 4);
  EXPECT_FALSE(mpich->local_rank);
}

TEST(Launch, SrunMeetsAtTheFirstHostAtAPortOfTheStep) {
  Variables step = {{"SLURM_PROCID", "5"},   {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "1"},
                    {"SLURM_JOB_ID", "421"}, {"SLURM_STEP_ID", "0"},        {"SLURM_STEP_NODELIST", "gpu[03-04]"}};
  const auto first = launch_of(step);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->launcher, Launcher::kSrun);
  EXPECT_EQ(first->rank, 5);
  EXPECT_EQ(first->address, "gpu03");
  EXPECT_GT(first->port, 1023);
  EXPECT_LT(first->port, 32768);
  step["SLURM_STEP_ID"] = "1";
  EXPECT_NE(launch_of(step)->port, first->port);
  step["MASTER_ADDR"] = "login";
  step["MASTER_PORT"] = "4000";
  EXPECT_EQ(launch_of(step)->address, "login");
  EXPECT_EQ(launch_of(step)->port, 4000);
}

TEST(Launch, ABatchScriptAndAProcessAloneAreNotLaunched) {
  EXPECT_FALSE(launch_of({}));
  EXPECT_FALSE(launch_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "421"}}));
  EXPECT_FALSE(launch_of({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  EXPECT_FALSE(launch_of({{"WORLD_SIZE", "4"}}));
}

TEST(Launch, NonsenseIsRefusedByName) {
  EXPECT_REFUSED(refusal_with({{"RANK", "x"}, {"WORLD_SIZE", "4"}}), Reason::kMalformed, "RANK");
  const Refused beyond = refusal_with({{"RANK", "4"}, {"WORLD_SIZE", "4"}});
  EXPECT_REFUSED(beyond, Reason::kOutOfRange, "RANK");
  EXPECT_TRUE(beyond.names(" 4,") && beyond.names("WORLD_SIZE")) << beyond.message;
  EXPECT_REFUSED(refusal_with({{"RANK", "-1"}, {"WORLD_SIZE", "4"}}), Reason::kMalformed, "RANK");
  EXPECT_REFUSED(refusal_with({{"RANK", "0"}, {"WORLD_SIZE", "4"}}), Reason::kMissingKey, "MASTER_ADDR");
  const Refused port =
      refusal_with({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}});
  EXPECT_REFUSED(port, Reason::kOutOfRange, "MASTER_PORT");
  EXPECT_TRUE(port.names("65535")) << port.message;
}

TEST(Launch, SlurmsListsOfHosts) {
  EXPECT_EQ(first_slurm_host("node1"), "node1");
  EXPECT_EQ(first_slurm_host("login,node[1-4]"), "login");
  EXPECT_EQ(first_slurm_host("node[03-05,9],login"), "node03");
  EXPECT_EQ(first_slurm_host("node[7,9]"), "node7");
  EXPECT_EQ(first_slurm_host("rack[1-2]-a"), "rack1-a");
  EXPECT_EQ(first_slurm_host("node["), "node");
  EXPECT_EQ(first_slurm_host(""), "");
}

}  // namespace
}  // namespace nanobench::core::testing

// nanobench-train started as several processes by others: torchrun's variables, mpirun. The same losses as processes
// that it starts itself, and a named end whatever happens to one of them.
#include <gtest/gtest.h>

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "core/base/atomic_write.h"
#include "core/base/secret_file.h"
#include "engine/distributed/agent_store.h"
#include "engine/distributed/mesh.h"
#include "tests/engine/distributed/launched_ranks.h"
#include "tests/engine/distributed/tiny_run.h"

namespace nanobench::core::testing {
namespace {

std::string communicator_of(const EngineProcess& engine) {
  return std::get<HelloEvent>(engine.events().front()).environment.at("communicator");
}

RunSpec endless(RunSpec spec) {
  spec.config.schedule.num_steps = spec.config.run.stop_after = 10'000'000;
  spec.config.run.val_every = 10'000'000;
  return spec;
}

std::vector<double> own_losses(const RunSpec& spec) {
  EngineProcess engine(spec);
  EXPECT_EQ(engine.wait(), 0);
  EXPECT_EQ(communicator_of(engine), "shared memory");
  return launched_run_losses_of(engine);
}

TEST(LaunchedRun, ByTorchrunsVariablesGivesTheSameBits) {
  const TinyRun run;
  for (const int processes : {2, 4}) {
    const RunSpec spec = run.spec(processes);
    Ranks ranks(spec, processes);
    for (int rank = 0; rank < processes; ++rank) EXPECT_EQ(ranks[static_cast<std::size_t>(rank)].wait(), 0) << rank;
    EXPECT_EQ(communicator_of(ranks[0]), "tcp");
    EXPECT_EQ(launched_run_losses_of(ranks[0]), own_losses(spec));
    for (int rank = 1; rank < processes; ++rank)
      EXPECT_TRUE(ranks[static_cast<std::size_t>(rank)].events().empty()) << "only the first process speaks";
  }
}

TEST(LaunchedRun, AKilledProcessEndsTheRunWithOneSentence) {
  const TinyRun run;
  Ranks ranks(endless(run.spec(4)), 4);
  ASSERT_TRUE(eventually([&] { return !launched_run_losses_of(ranks[0]).empty(); }));
  kill(ranks[2].pid(), SIGKILL);
  EXPECT_EQ(ranks[0].wait(), 1);
  EXPECT_EQ(failure_of(ranks[0]).outcome, RunOutcome::kCrashed);
  EXPECT_EQ(failure_of(ranks[0]).message, "process 2 of 4 (the first is 0) has ended without a word");
  for (const std::size_t rank : {1U, 3U}) {
    EXPECT_EQ(ranks[rank].wait(), 1) << rank;
    EXPECT_EQ(ranks[rank].errors(), "") << rank;
  }
}

TEST(LaunchedRun, WhenTheFirstProcessIsKilledTheOthersEndToo) {
  const TinyRun run;
  Ranks ranks(endless(run.spec(2)), 2);
  ASSERT_TRUE(eventually([&] { return !launched_run_losses_of(ranks[0]).empty(); }));
  kill(ranks[0].pid(), SIGKILL);
  EXPECT_EQ(ranks[1].wait(), 1);
}

TEST(LaunchedRun, AStopOfAnyProcessStopsAll) {
  const TinyRun run;
  Ranks ranks(endless(run.spec(2)), 2);
  ASSERT_TRUE(eventually([&] { return !launched_run_losses_of(ranks[0]).empty(); }));
  kill(ranks[1].pid(), SIGTERM);
  EXPECT_EQ(ranks[0].wait(), 130);
  EXPECT_EQ(failure_of(ranks[0]).outcome, RunOutcome::kInterrupted);
  EXPECT_EQ(ranks[1].wait(), 0);
}

TEST(LaunchedRun, AnErrorOfOneProcessIsTheRunsFailure) {
  const TinyRun run;
  const RunSpec good = endless(run.spec(2));
  RunSpec bad = good;
  bad.train_shards = {"/nowhere/train.bin"};
  const int port = free_port();
  const auto start = [&](const char* rank) {
    return EngineStart{
        .prefix = {},
        .variables = {
            {"RANK", rank}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", std::to_string(port)}}};
  };
  EngineProcess first(good, start("0"));
  EngineProcess second(bad, start("1"));
  EXPECT_NE(first.wait(), 0);
  EXPECT_NE(second.wait(), 0);
  const std::string message = failure_of(first).message;
  EXPECT_NE(message.find(process_name(1, 2)), std::string::npos) << message;
  EXPECT_NE(message.find("/nowhere/train.bin"), std::string::npos) << message;
}

TEST(LaunchedRun, ASecretFileChangesNoBits) {
  const TinyRun run;
  const RunSpec spec = run.spec(2);
  const TemporaryFolder folder("secret");
  create_secret_file(folder.path() / "secret");
  const std::vector<std::pair<std::string, std::string>> secret = {
      {"NANOBENCH_SECRET_FILE", (folder.path() / "secret").string()}};
  Ranks ranks(spec, 2, {}, secret);
  EXPECT_EQ(ranks[0].wait(), 0) << failure_of(ranks[0]).message;
  EXPECT_EQ(ranks[1].wait(), 0) << ranks[1].errors();
  EXPECT_EQ(launched_run_losses_of(ranks[0]), own_losses(spec));
}

// What torchrun sets when its agent listens at MASTER_PORT itself.
TEST(LaunchedRun, ThroughTheStoreOfTorchrunsAgent) {
  const TinyRun run;
  const RunSpec spec = run.spec(2);
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.waitWorkers = false;
  const auto agent = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  const std::vector<std::pair<std::string, std::string>> variables = {{"MASTER_PORT", std::to_string(agent->getPort())},
                                                                      {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                                                      {"TORCHELASTIC_RUN_ID", "none"},
                                                                      {"TORCHELASTIC_RESTART_COUNT", "0"}};
  Ranks ranks(spec, 2, {}, variables);
  EXPECT_EQ(ranks[0].wait(), 0) << failure_of(ranks[0]).message;
  EXPECT_EQ(ranks[1].wait(), 0) << ranks[1].errors();
  EXPECT_EQ(communicator_of(ranks[0]), "tcp");
  EXPECT_EQ(launched_run_losses_of(ranks[0]), own_losses(spec));
}

TEST(LaunchedRun, AnAgentsStoreWithoutAnAddressIsOneSentence) {
  const TinyRun run;
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.waitWorkers = false;
  const auto agent = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  const std::string garbage = "{\"x\":1}";
  agent->set("nanobench/none.0/first", std::vector<std::uint8_t>(garbage.begin(), garbage.end()));
  Ranks ranks(run.spec(2), 2, {1},
              {{"MASTER_PORT", std::to_string(agent->getPort())},
               {"TORCHELASTIC_USE_AGENT_STORE", "True"},
               {"TORCHELASTIC_RUN_ID", "none"},
               {"TORCHELASTIC_RESTART_COUNT", "0"}});
  EXPECT_EQ(ranks[0].wait(), 2);
  EXPECT_NE(ranks[0].errors().find(kNoFirstAddress), std::string::npos) << ranks[0].errors();
}

TEST(LaunchedRun, AProcessThatDoesNotComeIsNamed) {
  const TinyRun run;
  Ranks ranks(run.spec(4), 4, {0, 1, 3});
  EXPECT_EQ(ranks[0].wait(), 2);
  EXPECT_EQ(failure_of(ranks[0]).outcome, RunOutcome::kUnsupported);
  EXPECT_NE(failure_of(ranks[0]).message.find(silence_of(0, 4, 2)), std::string::npos) << failure_of(ranks[0]).message;
  for (const std::size_t i : {0U, 1U}) {
    ranks[i].wait();
    EXPECT_EQ(ranks[i].errors().find("frame #"), std::string::npos) << ranks[i].errors();
  }
}

bool is_listening(int port) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const bool is_there = connect(fd, reinterpret_cast<sockaddr*>(&place), sizeof place) == 0;
  close(fd);
  return is_there;
}

TEST(LaunchedRun, AProcessThatWaitsForTheOthersEndsAtOnceWhenItIsStopped) {
  const TinyRun run;
  for (const int signal : {SIGINT, SIGTERM}) {
    Ranks ranks(run.spec(2), 2, {0}, {{"NANOBENCH_RENDEZVOUS_SECONDS", "3600"}});
    ASSERT_TRUE(eventually([&] { return is_listening(ranks.port()); }));
    kill(ranks[0].pid(), signal);
    EXPECT_EQ(ranks[0].wait(), 130);
  }
}

TEST(LaunchedRun, ContradictionsAreRefused) {
  const TinyRun run;
  Ranks wrong_size(run.spec(4), 2, {0});
  EXPECT_EQ(wrong_size[0].wait(), 2);
  for (const char* datum : {"torchrun", " 2 ", "distributed/processes", " 4;"})
    EXPECT_NE(failure_of(wrong_size[0]).message.find(datum), std::string::npos) << failure_of(wrong_size[0]).message;
  RunSpec by_memory = run.spec(2);
  by_memory.communicator = CommunicatorChoice::kSharedMemory;
  Ranks wrong_way(by_memory, 2, {0});
  EXPECT_EQ(wrong_way[0].wait(), 2);
  RunSpec by_tcp = run.spec(2);
  by_tcp.communicator = CommunicatorChoice::kTcp;
  EngineProcess not_launched(by_tcp);
  EXPECT_EQ(not_launched.wait(), 2);
  for (const char* launcher : {"torchrun", "mpirun", "srun"})
    EXPECT_NE(failure_of(not_launched).message.find(launcher), std::string::npos) << failure_of(not_launched).message;
}

/// A second host: a network namespace behind a cable of its own, which can be pulled. Needs root and iproute2.
class SecondHost {
 public:
  SecondHost() : name_("nb" + std::to_string(getpid())) {
    is_there_ = run("ip netns add " + name_) && run("ip link add " + near() + " type veth peer name " + far()) &&
                run("ip link set " + far() + " netns " + name_) && run("ip addr add 198.18.77.1/30 dev " + near()) &&
                run("ip link set " + near() + " up") && run(inside() + "ip addr add 198.18.77.2/30 dev " + far()) &&
                run(inside() + "ip link set " + far() + " up");
  }
  ~SecondHost() {
    run("ip link del " + near());
    run("ip netns del " + name_);
  }
  SecondHost(const SecondHost&) = delete;
  SecondHost& operator=(const SecondHost&) = delete;

  bool is_there() const { return is_there_; }
  void pull_the_cable() const { EXPECT_TRUE(run("ip link set " + near() + " down")); }
  std::vector<std::string> prefix() const { return {"ip", "netns", "exec", name_}; }

 private:
  static bool run(const std::string& command) { return std::system((command + " 2>/dev/null").c_str()) == 0; }
  std::string near() const { return name_ + "a"; }
  std::string far() const { return name_ + "b"; }
  std::string inside() const { return "ip netns exec " + name_ + " "; }

  std::string name_;
  bool is_there_ = false;
};

TEST(LaunchedRun, WhenAHostIsGoneBothSidesEnd) {
  const SecondHost other;
  if (!other.is_there()) GTEST_SKIP() << "no second network here (it needs root and iproute2)";
  const TinyRun run;
  const RunSpec spec = endless(run.spec(2));
  const std::string port = std::to_string(free_port());
  const auto variables = [&](const char* rank) {
    return std::vector<std::pair<std::string, std::string>>{
        {"RANK", rank}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "198.18.77.1"}, {"MASTER_PORT", port}};
  };
  EngineProcess first(spec, {.prefix = {}, .variables = variables("0")});
  EngineProcess second(spec, {.prefix = other.prefix(), .variables = variables("1"), .keeps_errors = true});
  ASSERT_TRUE(eventually([&] { return !launched_run_losses_of(first).empty(); }));
  other.pull_the_cable();
  EXPECT_EQ(first.wait(), 1);
  EXPECT_EQ(failure_of(first).message, "process 1 of 2 (the first is 0) has ended without a word");
  EXPECT_EQ(second.wait(), 1);
}

/// Skipped where there is no MPI.
class Mpirun : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(std::string(NANOBENCH_BIN_DIR) + "/libnanobench_mpi.so"))
      GTEST_SKIP() << "built without MPI";
    if (std::system("command -v mpirun > /dev/null") != 0) GTEST_SKIP() << "there is no mpirun";
  }

  static EngineStart start(int processes, std::vector<std::pair<std::string, std::string>> variables = {}) {
    // As root and with more processes than processors, which Open MPI asks to be told.
    variables.emplace_back("OMPI_ALLOW_RUN_AS_ROOT", "1");
    variables.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    variables.emplace_back("OMPI_MCA_rmaps_base_oversubscribe", "1");
    return {.prefix = {"mpirun", "-n", std::to_string(processes)}, .variables = std::move(variables)};
  }
};

TEST_F(Mpirun, GivesTheSameBitsThroughMpiAndThroughTcp) {
  const TinyRun run;
  for (const int processes : {2, 4}) {
    RunSpec spec = run.spec(processes);
    EngineProcess by_mpi(spec, start(processes));
    ASSERT_EQ(by_mpi.wait(), 0);
    EXPECT_EQ(communicator_of(by_mpi), "mpi");
    EXPECT_EQ(launched_run_losses_of(by_mpi), own_losses(spec));
  }
  RunSpec spec = run.spec(2);
  spec.communicator = CommunicatorChoice::kTcp;
  EngineProcess by_tcp(spec, start(2, {{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", std::to_string(free_port())}}));
  ASSERT_EQ(by_tcp.wait(), 0);
  EXPECT_EQ(communicator_of(by_tcp), "tcp");
}

TEST_F(Mpirun, ADeadProcessEndsTheRunWithOneSentence) {
  const TinyRun run;
  EngineProcess launcher(endless(run.spec(4)), start(4));
  ASSERT_TRUE(eventually([&] { return !launched_run_losses_of(launcher).empty(); }));
  std::vector<pid_t> ranks = launcher.children();
  ASSERT_EQ(ranks.size(), 4U);
  std::sort(ranks.begin(), ranks.end());
  kill(ranks[2], SIGKILL);
  EXPECT_NE(launcher.wait(), 0);
  const FailedEvent failure = failure_of(launcher);
  EXPECT_EQ(failure.outcome, RunOutcome::kCrashed);
  EXPECT_NE(failure.message.find(silent_end_of(2, 4)), std::string::npos) << failure.message;
  for (const pid_t rank : ranks) EXPECT_TRUE(eventually([&] { return !is_running(rank); }));
}

TEST_F(Mpirun, WithoutThePluginAndWithoutAPlaceToMeetItSaysWhatToDo) {
  const TinyRun run;
  const std::string nowhere = ::testing::TempDir();
  EngineProcess engine(run.spec(2), start(2, {{"NANOBENCH_PLUGINS", nowhere}}));
  EXPECT_NE(engine.wait(), 0);
  EXPECT_EQ(failure_of(engine).outcome, RunOutcome::kUnsupported);
  EXPECT_NE(failure_of(engine).message.find("libnanobench_mpi.so"), std::string::npos) << failure_of(engine).message;
  EXPECT_NE(failure_of(engine).message.find("MASTER_ADDR"), std::string::npos) << failure_of(engine).message;
}

}  // namespace
}  // namespace nanobench::core::testing

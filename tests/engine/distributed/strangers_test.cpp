// Strangers at the ports where the processes of a run meet: nothing that they say or leave unsaid ends the run, they
// take nobody's place, and they learn nothing.
#include <gtest/gtest.h>

#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "engine/distributed/authenticated_connection.h"
#include "tests/engine/distributed/launched_ranks.h"
#include "tests/engine/distributed/tiny_run.h"

namespace nanobench::core::testing {
namespace {

struct ListeningPort {
  bool is_local = false;  ///< bound to 127.0.0.1
  int port = 0;
};

std::set<std::string> socket_inodes_of(pid_t pid) {
  std::set<std::string> inodes;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", ignored)) {
    const std::string target = std::filesystem::read_symlink(entry, ignored).string();
    if (target.rfind("socket:[", 0) == 0) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

/// The ports at which a process listens, from the kernel's own table.
std::vector<ListeningPort> listening_ports(pid_t pid) {
  constexpr const char* kListening = "0A";
  const std::set<std::string> inodes = socket_inodes_of(pid);
  std::vector<ListeningPort> ports;
  for (const char* table : {"/net/tcp", "/net/tcp6"}) {
    std::ifstream in("/proc/" + std::to_string(pid) + table);
    std::string line;
    for (std::getline(in, line); std::getline(in, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state, queues, timer, retries, user, timeout, inode;
      words >> number >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout >> inode;
      if (state != kListening || inodes.count(inode) == 0) continue;
      const std::size_t colon = local.find(':');
      ports.push_back({local.substr(0, colon) == "0100007F", std::stoi(local.substr(colon + 1), nullptr, 16)});
    }
  }
  return ports;
}

bool listens(EngineProcess& engine) {
  return eventually([&] { return !listening_ports(engine.pid()).empty(); });
}

/// A connection of a stranger, on this host.
class Stranger {
 public:
  explicit Stranger(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<std::uint16_t>(port));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&place), sizeof place) == 0;
  }
  ~Stranger() { close(fd_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  bool is_connected() const { return is_connected_; }
  void say(const std::string& words) const { send(fd_, words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT); }

 private:
  int fd_;
  bool is_connected_ = false;
};

/// A client of LibTorch's key-value store, which needs no secret; nothing if nobody speaks its language at the port.
c10::intrusive_ptr<c10d::TCPStore> store_client(int port) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(port);
  options.waitWorkers = false;
  options.timeout = std::chrono::seconds(1);
  FLAGS_caffe2_log_level = 3;  // without the call stacks of what is expected
  try {
    return c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  } catch (const std::exception&) {
    return {};
  }
}

void expect_completed(EngineProcess& engine) {
  EXPECT_EQ(engine.wait(), 0) << failure_of(engine).message << engine.errors();
}

TEST(Strangers, SeeNoPortBeyondTheInterfaceOfTheMeeting) {
  const TinyRun run;
  Ranks ranks(run.spec(4), 4, {0, 1});
  ASSERT_TRUE(listens(ranks[0]));
  ASSERT_TRUE(listens(ranks[1])) << "the port of the mesh";
  for (const std::size_t rank : {0U, 1U}) {
    for (const ListeningPort& port : listening_ports(ranks[rank].pid()))
      EXPECT_TRUE(port.is_local) << "process " << rank << " listens at port " << port.port << " of all interfaces";
  }
}

TEST(Strangers, FindNoTokenInAKeyStore) {
  const TinyRun run;
  Ranks ranks(run.spec(2), 2, {0});
  ASSERT_TRUE(listens(ranks[0]));
  const auto store = store_client(ranks.port());
  if (!store) return;  // nothing to read from
  std::string card;
  try {
    const std::vector<std::uint8_t> value = store->get("nanobench/./mesh/0");
    card.assign(value.begin(), value.end());
  } catch (const std::exception&) {
  }
  EXPECT_EQ(card, "");
}

TEST(Strangers, CannotSpeakForAnotherProcess) {
  const TinyRun run;
  Ranks ranks(run.spec(2), 2, {0});
  ASSERT_TRUE(listens(ranks[0]));
  if (const auto store = store_client(ranks.port())) {
    const std::string garbage = "{\"x\":1}";
    store->set("nanobench/./mesh/1", std::vector<std::uint8_t>(garbage.begin(), garbage.end()));
  }
  ranks.start(1);
  expect_completed(ranks[0]);
  expect_completed(ranks[1]);
}

TEST(Strangers, SilenceHoldsNobodyUp) {
  const TinyRun run;
  Ranks ranks(run.spec(2), 2, {0});
  ASSERT_TRUE(eventually([&] { return listening_ports(ranks[0].pid()).size() == 2; }))
      << "the meeting's and the mesh's";
  std::vector<std::unique_ptr<Stranger>> silent;
  for (const ListeningPort& port : listening_ports(ranks[0].pid())) {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(silent.emplace_back(std::make_unique<Stranger>(port.port))->is_connected());
  }
  ranks.start(1);
  expect_completed(ranks[0]);
  expect_completed(ranks[1]);
}

TEST(Strangers, WordsWithoutSenseOrEndAreDropped) {
  const TinyRun run;
  Ranks ranks(run.spec(2), 2, {0});
  ASSERT_TRUE(listens(ranks[0]));
  ASSERT_TRUE(eventually([&] { return listening_ports(ranks[0].pid()).size() == 2; }))
      << "the meeting's and the mesh's";
  std::vector<std::unique_ptr<Stranger>> strangers;
  const std::string words[] = {"{\"x\":1}\n", "GET / HTTP/1.1\r\n\r\n", std::string(1 << 20, '\xff'),
                               std::string(4096, '\0')};
  for (const ListeningPort& port : listening_ports(ranks[0].pid())) {
    for (const std::string& said : words) strangers.emplace_back(std::make_unique<Stranger>(port.port))->say(said);
  }
  ranks.start(1);
  expect_completed(ranks[0]);
  expect_completed(ranks[1]);
  EXPECT_NE(ranks[0].errors().find(" 127.0.0.1, "), std::string::npos) << ranks[0].errors();
  std::string warnings;
  for (const RunEvent& event : ranks[0].events()) {
    if (const auto* warning = std::get_if<WarningEvent>(&event)) warnings += warning->message;
  }
  EXPECT_NE(warnings.find(": " + std::to_string(strangers.size())), std::string::npos) << warnings;
}

/// A file of the folder of an engine, with its mode.
std::string secret_file(const EngineProcess& owner, const char* name, const std::string& text, mode_t mode) {
  const std::string file = (owner.folder() / name).string();
  std::ofstream(file) << text;
  chmod(file.c_str(), mode);
  return file;
}

TEST(Strangers, WithAnotherSecretAreNotAmongTheProcesses) {
  const TinyRun run;
  Ranks ranks(run.spec(2), 2, {0});
  ASSERT_TRUE(listens(ranks[0]));
  const std::string foreign = secret_file(ranks[0], "foreign", "a secret of another run", 0600);
  const std::pair<std::string, std::string> soon = {"NANOBENCH_RENDEZVOUS_SECONDS", "1"};
  EngineProcess& stranger = ranks.start(1, {{"NANOBENCH_SECRET_FILE", foreign}, soon});
  EXPECT_EQ(stranger.wait(), 2);
  EXPECT_NE(stranger.errors().find("NANOBENCH_SECRET_FILE"), std::string::npos) << stranger.errors();
  ranks.start(1);
  expect_completed(ranks[0]);
  EXPECT_NE(ranks[0].errors().find(words_of(DropReason::kSawOurProof)), std::string::npos) << ranks[0].errors();
}

TEST(Strangers, ASecretThatTheyCanReadIsRefused) {
  const TinyRun run;
  EngineProcess anybody(run.spec(1));
  const std::string open = secret_file(anybody, "open", "a secret that all can read", 0644);
  Ranks ranks(run.spec(2), 2, {0});
  EngineProcess& careless = ranks.start(0, {{"NANOBENCH_SECRET_FILE", open}});
  EXPECT_EQ(careless.wait(), 2);
  EXPECT_EQ(failure_of(careless).outcome, RunOutcome::kUnsupported);
  EXPECT_NE(failure_of(careless).message.find("chmod 600 " + open), std::string::npos) << failure_of(careless).message;
}

}  // namespace
}  // namespace nanobench::core::testing

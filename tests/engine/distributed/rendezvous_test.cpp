// Where the processes of a run meet, with threads as processes: what members and strangers can make of it.
#include "engine/distributed/rendezvous.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "engine/distributed/agent_store.h"
#include "engine/distributed/tcp_mesh.h"
#include "tests/core/base/refusal_support.h"
#include "tests/engine/distributed/launched_ranks.h"

namespace nanobench::core::testing {
namespace {

class RendezvousTest : public ::testing::Test {
 protected:
  RendezvousTest() { first_ = std::make_unique<Rendezvous>(place(), 0, 2); }

  RendezvousPlace place(const std::string& secret = "the secret of this run") const {
    return {.address = "127.0.0.1",
            .port = first_ ? first_->port() : 0,
            .job = "test",
            .secret = secret,
            .patience = std::chrono::seconds(patience_)};
  }

  Membership members(const std::string& purpose = "rendezvous") const {
    return {.secret = place().secret, .job = "test", .purpose = purpose, .size = 2};
  }

  Socket member_connection() const {
    return connect_authenticated("127.0.0.1", first_->port(), members(), 1, 0, soon());
  }

  static Deadline soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }

  /// Whether process 0 still does its work.
  void expect_that_all_meet() {
    std::vector<std::string> texts;
    std::thread other([&] { texts = Rendezvous(place(), 1, 2).exchange("names", "one"); });
    EXPECT_EQ(first_->exchange("names", "zero"), (std::vector<std::string>{"zero", "one"}));
    other.join();
    EXPECT_EQ(texts, (std::vector<std::string>{"zero", "one"}));
  }

  int patience_ = 20;
  std::unique_ptr<Rendezvous> first_;
};

TEST_F(RendezvousTest, AllReceiveTheTextsOfAll) {
  expect_that_all_meet();
  EXPECT_EQ(first_->dropped(), 0);
}

TEST_F(RendezvousTest, AnotherSecretIsRefusedOnBothSides) {
  patience_ = 1;
  const Refused refused = refusal_of([&] { Rendezvous(place("the secret of another run"), 1, 2); });
  EXPECT_REFUSED_AS(refused, ErrorCode::kUnavailable, Reason::kOtherSecret, "127.0.0.1");
  EXPECT_TRUE(refused.names("NANOBENCH_SECRET_FILE")) << refused.message;
  EXPECT_TRUE(eventually([&] { return first_->dropped() > 0; }));
}

TEST_F(RendezvousTest, AnotherStartAtTheSamePortIsRefused) {
  patience_ = 1;
  RendezvousPlace other = place();
  other.job = "the start before";
  EXPECT_TRUE(refusal_of([&] { Rendezvous(other, 1, 2); }).is_refused);
}

TEST_F(RendezvousTest, TheOneWhoListensIsAskedForAProofToo) {
  patience_ = 1;
  const Listening impostor = listen_at("127.0.0.1", 0);
  std::thread mirror([&] {
    // Sends back whatever comes, filled up to the length of a reply.
    for (Socket caller; (caller = accept_from(impostor.sockets.front(), std::chrono::seconds(2))).is_open();) {
      char bytes[64] = {};
      receive_all(caller, bytes, 44, std::chrono::seconds(1));
      send_all(caller, bytes, sizeof bytes, std::chrono::seconds(1));
    }
  });
  RendezvousPlace there = place();
  there.port = impostor.port;
  EXPECT_REFUSAL(Rendezvous(there, 1, 2), Reason::kOtherSecret, "127.0.0.1");
  mirror.join();
}

TEST_F(RendezvousTest, AManyFoldOfSilentConnectionsKeepsNobodyOut) {
  std::vector<Socket> silent;
  for (int i = 0; i < 200; ++i)
    silent.push_back(connect_to("127.0.0.1", first_->port(), std::chrono::milliseconds(20'000)));
  expect_that_all_meet();
  EXPECT_GE(first_->dropped(), 100) << "the oldest make room";
}

TEST_F(RendezvousTest, AConnectionThatStaysSilentIsEnded) {
  const Socket silent = connect_to("127.0.0.1", first_->port(), std::chrono::milliseconds(20'000));
  const Socket slow = connect_to("127.0.0.1", first_->port(), std::chrono::milliseconds(20'000));
  ASSERT_TRUE(send_all(slow, "nanorun1", 8, std::chrono::seconds(1))) << "a good beginning without an end";
  char byte = 0;
  EXPECT_FALSE(receive_all(silent, &byte, 1, std::chrono::seconds(30)));
  EXPECT_FALSE(receive_all(slow, &byte, 1, std::chrono::seconds(30)));
  EXPECT_EQ(first_->dropped(), 2);
}

TEST_F(RendezvousTest, RequestsOfAMemberThatMakeNoSenseEndItsConnectionOnly) {
  for (const std::string& request : {std::string("x\0\0\0", 4), std::string(300'000, '\xff')}) {
    const Socket member = member_connection();
    send_all(member, request.data(), request.size(), std::chrono::seconds(1));
    char byte = 0;
    EXPECT_FALSE(receive_all(member, &byte, 1, std::chrono::seconds(20)));
  }
  const Socket member = member_connection();
  const std::string longest =
      to_bytes({.kind = RendezvousRequest::Kind::kPost, .key = std::string(255, 'k'), .text = std::string(65535, 't')});
  ASSERT_TRUE(send_all(member, longest.data(), longest.size(), std::chrono::seconds(20)));
  std::string reply(kReplyHeaderBytes + 65535, '\0');
  EXPECT_TRUE(receive_all(member, reply.data(), reply.size(), std::chrono::seconds(20)));
  EXPECT_EQ(reply.substr(2), std::string(65535, 't'));
  expect_that_all_meet();
}

TEST_F(RendezvousTest, AProcessWithANumberThatIsTakenIsRefused) {
  Rendezvous twin(place(), 1, 2);
  expect_that_all_meet();
  EXPECT_REFUSAL(twin.exchange("names", "another one"), Reason::kRepeated, "1");
}

TEST_F(RendezvousTest, ACardThatIsNoneIsNamed) {
  for (const char* card :
       {R"({"x":1})", "[]", "", "{", R"({"address":1,"port":2,"host":"a"})",
        R"({"address":"127.0.0.1","port":70000,"host":"a"})", R"({"address":"127.0.0.1","port":-1,"host":"a"})"}) {
    first_ = nullptr;
    first_ = std::make_unique<Rendezvous>(place(), 0, 2);
    std::thread other([&] {
      Rendezvous one(place(), 1, 2);
      one.exchange("mesh", card);
    });
    const Refused refused =
        refusal_of([&] { TcpMesh(*first_, place(), 0, 2, [](const ProcessFailure& found) { return found; }); });
    EXPECT_REFUSED(refused, Reason::kMalformed, "1") << card;
    EXPECT_TRUE(refused.begins(process_name(1, 2))) << refused.message;
    other.join();
  }
}

TEST_F(RendezvousTest, TheFirstFailureStands) {
  Rendezvous other(place(), 1, 2);
  const std::string kilobytes(100'000, '"');  // doubled when it is written down
  EXPECT_EQ(other.first_failure({RunOutcome::kDiverged, "one: " + kilobytes}).outcome, RunOutcome::kDiverged);
  const ProcessFailure known = first_->first_failure({RunOutcome::kCrashed, "zero"});
  EXPECT_EQ(known.outcome, RunOutcome::kDiverged);
  EXPECT_EQ(known.message.substr(0, 6), "one: \"");
  first_ = nullptr;
  EXPECT_EQ(other.first_failure({RunOutcome::kCrashed, "alone"}).message, "alone");
}

TEST(MeetingPoint, OnlyNumericAddressesAndPortsAreTaken) {
  for (const char* good : {"29500 127.0.0.1", "1 ::1", "65535 fe80::1%eth0"}) {
    const std::optional<MeetingPoint> point = meeting_point_from(good);
    ASSERT_TRUE(point) << good;
    EXPECT_EQ(to_text(*point), good);
  }
  for (const std::string& bad :
       {std::string(), std::string("29500"), std::string("0 127.0.0.1"), std::string("65536 127.0.0.1"),
        std::string("-1 127.0.0.1"), std::string("29500 evil.example"), std::string("29500 "), std::string("{\"x\":1}"),
        "1 ::1%" + std::string(1000, 'a')})
    EXPECT_FALSE(meeting_point_from(bad)) << bad;
}

TEST(ListenAt, NoOtherAddressIsOpen) {
  const Listening listening = listen_at("127.0.0.1", 0);
  ASSERT_EQ(listening.sockets.size(), 1U);
  EXPECT_EQ(own_address_of(listening.sockets.front()), "127.0.0.1");
  const Listening by_name = listen_at("localhost", 0);
  for (const Socket& socket : by_name.sockets) {
    const std::string address = own_address_of(socket);
    EXPECT_TRUE(address == "127.0.0.1" || address == "::1") << address;
  }
  EXPECT_NO_THROW(connect_to("localhost", by_name.port, std::chrono::seconds(20)));
  EXPECT_THROW(listen_at("127.0.0.1", listening.port), Error) << "the port is taken";
}

TEST(ListenAt, AnAddressOfAnotherHostTellsNothing) {
  const Listening listening = listen_at("203.0.113.7", 0);  // reserved for documentation
  ASSERT_EQ(listening.sockets.size(), 1U);
  EXPECT_EQ(own_address_of(listening.sockets.front()), "::");
}

}  // namespace
}  // namespace nanobench::core::testing

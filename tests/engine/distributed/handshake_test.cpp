#include "engine/distributed/handshake.h"

#include <gtest/gtest.h>

namespace nanobench::core::testing {
namespace {

constexpr int kListener = 0;
constexpr int kCaller = 1;

Membership handshake_members() {
  return {.secret = "0123456789abcdef0123456789abcdef", .job = "7.0", .purpose = "mesh", .size = 4};
}

/// What the two ends come to.
struct HandshakeEnd {
  bool trusts_listener = false;  ///< in the eyes of the caller
  bool trusts_caller = false;
};

HandshakeEnd shake_hands(const Membership& of_listener, const Membership& of_caller, int called = kListener) {
  ListenerHandshake listener(of_listener, kListener);
  const CallerHandshake caller(of_caller, kCaller, called);
  const std::optional<std::string> reply = listener.reply_to(caller.hello());
  if (!reply) return {};
  const std::optional<std::string> answer = caller.answer_to(*reply);
  if (!answer) return {};
  return {true, listener.reply_to(*answer).has_value() && listener.wanted() == 0 && listener.caller() == kCaller};
}

TEST(Handshake, BothEndsProveThemselves) {
  const HandshakeEnd end = shake_hands(handshake_members(), handshake_members());
  EXPECT_TRUE(end.trusts_listener);
  EXPECT_TRUE(end.trusts_caller);
}

TEST(Handshake, EverythingMustBeTheSame) {
  const Membership ours = handshake_members();
  Membership other_secret = ours, other_job = ours, other_purpose = ours, other_size = ours, shifted = ours;
  other_secret.secret.back() = 'e';
  other_job.job = "7.1";
  other_purpose.purpose = "rendezvous";
  other_size.size = 5;
  shifted.job = "7.0m";
  shifted.purpose = "esh";
  for (const Membership& theirs : {other_secret, other_job, other_purpose, other_size, shifted})
    EXPECT_FALSE(shake_hands(ours, theirs).trusts_listener) << theirs.job << theirs.purpose << theirs.size;
  EXPECT_FALSE(shake_hands(ours, ours, /*called=*/2).trusts_listener) << "another process was meant";
}

TEST(Handshake, ACallerWithoutTheSecretIsNotTrusted) {
  const Membership ours = handshake_members();
  ListenerHandshake listener(ours, kListener);
  const CallerHandshake caller(ours, kCaller, kListener);
  ASSERT_TRUE(listener.reply_to(caller.hello()));
  ASSERT_EQ(listener.wanted(), 32U);
  EXPECT_FALSE(listener.reply_to(std::string(32, '\0')));
  EXPECT_NE(listener.wanted(), 0U);
}

TEST(Handshake, EveryBitOfAProofCounts) {
  const Membership ours = handshake_members();
  for (std::size_t byte = 0; byte < 32; ++byte) {
    ListenerHandshake listener(ours, kListener);
    const CallerHandshake caller(ours, kCaller, kListener);
    std::string answer = caller.answer_to(listener.reply_to(caller.hello()).value()).value();
    answer[byte] = static_cast<char>(answer[byte] ^ 1);
    EXPECT_FALSE(listener.reply_to(answer)) << byte;
  }
}

TEST(Handshake, AProofOfAnotherConnectionIsWorthNothing) {
  const Membership ours = handshake_members();
  ListenerHandshake first(ours, kListener), second(ours, kListener);
  const CallerHandshake caller(ours, kCaller, kListener);
  const std::string overheard = caller.answer_to(first.reply_to(caller.hello()).value()).value();
  ASSERT_TRUE(second.reply_to(caller.hello())) << "the same first message, replayed";
  EXPECT_FALSE(second.reply_to(overheard));
}

TEST(Handshake, AReplyOfAnotherConnectionIsWorthNothing) {
  const Membership ours = handshake_members();
  ListenerHandshake listener(ours, kListener);
  const CallerHandshake first(ours, kCaller, kListener), second(ours, kCaller, kListener);
  const std::string overheard = listener.reply_to(first.hello()).value();
  EXPECT_TRUE(first.answer_to(overheard));
  EXPECT_FALSE(second.answer_to(overheard));
}

TEST(Handshake, AProofIsNotThatOfTheOtherSide) {
  const Membership ours = handshake_members();
  ListenerHandshake listener(ours, kListener);
  const CallerHandshake caller(ours, kCaller, kListener);
  const std::string reply = listener.reply_to(caller.hello()).value();
  EXPECT_FALSE(listener.reply_to(reply.substr(32))) << "the listener's own proof, sent back";
}

TEST(Handshake, ARankIsPartOfTheProof) {
  const Membership ours = handshake_members();
  ListenerHandshake listener(ours, kListener);
  const CallerHandshake caller(ours, kCaller, kListener);
  std::string hello = caller.hello();
  hello[8] = 2;  // on the way, rank 1 becomes rank 2
  EXPECT_FALSE(caller.answer_to(listener.reply_to(hello).value()));
}

TEST(Handshake, FirstMessagesWithoutSenseGetNoReply) {
  const Membership ours = handshake_members();
  const std::string good = CallerHandshake(ours, kCaller, kListener).hello();
  const auto is_replied = [&](const std::string& hello) {
    return ListenerHandshake(ours, kListener).reply_to(hello).has_value();
  };
  EXPECT_TRUE(is_replied(good));
  EXPECT_FALSE(is_replied(""));
  EXPECT_FALSE(is_replied(good.substr(1)));
  EXPECT_FALSE(is_replied(good + "x"));
  EXPECT_FALSE(is_replied("{\"x\":1}" + good.substr(7)));
  EXPECT_FALSE(ListenerHandshake(ours, kListener).can_begin_with("G"));
  EXPECT_TRUE(ListenerHandshake(ours, kListener).can_begin_with(good.substr(0, 3)));
  for (const char rank : {'\0', '\4', '\x7f'}) {
    std::string hello = good;
    hello[8] = rank;
    EXPECT_FALSE(is_replied(hello)) << "rank " << static_cast<int>(rank);
  }
  std::string huge = good;
  huge[11] = '\xff';
  EXPECT_FALSE(is_replied(huge)) << "a negative rank";
}

}  // namespace
}  // namespace nanobench::core::testing

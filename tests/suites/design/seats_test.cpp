#include "suites/design/seats.h"

#include <gtest/gtest.h>

#include <set>

#include "core/base/error.h"
#include "core/hardware/processors.h"
#include "tests/core/base/refusal_support.h"

namespace nanobench::suites {
namespace {

using core::Reason;
using core::Refused;

using core::Json;

Seats all_seats_of(const Json& seats) {
  const Json engine = {{"seats", seats}};
  core::JsonObject object(engine, "s.json", "/engine");
  return read_seats(object);
}

std::vector<Seat> seats_of(const Json& seats) {
  return all_seats_of(seats).places;
}

TEST(Seats, GpusAreSharedOut) {
  const std::vector<Seat> seats = seats_of({{"gpus", 8}, {"per_run", 2}});
  ASSERT_EQ(seats.size(), 4U);
  EXPECT_EQ(seats[3].name, "seat 3");
  EXPECT_EQ(seats[3].env.at("CUDA_VISIBLE_DEVICES"), "6,7");
  EXPECT_TRUE(seats[3].processors.empty());
}

TEST(Seats, ProcessorsAreSharedOut) {
  const std::size_t count = core::usable_processors().size();
  const std::vector<Seat> seats = seats_of({{"processors", count}});
  ASSERT_EQ(seats.size(), count);
  std::set<int> all;
  for (const Seat& seat : seats) all.insert(seat.processors.begin(), seat.processors.end());
  EXPECT_EQ(all.size(), count);
  EXPECT_THROW(seats_of({{"processors", count + 1}}), core::Error);
}

TEST(Seats, AListSaysWhatEachHas) {
  const std::vector<Seat> seats = seats_of(Json::parse(R"([{"env": {"A": "1"}}, {"processors": [0, 5]}])"));
  ASSERT_EQ(seats.size(), 2U);
  EXPECT_EQ(seats[0].env.at("A"), "1");
  EXPECT_EQ(seats[1].processors, (std::vector<int>{0, 5}));
}

TEST(Seats, EqualPartsSayWhatEachHas) {
  const Seats gpus = all_seats_of({{"gpus", 8}, {"per_run", 2}});
  ASSERT_TRUE(gpus.share);
  EXPECT_EQ(gpus.share->gpus, 2);
  EXPECT_EQ(gpus.share->processors, 0);
  EXPECT_EQ(gpus.chunk, SeatChunk::kSeed);
  EXPECT_EQ(all_seats_of({{"gpus", 8}, {"chunk", "run"}}).chunk, SeatChunk::kRun);
  EXPECT_EQ(all_seats_of({{"processors", 1}}).share->processors, 1);
  EXPECT_FALSE(all_seats_of(Json::parse(R"([{"env": {"A": "1"}}])")).share);
}

TEST(Seats, WhatIsNoSeatIsRefused) {
  for (const char* text :
       {R"([])", R"([{}])", R"({"gpus": 8, "per_run": 3})", R"({"gpus": 0})", R"({"gpus": 2, "more": 1})",
        R"({"gpus": 2, "chunk": "cell"})", R"([{"processors": []}])", R"([{"processors": [-1]}])", R"("8")", R"({})"}) {
    EXPECT_THROW(seats_of(Json::parse(text)), core::Error) << text;
  }
}

void expect_refused(const char* seats, Reason reason, const std::vector<std::string>& names) {
  const Refused refused = core::refusal_of([&] { seats_of(Json::parse(seats)); });
  EXPECT_REFUSED(refused, reason, "/engine/seats") << seats;
  for (const std::string& name : names) EXPECT_TRUE(refused.names(name)) << refused.message;
}

TEST(Seats, NoTwoAreTheSamePlace) {
  expect_refused(R"([{"processors": [0, 1]}, {"processors": [1]}])", Reason::kOverlap, {"seat 0", "seat 1", " 1"});
  expect_refused(R"([{"env": {"A": "0"}}, {"env": {"A": "1"}}, {"env": {"A": "0"}}])", Reason::kSameValue,
                 {"seat 0", "seat 2"});
  EXPECT_EQ(seats_of(Json::parse(R"([{"env": {"A": "0"}, "processors": [0]}, {"env": {"A": "0"}, "processors": [1]}])"))
                .size(),
            2U);
}

TEST(Seats, AProcessorThatThereIsNotIsNamed) {
  Seats seats;
  seats.places = {{.name = "seat 0", .env = {}, .processors = {core::usable_processors().front().number}}};
  EXPECT_NO_THROW(check_processors(seats, "s.json"));
  seats.places.push_back({.name = "seat 1", .env = {}, .processors = {60000}});
  const Refused refused = core::refusal_of([&] { check_processors(seats, "s.json"); });
  EXPECT_REFUSED(refused, Reason::kOutOfRange, "60000");
  EXPECT_TRUE(refused.begins("s.json: /engine/seats: seat 1 ") && refused.names(" 60000,")) << refused.message;
}

TEST(Seats, ASeedKeepsItsSeat) {
  EXPECT_EQ(seat_of_seed(3, 8), 3U);
  EXPECT_EQ(seat_of_seed(11, 8), 3U);
  EXPECT_EQ(seat_of_seed(8, 8), 0U);
  EXPECT_EQ(seat_of_seed(~std::uint64_t{0}, 1), 0U);
}

}  // namespace
}  // namespace nanobench::suites

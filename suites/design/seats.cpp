#include "suites/design/seats.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"
#include "core/hardware/processors.h"

namespace nanobench::suites {
namespace {

using core::Json;
using core::JsonObject;
using core::Reason;

constexpr std::int64_t kMaxSeats = 1024;

std::string name_of(std::size_t number) {
  return "seat " + std::to_string(number);
}

Seat read_seat(JsonObject object, std::size_t number) {
  Seat seat{.name = name_of(number), .env = object.named_strings_or_empty("env"), .processors = {}};
  if (const Json* list = object.find("processors")) {
    const bool is_list = list->is_array() && !list->empty();
    for (const Json& one : is_list ? *list : Json::array()) {
      if (!one.is_number_integer() || one.get<std::int64_t>() < 0 || one.get<std::int64_t>() > 65535)
        object.fail("processors", Reason::kWrongType, "expected numbers of processors, such as [0, 1]");
      seat.processors.push_back(one.get<int>());
    }
    if (!is_list) object.fail("processors", Reason::kWrongType, "expected a list of processors, such as [0, 1]");
  }
  object.finish();
  if (seat.env.empty() && seat.processors.empty())
    object.fail("env", Reason::kEmpty, "a seat needs something of its own: \"env\" or \"processors\"");
  return seat;
}

/// Equal parts of GPUs or of processors.
Seats read_parts(JsonObject object) {
  const bool are_gpus = object.has("gpus");
  const char* key = are_gpus ? "gpus" : "processors";
  const std::int64_t count = object.integer(key, 1, kMaxSeats);
  const std::int64_t per_run = object.integer_or("per_run", 1, 1, kMaxSeats);
  if (count % per_run != 0)
    object.fail("per_run", Reason::kNoMultiple,
                std::to_string(count) + " cannot be shared out by " + std::to_string(per_run));
  const std::string chunk = object.string_or("chunk", "seed");
  const std::optional<SeatChunk> known = enum_value<SeatChunk>(chunk);
  if (!known)
    object.fail("chunk", Reason::kUnknownName, "expected " + expected_names<SeatChunk>() + ", got \"" + chunk + "\"");
  object.finish();
  Seats seats{.places = {}, .share = SeatShare{}, .chunk = *known};
  (are_gpus ? seats.share->gpus : seats.share->processors) = static_cast<int>(per_run);
  if (are_gpus) {
    for (std::int64_t first = 0; first < count; first += per_run) {
      std::vector<std::int64_t> part(static_cast<std::size_t>(per_run));
      std::iota(part.begin(), part.end(), first);
      seats.places.push_back({.name = name_of(seats.places.size()),
                              .env = {{"CUDA_VISIBLE_DEVICES", joined(part, ",")}},
                              .processors = {}});
    }
    return seats;
  }
  const auto wanted = static_cast<std::size_t>(count / per_run);
  for (std::vector<int>& part :
       core::disjoint_processors(core::usable_processors(), static_cast<int>(wanted), static_cast<int>(per_run)))
    seats.places.push_back({.name = name_of(seats.places.size()), .env = {}, .processors = std::move(part)});
  if (seats.places.size() < wanted)
    object.fail(key, Reason::kOutOfRange, "there are " + counted(core::available_processors(), "processor"));
  return seats;
}

/// Two runs at once in one place would disturb each other.
void check_distinct(const JsonObject& engine, const Seats& seats) {
  for (std::size_t i = 0; i < seats.places.size(); ++i) {
    for (std::size_t j = i + 1; j < seats.places.size(); ++j) {
      const Seat &one = seats.places[i], &other = seats.places[j];
      const std::string both = one.name + " and " + other.name;
      for (const int processor : one.processors) {
        if (std::find(other.processors.begin(), other.processors.end(), processor) != other.processors.end())
          engine.fail(
              "seats", Reason::kOverlap,
              both + " share processor " + std::to_string(processor) + ", so that their runs would disturb each other");
      }
      const bool have_processors = !one.processors.empty() && !other.processors.empty();
      if (!have_processors && one.env == other.env)
        engine.fail("seats", Reason::kSameValue, both + " are the same place");
    }
  }
}

}  // namespace

void check_processors(const Seats& seats, const std::string& source) {
  std::set<int> usable;
  for (const core::Processor& processor : core::usable_processors()) usable.insert(processor.number);
  for (const Seat& seat : seats.places) {
    for (const int processor : seat.processors) {
      if (usable.contains(processor)) continue;
      throw core::Refusal(core::ErrorCode::kInvalidArgument, Reason::kOutOfRange,
                          source + ": /engine/seats: " + seat.name + " names processor " + std::to_string(processor) +
                              ", which this program may not use; it may use " +
                              joined(std::vector<int>(usable.begin(), usable.end())),
                          std::to_string(processor));
    }
  }
}

std::size_t seat_of_seed(std::uint64_t seed, std::size_t seats) {
  return static_cast<std::size_t>(seed % seats);
}

Seats read_seats(JsonObject& engine) {
  const Json& json = engine.at("seats");
  if (json.is_object()) return read_parts(engine.object("seats"));
  if (!json.is_array() || json.empty() || json.size() > static_cast<std::size_t>(kMaxSeats))
    engine.fail("seats", Reason::kWrongType, "expected a list of {\"env\": {...}}, or {\"gpus\": 8, \"per_run\": 1}");
  Seats seats;
  for (std::size_t i = 0; i < json.size(); ++i)
    seats.places.push_back(
        read_seat({json[i], engine.source(), engine.pointer_to("seats") + "/" + std::to_string(i)}, i));
  check_distinct(engine, seats);
  return seats;
}

}  // namespace nanobench::suites

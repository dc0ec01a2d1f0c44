/// Seats: places where runs of an external trainer are made side by side, such as the GPUs of a node. Plain values;
/// thread-safe when not modified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/json.h"

namespace nanobench::suites {

/// One place for one run at a time.
struct Seat {
  std::string name;                        ///< "seat 0"; stored with its runs
  std::map<std::string, std::string> env;  ///< what a run there gets, on top of the trainer's own
  std::vector<int> processors;             ///< the only ones that it may use; empty: all
};

/// Equal parts of a machine. One of the two is above 0.
struct SeatShare {
  int gpus = 0;        ///< of each seat
  int processors = 0;  ///< of each seat
};

/// What has a seat to itself as long as it lasts.
enum class SeatChunk {
  kSeed,  ///< all runs of a seed, one after the other: their times come from one place
  kRun    ///< a single run: no seat is idle while runs wait, but times of a seed come from several places
};
NB_ENUM_NAMES(SeatChunk, {SeatChunk::kSeed, "seed"}, {SeatChunk::kRun, "run"});

struct Seats {
  std::vector<Seat> places;
  std::optional<SeatShare> share;  ///< absent: the places are named one by one
  SeatChunk chunk = SeatChunk::kSeed;

  bool empty() const { return places.empty(); }
};

/// The seat of all runs of a seed: their differences then hold no difference between seats, which may be of unequal
/// speed, and times are compared as those of one place.
std::size_t seat_of_seed(std::uint64_t seed, std::size_t seats);

/// Reads "seats": a list of {"env", "processors"}, or {"gpus": N, "per_run": M} or {"processors": N, "per_run": M},
/// with per_run at least 1 and a divisor of N, and perhaps "chunk": "seed" or "run". Throws Error{kInvalidArgument}
/// with the JSON pointer, also for places that are not distinct.
Seats read_seats(core::JsonObject& engine);

/// Throws Error{kInvalidArgument} with `source` for a processor that this process may not use.
void check_processors(const Seats& seats, const std::string& source);

}  // namespace nanobench::suites

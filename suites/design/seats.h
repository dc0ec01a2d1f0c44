/// Seats: places where runs of an external trainer are made side by side, such as the GPUs of a node. Plain values;
/// thread-safe when not modified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace nanobench::suites {

/// One place for one run at a time.
struct Seat {
  std::string name;                        ///< "seat 0"; stored with its runs
  std::map<std::string, std::string> env;  ///< what a run there gets, on top of the trainer's own
  std::vector<int> processors;             ///< the only ones that it may use; empty: all
};

/// The seat of all runs of a seed: their differences then hold no difference between seats, which may be of unequal
/// speed, and times are compared as those of one place.
std::size_t seat_of_seed(std::uint64_t seed, std::size_t seats);

/// Reads "seats": a list of {"env", "processors"}, or {"gpus": N, "per_run": M} or {"processors": N, "per_run": M},
/// with per_run at least 1 and a divisor of N. Throws Error{kInvalidArgument} with the JSON pointer.
std::vector<Seat> read_seats(core::JsonObject& engine);

}  // namespace nanobench::suites

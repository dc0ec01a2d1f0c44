/// TensorBoard's event files, written by hand: TFRecords (a length and two masked CRC-32C) that hold protocol buffers
/// of the kinds Event and Summary. Only scalars. Thread-safe: values only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nanobench::results {

/// CRC-32C (Castagnoli), not masked.
std::uint32_t crc32c(std::string_view bytes);

/// One record with its frame.
std::string event_record(std::string_view message);

/// The first event of a file. Times are seconds since 1970.
std::string version_event(double wall_time);

using Scalar = std::pair<std::string, float>;  ///< tag, value
/// The scalars of one step.
std::string scalar_event(double wall_time, std::int64_t step, const std::vector<Scalar>& scalars);

}  // namespace nanobench::results

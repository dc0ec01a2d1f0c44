#include "results/export.h"

#include <array>
#include <bit>

namespace nanobench::results {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // CRC-32C, reversed

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table = {};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    table[i] = value;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

/// The checksum as TFRecord stores it, because a CRC of data that contains CRCs would be weak.
std::uint32_t masked(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

/// Little endian.
template <class Number>
void append_fixed(std::string& out, Number value) {
  for (std::size_t i = 0; i < sizeof value; ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}

// Field numbers and wire types of event.proto and summary.proto.
constexpr char kWallTime = 0x09;     // Event.wall_time = 1, double
constexpr char kStep = 0x10;         // Event.step = 2, varint
constexpr char kFileVersion = 0x1a;  // Event.file_version = 3, bytes
constexpr char kSummary = 0x2a;      // Event.summary = 5, bytes
constexpr char kValue = 0x0a;        // Summary.value = 1, bytes
constexpr char kTag = 0x0a;          // Summary.Value.tag = 1, bytes
constexpr char kSimpleValue = 0x15;  // Summary.Value.simple_value = 2, float

void append_bytes(std::string& out, char field, std::string_view bytes) {
  out += field;
  append_varint(out, bytes.size());
  out += bytes;
}

std::string event_head(double wall_time) {
  std::string event(1, kWallTime);
  append_fixed(event, std::bit_cast<std::uint64_t>(wall_time));
  return event;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

std::string event_record(std::string_view message) {
  std::string record;
  append_fixed(record, static_cast<std::uint64_t>(message.size()));
  append_fixed(record, masked(crc32c(record)));
  record += message;
  append_fixed(record, masked(crc32c(message)));
  return record;
}

std::string version_event(double wall_time) {
  std::string event = event_head(wall_time);
  append_bytes(event, kFileVersion, "brain.Event:2");
  return event;
}

std::string scalar_event(double wall_time, std::int64_t step, const std::vector<Scalar>& scalars) {
  std::string summary;
  for (const auto& [tag, number] : scalars) {
    std::string value;
    append_bytes(value, kTag, tag);
    value += kSimpleValue;
    append_fixed(value, std::bit_cast<std::uint32_t>(number));
    append_bytes(summary, kValue, value);
  }
  std::string event = event_head(wall_time);
  event += kStep;
  append_varint(event, static_cast<std::uint64_t>(step));
  append_bytes(event, kSummary, summary);
  return event;
}

}  // namespace nanobench::results

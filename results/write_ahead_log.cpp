#include "results/write_ahead_log.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/base/input_file.h"
#include "core/base/text.h"

namespace nanobench::results {
namespace {

constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kFrameHeaderBytes = 24;
constexpr std::uint32_t kMagic = 0x377f0682;  // with a last bit: checksums are of big-endian words
constexpr std::uint32_t kMaxPageBytes = 65536;
constexpr int kTries = 3;  // while another process begins the log anew

using Header = std::array<unsigned char, kHeaderBytes>;

std::uint32_t word_at(const unsigned char* bytes, bool is_big = true) {
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word |= std::uint32_t{bytes[i]} << (8 * (is_big ? 3 - i : i));
  return word;
}

/// SQLite's running checksum over pairs of words.
class RunningSum {
 public:
  explicit RunningSum(bool is_big) : is_big_(is_big) {}

  /// REQUIRES a multiple of 8 bytes.
  void add(const unsigned char* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; i += 8) {
      a_ += word_at(bytes + i, is_big_) + b_;
      b_ += word_at(bytes + i + 4, is_big_) + a_;
    }
  }
  bool is(const unsigned char* stored) const { return a_ == word_at(stored) && b_ == word_at(stored + 4); }

 private:
  bool is_big_;
  std::uint32_t a_ = 0, b_ = 0;
};

/// Frames of this use of the log: those that SQLite reads, and those behind the first one that it does not.
struct Frames {
  std::int64_t read = 0;
  std::int64_t behind = 0;
};

Frames count_frames(const core::InputFile& log, const Header& header, RunningSum sum, std::uint32_t page_bytes) {
  Frames frames;
  std::vector<unsigned char> frame(kFrameHeaderBytes + page_bytes);
  bool is_intact = true;
  for (std::uint64_t at = kHeaderBytes; log.read_at(at, frame.data(), frame.size()); at += frame.size()) {
    const bool is_of_this_use = std::memcmp(frame.data() + 8, header.data() + 16, 8) == 0;
    if (is_intact) {
      sum.add(frame.data(), 8);
      sum.add(frame.data() + kFrameHeaderBytes, page_bytes);
      is_intact = is_of_this_use && sum.is(frame.data() + 16);
      frames.read += is_intact;
    } else {
      frames.behind += is_of_this_use;
    }
  }
  return frames;
}

std::optional<std::string> look(const std::filesystem::path& file, bool& has_changed) {
  core::InputFile log;
  Header header{};
  has_changed = false;
  if (log.open(file) || !log.read_at(0, header.data(), header.size())) return std::nullopt;
  const std::uint32_t magic = word_at(header.data());
  const std::uint32_t page_bytes = word_at(header.data() + 8);
  RunningSum sum((magic & 1U) != 0);
  sum.add(header.data(), 24);
  const bool is_whole = (magic & ~1U) == kMagic && page_bytes >= 512 && page_bytes <= kMaxPageBytes &&
                        std::has_single_bit(page_bytes) && sum.is(header.data() + 24);
  std::optional<std::string> damage;
  if (!is_whole) {
    damage = "its header is damaged, so nothing in it is read";
  } else if (const Frames frames = count_frames(log, header, sum, page_bytes); frames.behind > 0) {
    damage = "frame " + std::to_string(frames.read + 1) + " is damaged, so it and " +
             counted(frames.behind, "later frame") + " are not read";
  }
  Header now{};
  has_changed = !log.read_at(0, now.data(), now.size()) || now != header;
  return damage;
}

}  // namespace

std::optional<std::string> log_damage(const std::filesystem::path& store) {
  std::optional<std::string> damage;
  bool has_changed = true;
  for (int i = 0; i < kTries && has_changed; ++i) damage = look(store.string() + "-wal", has_changed);
  return has_changed ? std::nullopt : damage;
}

}  // namespace nanobench::results

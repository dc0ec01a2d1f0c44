/// Token shards of the NanoGPT speedrun: 256 little-endian int32 `[20240520, 1, token count, 0 ...]`, then uint16
/// tokens.
///
/// A TokenShard is a read-only memory map (or a copy in memory). It is immutable, so threads may share it. Truncating a
/// mapped file kills its reader (SIGBUS): replace shards by renaming, as write_token_shard does, and never edit them in
/// place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/atomic_write.h"
#include "core/config/train_config.h"

namespace nanobench::core {

inline constexpr std::int32_t kShardMagic = 20240520;
inline constexpr std::int32_t kShardVersion = 1;
inline constexpr std::size_t kShardHeaderBytes = 256 * sizeof(std::int32_t);

/// One open shard.
class TokenShard {
 public:
  /// Maps `file`, or reads it into memory (kRead), or into memory that is locked against paging (kPinned; is_locked()
  /// is false if the system's limit of locked memory is too low). Checks its header against its size. Throws
  /// Error{kNotFound} (no such file), {kInvalidArgument} (a folder, wrong magic, wrong version), {kDataLoss} (shorter
  /// or longer than its header says, no tokens) or {kIo}.
  explicit TokenShard(const std::filesystem::path& file, ShardStorage storage = ShardStorage::kMapped);

  /// Valid as long as this shard or a copy of it exists; therefore not available on temporaries.
  std::span<const std::uint16_t> tokens() const& { return tokens_; }
  std::span<const std::uint16_t> tokens() && = delete;
  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  const std::filesystem::path& path() const { return path_; }
  bool is_locked() const { return is_locked_; }

  /// Lets the system take back the memory of tokens that were read from a mapped file; reading them again reads the
  /// file again. Does nothing for a copy in memory.
  void release_memory() const;

  /// Throws Error{kInvalidArgument} naming the first token >= vocab_size and its position. Reads the whole shard.
  void check_token_range(std::int64_t vocab_size) const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const void> mapping_;
  std::span<const std::uint16_t> tokens_;
  std::size_t mapped_bytes_ = 0;  ///< 0: a copy in memory
  bool is_locked_ = false;
};

/// Writes a shard piece by piece; it appears complete with finish(), or not at all. Throws Error{kIo}.
class TokenShardWriter {
 public:
  /// Throws Error{kInvalidArgument} for no tokens or more than 2^31 - 1.
  TokenShardWriter(const std::filesystem::path& file, std::size_t tokens);
  /// All pieces together must have the announced number of tokens.
  void add(std::span<const std::uint16_t> tokens);
  void finish();
  std::size_t tokens_left() const { return left_; }

 private:
  void flush();

  AtomicFile file_;
  std::size_t left_;
  std::vector<std::uint16_t> buffer_;  ///< pieces may be small
};

/// The shards of one split in reading order; loaders share them and never change them.
using ShardList = std::shared_ptr<const std::vector<TokenShard>>;

/// The files that `path` denotes: a file itself; the `*.bin` files of a folder; or, if the last component contains `*`,
/// the matching files of that folder. Sorted by name, which is the records' order. Throws Error{kNotFound} if there are
/// none.
std::vector<std::filesystem::path> expand_shards(const std::filesystem::path& path);

/// Opens all files. Throws as TokenShard does, and Error{kInvalidArgument} for an empty list.
ShardList open_shards(const std::vector<std::filesystem::path>& files, ShardStorage storage = ShardStorage::kMapped);

/// open_shards(expand_shards(path)).
ShardList open_shards(const std::filesystem::path& path);

/// Writes a shard, which appears complete or not at all. Throws Error{kIo}, or Error{kInvalidArgument} for no tokens or
/// more than 2^31 - 1.
void write_token_shard(const std::filesystem::path& file, std::span<const std::uint16_t> tokens);

/// Whether `name` matches `pattern`, in which `*` stands for any characters.
bool matches_pattern(const std::string& name, const std::string& pattern);

}  // namespace nanobench::core

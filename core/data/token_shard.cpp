#include "core/data/token_shard.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/input_file.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::core {
namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little, "shards are mapped as they are: little-endian");

namespace {

constexpr std::size_t kBufferedTokens = std::size_t{1} << 20;

using Header = std::array<std::int32_t, kShardHeaderBytes / sizeof(std::int32_t)>;

struct Mapping {
  std::shared_ptr<const void> data;
  std::size_t bytes = 0;
};

[[noreturn]] void fail(ErrorCode code, Reason reason, const fs::path& file, const std::string& message) {
  throw Refusal(code, reason, "token shard " + file.string() + " " + message, file.string());
}

[[noreturn]] void fail_to_map(const fs::path& file, int reason) {
  fail(ErrorCode::kIo, Reason::kSystem, file, std::string("cannot be read: ") + std::strerror(reason));
}

/// The whole file, read-only. A file shorter than a header is refused before it is mapped (an empty one cannot be).
Mapping map_file(const fs::path& file) {
  InputFile in;
  if (const auto problem = in.open(file)) {
    const bool is_missing = problem->trouble == InputTrouble::kMissing;
    fail_to_read(
        file.string(), *problem,
        is_missing ? "check the path, or make shards with `nanobench data prepare`" : "name the .bin file itself",
        "token shard");
  }
  const auto bytes = static_cast<std::size_t>(in.size());
  if (bytes < kShardHeaderBytes) {
    fail(ErrorCode::kDataLoss, Reason::kTruncated, file,
         "has " + std::to_string(bytes) + " bytes, less than the header's " + std::to_string(kShardHeaderBytes) +
             "; it is truncated or not a token shard");
  }
  void* address = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, in.descriptor(), 0);
  if (address == MAP_FAILED) fail_to_map(file, errno);
  return {std::shared_ptr<const void>(address, [bytes](const void* p) { ::munmap(const_cast<void*>(p), bytes); }),
          bytes};
}

/// A copy of a mapped file in memory of this process.
Mapping copy_of(const fs::path& file, const Mapping& mapping) {
  void* address = ::mmap(nullptr, mapping.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) fail_to_map(file, errno);
  std::memcpy(address, mapping.data.get(), mapping.bytes);
  const std::size_t bytes = mapping.bytes;
  return {std::shared_ptr<const void>(address, [bytes](const void* p) { ::munmap(const_cast<void*>(p), bytes); }),
          bytes};
}

/// Checks the header against the file's size and returns the number of tokens.
std::size_t checked_token_count(const fs::path& file, const Header& header, std::size_t file_bytes) {
  if (header[0] != kShardMagic) {
    fail(ErrorCode::kInvalidArgument, Reason::kOtherFormat, file,
         "begins with " + std::to_string(header[0]) + ", expected the magic number " + std::to_string(kShardMagic) +
             "; it is not a token shard (text is turned into shards by `nanobench data prepare`)");
  }
  if (header[1] != kShardVersion) {
    fail(ErrorCode::kInvalidArgument, Reason::kOtherVersion, file,
         "has version " + std::to_string(header[1]) + ", expected " + std::to_string(kShardVersion) +
             "; make it again with a current tool");
  }
  if (header[2] <= 0) {
    fail(ErrorCode::kDataLoss, Reason::kOutOfRange, file,
         "says it holds " + std::to_string(header[2]) + " tokens, expected at least 1; make it again");
  }
  const auto said = static_cast<std::size_t>(header[2]);
  const std::size_t token_bytes = file_bytes - kShardHeaderBytes;
  if (token_bytes < said * sizeof(std::uint16_t)) {
    fail(ErrorCode::kDataLoss, Reason::kTruncated, file,
         "is truncated: its header says " + std::to_string(said) + " tokens, the file holds " +
             std::to_string(token_bytes / sizeof(std::uint16_t)) + "; copy or make it again");
  }
  if (token_bytes > said * sizeof(std::uint16_t)) {
    fail(ErrorCode::kDataLoss, Reason::kUnusedBytes, file,
         "is longer than its header says: " + std::to_string(said) + " tokens need " +
             std::to_string(kShardHeaderBytes + said * sizeof(std::uint16_t)) + " bytes, the file has " +
             std::to_string(file_bytes) + "; copy or make it again");
  }
  return said;
}

std::vector<fs::path> matching_files(const fs::path& folder, const std::string& pattern) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with(".") && matches_pattern(name, pattern) && entry->is_regular_file(ignored))
      found.push_back(folder / name);
  }
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory) {
    throw Refusal(ErrorCode::kIo, Reason::kSystem, "cannot list the folder " + folder.string() + ": " + error.message(),
                  folder.string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

bool matches_pattern(const std::string& name, const std::string& pattern) {
  std::size_t n = 0, p = 0, star = std::string::npos, star_n = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_n = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string::npos) {
      p = star + 1;
      n = ++star_n;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string::npos;
}

TokenShard::TokenShard(const fs::path& file, ShardStorage storage) : path_(file) {
  Mapping mapping = map_file(file);
  if (storage != ShardStorage::kMapped) mapping = copy_of(file, mapping);
  if (storage == ShardStorage::kPinned) is_locked_ = ::mlock(mapping.data.get(), mapping.bytes) == 0;
  Header header;
  std::memcpy(header.data(), mapping.data.get(), kShardHeaderBytes);
  const std::size_t count = checked_token_count(file, header, mapping.bytes);
  const auto* bytes = static_cast<const std::byte*>(mapping.data.get());
  tokens_ = {reinterpret_cast<const std::uint16_t*>(bytes + kShardHeaderBytes), count};
  if (storage == ShardStorage::kMapped) mapped_bytes_ = mapping.bytes;
  mapping_ = std::move(mapping.data);
}

void TokenShard::release_memory() const {
  if (mapped_bytes_ > 0) ::madvise(const_cast<void*>(mapping_.get()), mapped_bytes_, MADV_DONTNEED);
}

void TokenShard::check_token_range(std::int64_t vocab_size) const {
  const auto bad =
      std::find_if(tokens_.begin(), tokens_.end(), [=](std::uint16_t token) { return token >= vocab_size; });
  if (bad == tokens_.end()) return;
  fail(ErrorCode::kInvalidArgument, Reason::kOutOfRange, path_,
       "holds token " + std::to_string(*bad) + " at position " + std::to_string(bad - tokens_.begin()) +
           ", expected tokens below the vocabulary size " + std::to_string(vocab_size) +
           "; use the data's own vocabulary size");
}

std::vector<fs::path> expand_shards(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return {path};
  const bool is_folder = fs::is_directory(path, error);
  const std::string last = path.filename().string();
  std::vector<fs::path> found;
  if (is_folder) {
    found = matching_files(path, "*.bin");
  } else if (last.find('*') != std::string::npos) {
    found = matching_files(path.parent_path(), last);
  }
  if (!found.empty()) return found;
  throw Refusal(ErrorCode::kNotFound, Reason::kMissingFile,
                is_folder
                    ? "the folder " + path.string() + " holds no token shards (*.bin)"
                    : "no token shard " + path.string() + "; name a .bin file, a folder of them, or a pattern with *",
                path.string());
}

ShardList open_shards(const std::vector<fs::path>& files, ShardStorage storage) {
  if (files.empty())
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kEmpty,
                  "no token shards were named, expected at least one .bin file");
  auto shards = std::make_shared<std::vector<TokenShard>>();
  shards->reserve(files.size());
  for (const fs::path& file : files) shards->emplace_back(file, storage);
  return shards;
}

ShardList open_shards(const fs::path& path) {
  return open_shards(expand_shards(path));
}

TokenShardWriter::TokenShardWriter(const fs::path& file, std::size_t tokens) : file_(file), left_(tokens) {
  if (tokens == 0 || tokens > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kOutOfRange,
                  "cannot write the token shard " + file.string() + " with " + std::to_string(tokens) +
                      " tokens, expected 1 to 2147483647; split the data over several shards",
                  file.string());
  }
  const Header header{kShardMagic, kShardVersion, static_cast<std::int32_t>(tokens)};
  file_.write({reinterpret_cast<const char*>(header.data()), kShardHeaderBytes});
}

void TokenShardWriter::add(std::span<const std::uint16_t> tokens) {
  NB_CHECK(tokens.size() <= left_, "more tokens than the shard's header says");
  left_ -= tokens.size();
  buffer_.insert(buffer_.end(), tokens.begin(), tokens.end());
  if (buffer_.size() >= kBufferedTokens) flush();
}

void TokenShardWriter::flush() {
  file_.write({reinterpret_cast<const char*>(buffer_.data()), buffer_.size() * sizeof(std::uint16_t)});
  buffer_.clear();
}

void TokenShardWriter::finish() {
  NB_CHECK(left_ == 0, "fewer tokens than the shard's header says");
  flush();
  file_.commit();
}

void write_token_shard(const fs::path& file, std::span<const std::uint16_t> tokens) {
  TokenShardWriter writer(file, tokens.size());
  writer.add(tokens);
  writer.finish();
}

}  // namespace nanobench::core

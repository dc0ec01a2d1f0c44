/// A data set: a folder with train and val shards and, if nanobench made it, a meta.json that describes them.
///
/// The digest identifies the contents: the tokens in reading order, regardless of the files' names and locations.
/// Thread-safe: no shared state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/atomic_write.h"
#include "core/base/json.h"
#include "core/data/token_shard.h"
#include "core/data/vocabulary.h"

namespace nanobench::core {

struct DataSet {
  std::string name;                          ///< display name: "synthetic", "text:tinyshakespeare", a folder's name
  std::vector<std::filesystem::path> train;  ///< absolute, in reading order, at least one
  std::vector<std::filesystem::path> val;    ///< absolute, in reading order, at least one
  std::optional<std::filesystem::path> vocabulary;  ///< absolute; the bytes of the tokens, if the folder has them
  std::int64_t vocab_size = 0;                      ///< exclusive upper bound of all tokens
  std::int64_t separator = 0;                       ///< the token that opens each document
  std::int64_t train_tokens = 0;
  std::int64_t val_tokens = 0;
  std::string digest;                ///< 32 hexadecimal digits
  std::optional<double> floor_nats;  ///< loss per token of the ideal predictor on all of val, if known
  Json meta;                         ///< meta.json, or null for a folder of foreign shards
};

/// Opens a folder that prepare_text or generate_corpus wrote, or any folder with speedrun shards named `*train*.bin`
/// and `*val*.bin`. For foreign shards, the vocabulary is assumed to be bytes (257, separator 256) if no token seen is
/// larger than 256, else GPT-2's (50257, separator 50256). A file `vocab` has the tokens' bytes. Every call digests the
/// contents: all of a shard up to 64 MiB, 64 evenly spaced MiB of a larger one, and the vocabulary of a foreign folder.
/// Throws Error{kNotFound} (no folder, no shards), {kInvalidArgument} (a bad
/// meta.json, a token outside the vocabulary), {kDataLoss} (contents differ from those in meta.json, or a broken
/// shard).
DataSet load_data_set(const std::filesystem::path& folder);

/// Digest of the tokens of both splits.
std::string digest_of_shards(const std::vector<TokenShard>& train, const std::vector<TokenShard>& val);

enum class DataSplit { kTrain, kVal };

/// What meta.json says about a data set beside its tokens.
struct DataSetFacts {
  std::string name;
  std::string kind;  ///< "synthetic" or "text"
  std::int64_t vocab_size = 0;
  std::int64_t separator = 0;
  Vocabulary vocabulary;  ///< bytes of the tokens, which `kind` and `vocab_size` determine
  std::optional<double> floor_nats;
  Json details = Json::object();  ///< source and known properties of the data
};

struct SplitSizes {
  std::size_t train = 0;
  std::size_t val = 0;
};

/// Writes a data set piece by piece: train_000000.bin ... (100,000,000 tokens each, like the records' shards),
/// val_000000.bin ... and meta.json into `folder`, which appears complete with finish() or not at all. A folder that
/// already holds the same data is left unchanged. Memory does not depend on the number of tokens. Throws
/// Error{kConflict} for a folder with any other contents, {kIo}.
class DataSetWriter {
 public:
  /// `tokens` of each split, at least one.
  DataSetWriter(const std::filesystem::path& folder, SplitSizes tokens);
  ~DataSetWriter();

  /// The next tokens of a split. Throws Error{kDataLoss} for more than announced.
  void add(DataSplit split, std::span<const std::uint16_t> tokens);
  /// Throws Error{kDataLoss} if tokens are missing.
  DataSet finish(const DataSetFacts& facts);

 private:
  class ShardSeries;
  std::filesystem::path folder_;
  StagedFolder staged_;
  std::unique_ptr<ShardSeries> train_, val_;
};

/// What write_data_set writes.
struct DataSetContents : DataSetFacts {
  std::vector<std::uint16_t> train;
  std::vector<std::uint16_t> val;
};

/// Writes a data set that is in memory, as DataSetWriter does. Throws also Error{kInvalidArgument} for a split without
/// tokens.
DataSet write_data_set(const DataSetContents& contents, const std::filesystem::path& folder);

/// Empirical entropy of single tokens, in nats: the loss of a model that knows only their frequencies. NaN without
/// tokens.
double unigram_entropy(std::span<const std::uint16_t> tokens);

/// Empirical entropy of a token given the one before it, in nats. NaN with fewer than two tokens.
double bigram_entropy(std::span<const std::uint16_t> tokens);

}  // namespace nanobench::core

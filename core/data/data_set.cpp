#include "core/data/data_set.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <system_error>
#include <unordered_map>

#include "core/base/digest.h"
#include "core/base/json.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::core {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFormat = "nanobench-data";
constexpr std::int64_t kFormatVersion = 1;
constexpr std::size_t kTokensPerShard = 100'000'000;        // records.md 1.1: as every shard of the speedrun
constexpr std::size_t kWholeShardTokens = (64u << 20) / 2;  // digested whole up to here
constexpr std::size_t kPieces = 64, kPieceTokens = (1u << 20) / 2;
constexpr std::int64_t kBytesVocab = 257, kGpt2Vocab = 50257;
constexpr std::int64_t kMaxSplitTokens = std::numeric_limits<std::int64_t>::max();

using Tokens = std::span<const std::uint16_t>;

/// The digested part of a shard: all of it, or evenly spaced pieces including both ends, so that official data (4 GB)
/// is identified in a second.
std::vector<Tokens> examined_pieces(const TokenShard& shard) {
  const Tokens all = shard.tokens();
  if (all.size() <= kWholeShardTokens) return {all};
  std::vector<Tokens> pieces;
  for (std::size_t i = 0; i < kPieces; ++i)
    pieces.push_back(all.subspan((all.size() - kPieceTokens) * i / (kPieces - 1), kPieceTokens));
  return pieces;
}

void digest_split(Digest& digest, const char* split, const std::vector<TokenShard>& shards) {
  const std::string name = std::string(split) + ":";
  digest.update(name.data(), name.size());
  for (const TokenShard& shard : shards) {
    const std::string size = std::to_string(shard.size()) + ":";
    digest.update(size.data(), size.size());
    for (const Tokens piece : examined_pieces(shard)) digest.update(piece.data(), piece.size_bytes());
    shard.release_memory();
  }
}

std::int64_t tokens_in(const std::vector<TokenShard>& shards) {
  std::int64_t total = 0;
  for (const TokenShard& shard : shards) total += shard.size();
  return total;
}

void check_examined_tokens(const std::vector<TokenShard>& shards, std::int64_t vocab_size) {
  for (const TokenShard& shard : shards) {
    for (const Tokens piece : examined_pieces(shard)) {
      if (*std::max_element(piece.begin(), piece.end()) >= vocab_size) shard.check_token_range(vocab_size);
    }
    shard.release_memory();
  }
}

std::vector<fs::path> shard_files(JsonObject& meta, const std::string& key, const fs::path& folder) {
  std::vector<fs::path> files;
  for (const std::string& name : meta.strings_or_empty(key)) {
    if (name.empty() || name != fs::path(name).filename() || name == "." || name == "..") {
      meta.fail(key, "is \"" + name + "\", expected the name of a file in this folder");
    }
    files.push_back(folder / name);
  }
  if (files.empty()) meta.fail(key, Reason::kEmpty, "names no shards, expected at least one");
  return files;
}

DataSet read_meta(const fs::path& folder) {
  const fs::path file = folder / "meta.json";
  DataSet data;
  data.meta = read_json_file(file);
  JsonObject meta(data.meta, file.string());
  if (const std::string format = meta.string("format"); format != kFormat) {
    meta.fail("format", Reason::kOtherFormat,
              "is \"" + format + "\", expected \"" + kFormat + "\"; this is not a data set of nanobench");
  }
  meta.integer("version", 1, kFormatVersion);
  meta.string("kind");
  data.name = meta.string("name");
  data.vocab_size = meta.integer("vocab_size", 1, 65536);
  data.separator = meta.integer("separator", 0, data.vocab_size - 1);
  data.digest = meta.string("digest");
  data.train = shard_files(meta, "train", folder);
  data.val = shard_files(meta, "val", folder);
  data.train_tokens = meta.integer("train_tokens", 1, kMaxSplitTokens);
  data.val_tokens = meta.integer("val_tokens", 1, kMaxSplitTokens);
  if (const Json* floor = meta.find("floor_nats"); floor != nullptr && !floor->is_null()) {
    data.floor_nats = meta.number("floor_nats", 0, 1e3);
  }
  meta.find("details");
  meta.finish();
  return data;
}

/// A folder of foreign shards: the vocabulary is derived from the tokens.
DataSet describe_foreign(const fs::path& folder) {
  DataSet data;
  data.name = folder.filename().string();
  data.train = expand_shards(folder / "*train*.bin");
  data.val = expand_shards(folder / "*val*.bin");
  return data;
}

void infer_vocabulary(DataSet& data, const std::vector<TokenShard>& train, const std::vector<TokenShard>& val) {
  std::int64_t largest = 0;
  for (const auto* shards : {&train, &val}) {
    for (const TokenShard& shard : *shards) {
      for (const Tokens piece : examined_pieces(shard)) {
        largest = std::max<std::int64_t>(largest, *std::max_element(piece.begin(), piece.end()));
      }
      shard.release_memory();
    }
  }
  data.vocab_size = largest < kBytesVocab ? kBytesVocab : kGpt2Vocab;
  data.separator = data.vocab_size - 1;
}

[[noreturn]] void fail_damaged(const fs::path& folder, Reason reason, const std::string& what) {
  throw Refusal(ErrorCode::kDataLoss, reason,
                "the data set " + folder.string() + " is damaged: " + what +
                    " are not those that its meta.json describes; make it again",
                folder.string());
}

/// The vocabulary is part of what a foreign folder holds. nanobench's own follow from what meta.json says.
std::string digest_with(const std::string& tokens, const fs::path& vocabulary) {
  return digest_of(tokens + " vocabulary:" + digest_of_file(vocabulary));
}

void check_vocabulary(const DataSet& data, const fs::path& folder) {
  const Json details = data.meta.value("details", Json::object());
  const bool is_described = details.is_object() && details.contains("vocabulary");
  if (!is_described && !data.vocabulary) return;
  const std::string found = data.vocabulary ? digest_of_file(*data.vocabulary) : "";
  if (!is_described || details.at("vocabulary") != found)
    fail_damaged(folder, Reason::kOtherVocabulary, "its vocabulary's bytes");
}

fs::path absolute_folder(const fs::path& folder) {
  const fs::path absolute = fs::absolute(folder).lexically_normal();
  return absolute.has_filename() ? absolute : absolute.parent_path();
}

double entropy_of_counts(const std::unordered_map<std::uint32_t, std::int64_t>& counts, std::int64_t total) {
  double nats = 0;
  for (const auto& [key, count] : counts) {
    const double p = static_cast<double>(count) / static_cast<double>(total);
    nats -= p * std::log(p);
  }
  return nats;
}

}  // namespace

std::string digest_of_shards(const std::vector<TokenShard>& train, const std::vector<TokenShard>& val) {
  Digest digest;
  digest_split(digest, "train", train);
  digest_split(digest, "val", val);
  return digest.hex();
}

DataSet load_data_set(const fs::path& named) {
  std::error_code error;
  const fs::path folder = absolute_folder(named);
  if (!fs::is_directory(folder, error)) {
    throw Refusal(
        ErrorCode::kNotFound, Reason::kMissingFile,
        "no data folder " + named.string() + "; make one with `nanobench data prepare`, or name a folder of shards",
        named.string());
  }
  const bool is_ours = fs::exists(folder / "meta.json", error);
  DataSet data = is_ours ? read_meta(folder) : describe_foreign(folder);
  if (fs::exists(folder / kVocabularyFile, error)) data.vocabulary = folder / kVocabularyFile;
  const ShardList train = open_shards(data.train);
  const ShardList val = open_shards(data.val);
  const std::string digest = digest_of_shards(*train, *val);
  if (is_ours) {
    if (tokens_in(*train) != data.train_tokens || tokens_in(*val) != data.val_tokens)
      fail_damaged(folder, Reason::kOtherSizes, "its shard sizes");
    if (digest != data.digest) fail_damaged(folder, Reason::kOtherContents, "its tokens");
    check_vocabulary(data, folder);
  } else {
    infer_vocabulary(data, *train, *val);
    data.digest = data.vocabulary ? digest_with(digest, *data.vocabulary) : digest;
    data.train_tokens = tokens_in(*train);
    data.val_tokens = tokens_in(*val);
  }
  check_examined_tokens(*train, data.vocab_size);
  check_examined_tokens(*val, data.vocab_size);
  return data;
}

/// The shards of one split, written one after the other.
class DataSetWriter::ShardSeries {
 public:
  ShardSeries(fs::path folder, std::string split, std::size_t tokens)
      : folder_(std::move(folder)), split_(std::move(split)), tokens_(tokens), left_(tokens) {}

  void add(Tokens tokens) {
    if (tokens.size() > left_) fail_changed();
    left_ -= tokens.size();
    while (!tokens.empty()) {
      if (!shard_) open();
      const Tokens piece = tokens.first(std::min(tokens.size(), shard_->tokens_left()));
      shard_->add(piece);
      tokens = tokens.subspan(piece.size());
      if (shard_->tokens_left() > 0) continue;
      shard_->finish();
      shard_.reset();
    }
  }
  void finish() const {
    if (left_ > 0) fail_changed();
  }
  const std::vector<std::string>& names() const { return names_; }
  std::size_t tokens() const { return tokens_; }

 private:
  void open() {
    std::string number = std::to_string(names_.size());
    number.insert(0, 6 - std::min<std::size_t>(number.size(), 6), '0');
    const std::size_t before = names_.size() * kTokensPerShard;
    names_.push_back(split_ + "_" + number + ".bin");
    shard_.emplace(folder_ / names_.back(), std::min(kTokensPerShard, tokens_ - before));
  }
  [[noreturn]] void fail_changed() const {
    throw Refusal(ErrorCode::kDataLoss, Reason::kChanged,
                  "the " + split_ + " split does not have the announced " + std::to_string(tokens_) +
                      " tokens: its source changed while it was read; wait until it is complete",
                  split_);
  }

  fs::path folder_;
  std::string split_;
  std::size_t tokens_, left_;
  std::vector<std::string> names_;
  std::optional<TokenShardWriter> shard_;
};

DataSetWriter::DataSetWriter(const fs::path& folder, SplitSizes tokens)
    : folder_(absolute_folder(folder)),
      staged_(folder_),
      train_(std::make_unique<ShardSeries>(staged_.path(), "train", tokens.train)),
      val_(std::make_unique<ShardSeries>(staged_.path(), "val", tokens.val)) {}

DataSetWriter::~DataSetWriter() = default;

void DataSetWriter::add(DataSplit split, std::span<const std::uint16_t> tokens) {
  (split == DataSplit::kTrain ? train_ : val_)->add(tokens);
}

DataSet DataSetWriter::finish(const DataSetFacts& facts) {
  train_->finish();
  val_->finish();
  const std::string digest =
      digest_of_shards(*open_shards(staged_.path() / "train*.bin"), *open_shards(staged_.path() / "val*.bin"));
  Json details = facts.details;
  if (!facts.vocabulary.empty()) {
    const std::string text = vocabulary_text(facts.vocabulary);
    write_file_atomically(staged_.path() / kVocabularyFile, text);
    details["vocabulary"] = digest_of(text);
  }
  const OrderedJson meta{{"format", kFormat},
                         {"version", kFormatVersion},
                         {"kind", facts.kind},
                         {"name", as_utf8(facts.name)},
                         {"vocab_size", facts.vocab_size},
                         {"separator", facts.separator},
                         {"digest", digest},
                         {"train", train_->names()},
                         {"val", val_->names()},
                         {"train_tokens", train_->tokens()},
                         {"val_tokens", val_->tokens()},
                         {"floor_nats", facts.floor_nats ? OrderedJson(*facts.floor_nats) : OrderedJson(nullptr)},
                         {"details", parse_ordered_json(safe_dump(details), "details")}};
  write_file_atomically(staged_.path() / "meta.json", meta.dump(2) + "\n");
  if (staged_.commit()) return load_data_set(folder_);
  std::string found = "other files";
  Reason reason = Reason::kForeignFiles;
  try {
    DataSet present = load_data_set(folder_);
    if (present.digest == digest) return present;
    found = "other data, \"" + present.name + "\"";
    reason = Reason::kOtherContents;
  } catch (const Error& error) {
    rethrow_internal(error);
    if (error.code() == ErrorCode::kIo) throw;
  }
  throw Refusal(ErrorCode::kConflict, reason,
                "the folder " + folder_.string() + " holds " + found +
                    ", expected a new or an empty folder; name another one or remove it",
                folder_.string());
}

DataSet write_data_set(const DataSetContents& contents, const fs::path& folder) {
  for (const auto& [split, tokens] : {std::pair("train", &contents.train), std::pair("val", &contents.val)}) {
    if (tokens->empty()) {
      throw Refusal(ErrorCode::kInvalidArgument, Reason::kEmpty,
                    std::string("the ") + split + " split of \"" + contents.name + "\" has no tokens; use more data",
                    split);
    }
  }
  DataSetWriter writer(folder, {.train = contents.train.size(), .val = contents.val.size()});
  writer.add(DataSplit::kTrain, contents.train);
  writer.add(DataSplit::kVal, contents.val);
  return writer.finish(contents);
}

double unigram_entropy(std::span<const std::uint16_t> tokens) {
  if (tokens.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::unordered_map<std::uint32_t, std::int64_t> counts;
  for (const std::uint16_t token : tokens) ++counts[token];
  return entropy_of_counts(counts, static_cast<std::int64_t>(tokens.size()));
}

double bigram_entropy(std::span<const std::uint16_t> tokens) {
  if (tokens.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  std::unordered_map<std::uint32_t, std::int64_t> pairs;
  for (std::size_t i = 1; i < tokens.size(); ++i) ++pairs[(std::uint32_t{tokens[i - 1]} << 16) | tokens[i]];
  return entropy_of_counts(pairs, static_cast<std::int64_t>(tokens.size()) - 1) -
         unigram_entropy(tokens.first(tokens.size() - 1));
}

}  // namespace nanobench::core

#include "core/data/data_cache.h"

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/digest.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/data/corpus_oracle.h"

namespace nanobench::core {

DataSet generate_corpus(const CorpusConfig& config, std::int64_t train_tokens, std::int64_t val_tokens,
                        const std::filesystem::path& folder) {
  constexpr std::int64_t kMax = 10'000'000'000;  // 20 GB of memory
  for (const auto& [name, tokens] : {std::pair("train", train_tokens), std::pair("val", val_tokens)}) {
    if (tokens < 2 || tokens > kMax) {
      throw Refusal(ErrorCode::kInvalidArgument, Reason::kOutOfRange,
                    std::string("generated corpus: ") + std::to_string(tokens) + " " + name +
                        " tokens asked for, expected 2 to " + std::to_string(kMax),
                    name);
    }
  }
  const CorpusModel model(config);
  DataSetContents contents;
  contents.name = "synthetic";
  contents.kind = "synthetic";
  contents.train = generate_tokens(model, CorpusStream::kTrain, train_tokens);
  contents.val = generate_tokens(model, CorpusStream::kVal, val_tokens);
  contents.vocab_size = config.vocab_size + 1;
  contents.separator = config.separator();
  contents.vocabulary = synthetic_vocabulary(config.vocab_size);
  contents.floor_nats = oracle_loss(model, contents.val);
  const EntropyRate rate = entropy_rate(model);
  contents.details = {{"corpus", to_json(config)},
                      {"entropy_rate",
                       {{"nats_per_token", rate.nats_per_token},
                        {"standard_error", rate.standard_error},
                        {"lower_bound", rate.lower_bound},
                        {"upper_bound", rate.upper_bound},
                        {"sampled_documents", rate.sampled_documents}}},
                      {"tokens_per_document", rate.tokens_per_document},
                      {"unigram_nats", unigram_entropy(contents.train)},
                      {"bigram_nats", bigram_entropy(contents.train)}};
  return write_data_set(contents, folder);
}

std::optional<double> validation_floor(const DataSet& data, std::int64_t targets) {
  if (!data.meta.is_object() || data.meta.value("kind", "") != "synthetic") return std::nullopt;
  if (targets < 1 || targets >= data.val_tokens) {
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kOutOfRange,
                  "the floor of " + std::to_string(targets) + " predictions was asked for, \"" + data.name +
                      "\" has val tokens for 1 to " + std::to_string(data.val_tokens - 1),
                  data.name);
  }
  const std::string source = (data.val.front().parent_path() / "meta.json").string();
  JsonObject meta(data.meta, source);
  JsonObject details = meta.object("details");
  const CorpusModel model(corpus_config_from_json(details.at("corpus"), source, "/details/corpus"));
  std::vector<std::uint16_t> tokens;
  for (const std::filesystem::path& file : data.val) {
    const TokenShard shard(file);
    const auto missing = static_cast<std::size_t>(targets) + 1 - tokens.size();
    const auto piece = shard.tokens().first(std::min(missing, shard.tokens().size()));
    tokens.insert(tokens.end(), piece.begin(), piece.end());
  }
  return oracle_loss(model, tokens);
}

namespace fs = std::filesystem;
namespace {

// Part of every request. Increase them when the same request would give other files, so that old entries are not
// found.
constexpr int kSyntheticVersion = 2;
constexpr int kTextVersion = 2;

/// Removes temporary folders of killed processes. A day is longer than any preparation.
void remove_leftovers(const fs::path& cache) {
  std::error_code error;
  for (fs::directory_iterator entry(cache, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    const auto written = fs::last_write_time(entry->path(), ignored);
    const bool is_old = !ignored && fs::file_time_type::clock::now() - written > std::chrono::hours(24);
    if (is_old && name.starts_with(".") && name.find(".tmp-") != std::string::npos)
      fs::remove_all(entry->path(), ignored);
  }
}

/// Renames it first, so that no other process reads a half-removed entry.
void remove_damaged(const fs::path& folder) {
  std::string name = ".";
  name += folder.filename().string() + ".tmp-damaged-" + std::to_string(::getpid());
  const fs::path aside = folder.parent_path() / name;
  std::error_code ignored;
  fs::rename(folder, aside, ignored);
  fs::remove_all(aside, ignored);
}

template <class Make>
DataSet ensure(const Json& request, const fs::path& cache, Make&& make) {
  const fs::path folder = cache / digest_of(safe_dump(request));
  std::error_code error;
  if (fs::exists(folder, error)) {
    try {
      return load_data_set(folder);
    } catch (const Error& damage) {
      rethrow_internal(damage);
      remove_damaged(folder);
    }
  }
  remove_leftovers(cache);
  return make(folder);
}

}  // namespace

DataSet ensure_synthetic(const CorpusConfig& config, std::int64_t train_tokens, std::int64_t val_tokens,
                         const fs::path& cache) {
  const Json request{{"synthetic", kSyntheticVersion},
                     {"corpus", to_json(config)},
                     {"train_tokens", train_tokens},
                     {"val_tokens", val_tokens}};
  return ensure(request, cache,
                [&](const fs::path& folder) { return generate_corpus(config, train_tokens, val_tokens, folder); });
}

DataSet ensure_text(const std::vector<fs::path>& files, DocumentRule rule, double val_fraction, const fs::path& cache) {
  Json sources = Json::array();
  for (const fs::path& file : files) {
    std::error_code error;
    // prepare_text reports a file that cannot be digested, in terms of texts.
    const bool is_file = fs::is_regular_file(file, error);
    sources.push_back({{"name", file.filename().string()}, {"digest", is_file ? digest_of_file(file) : ""}});
  }
  const Json request{
      {"text", kTextVersion}, {"sources", sources}, {"rule", enum_name(rule)}, {"val_fraction", val_fraction}};
  return ensure(request, cache,
                [&](const fs::path& folder) { return prepare_text(files, rule, val_fraction, folder); });
}

}  // namespace nanobench::core

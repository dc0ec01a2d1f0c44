#include "core/data/synthetic_corpus.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/data/corpus_oracle.h"

namespace nanobench::core {

DataSet generate_corpus(const CorpusConfig& config, std::int64_t train_tokens, std::int64_t val_tokens,
                        const std::filesystem::path& folder) {
  constexpr std::int64_t kMost = 10'000'000'000;  // 20 GB of memory
  for (const auto& [name, tokens] : {std::pair("train", train_tokens), std::pair("val", val_tokens)}) {
    if (tokens < 2 || tokens > kMost) {
      throw Error(ErrorCode::kInvalidArgument, std::string("generated corpus: ") + std::to_string(tokens) + " " + name +
                                                   " tokens asked for, expected 2 to " + std::to_string(kMost));
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
    throw Error(ErrorCode::kInvalidArgument, "the floor of " + std::to_string(targets) +
                                                 " predictions was asked for, \"" + data.name +
                                                 "\" has val tokens for 1 to " + std::to_string(data.val_tokens - 1));
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

}  // namespace nanobench::core

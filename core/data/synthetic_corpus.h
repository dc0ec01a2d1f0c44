/// The embedded default data: a generated corpus whose entropy is known (core/data/corpus_model.h says how it is
/// drawn).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/data/corpus_model.h"
#include "core/data/data_set.h"

namespace nanobench::core {

/// Generates both splits, from streams of their own, and writes them with their meta.json: the configuration, the
/// entropy rate with its error and bounds, the oracle's loss on val (the floor), unigram and bigram entropy. Throws
/// Error{kInvalidArgument} for token counts below 2, and as check(CorpusConfig) and write_data_set do.
DataSet generate_corpus(const CorpusConfig& config, std::int64_t train_tokens, std::int64_t val_tokens,
                        const std::filesystem::path& folder);

/// The oracle's mean loss on the first `targets` predictions of the val split, for a validation that reads no more than
/// those; nullopt when the data set was not generated. Throws Error{kInvalidArgument} if val is shorter.
std::optional<double> validation_floor(const DataSet& data, std::int64_t targets);

}  // namespace nanobench::core

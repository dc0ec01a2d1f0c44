/// The embedded default data, which core/data/corpus_model.h describes, and a cache of data sets. Each is stored in a
/// folder named after the digest of its request.
///
/// Several processes may use it at once: the first to finish wins, and the others use its folder. A damaged entry is
/// rebuilt.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/data/corpus_model.h"
#include "core/data/data_set.h"
#include "core/data/text_corpus.h"

namespace nanobench::core {

/// Generates both splits from separate streams and writes them with their meta.json: the configuration, the entropy
/// rate with its error and bounds, the oracle's loss on val (the floor), unigram and bigram entropy. Throws
/// Error{kInvalidArgument} for token counts below 2, and as check(CorpusConfig) and write_data_set do.
DataSet generate_corpus(const CorpusConfig& config, std::int64_t train_tokens, std::int64_t val_tokens,
                        const std::filesystem::path& folder);

/// The oracle's mean loss on the first `targets` predictions of the val split, for a validation that reads only those;
/// nullopt if the data set was not generated. Throws Error{kInvalidArgument} if val is shorter.
std::optional<double> validation_floor(const DataSet& data, std::int64_t targets);

/// The generated corpus with these sizes, taken from `cache` or created there. Throws as generate_corpus does.
DataSet ensure_synthetic(const CorpusConfig& config, std::int64_t train_tokens, std::int64_t val_tokens,
                         const std::filesystem::path& cache);

/// These texts as a data set. The request is identified by the files' contents and names, not by their folders. Throws
/// as prepare_text does.
DataSet ensure_text(const std::vector<std::filesystem::path>& files, DocumentRule rule, double val_fraction,
                    const std::filesystem::path& cache);

}  // namespace nanobench::core

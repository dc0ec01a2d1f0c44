/// Data sets that are made once and found again: each lies in a folder named after the digest of what was asked for.
///
/// Safe for several processes at once: whoever finishes first wins, the others use his. A damaged entry is made again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/data/corpus_model.h"
#include "core/data/data_set.h"
#include "core/data/text_corpus.h"

namespace nanobench::core {

/// The generated corpus with these sizes, from `cache` or newly made there. Throws as generate_corpus does.
DataSet ensure_synthetic(const CorpusConfig& config, std::int64_t train_tokens, std::int64_t val_tokens,
                         const std::filesystem::path& cache);

/// These texts as data. The request is identified by the files' contents and names, not by where they lie. Throws as
/// prepare_text does.
DataSet ensure_text(const std::vector<std::filesystem::path>& files, DocumentRule rule, double val_fraction,
                    const std::filesystem::path& cache);

}  // namespace nanobench::core

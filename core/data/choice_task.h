/// Multiple choice as an evaluation of language models: a context and several endings, of which one is right.
///
/// A file of items has llm.c's format of evaluations, little-endian: 256 int32 `[20240522, 1, items, bytes of the
/// longest item, 0 ...]`, then for each item uint16 numbers: 65535, bytes of the item, its number, the right ending,
/// the number of endings, the number of tokens of the context and these tokens, then for each ending likewise.
/// Thread-safe: no shared state. Source of the format: llm.c, dev/data/data_common.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nanobench::core {

inline constexpr std::int32_t kChoiceMagic = 20240522;
inline constexpr std::int32_t kChoiceVersion = 1;
inline constexpr std::size_t kMinEndings = 2;
inline constexpr std::size_t kMaxEndings = 16;

struct ChoiceItem {
  std::uint16_t number = 0;  ///< in the collection that it is from
  std::size_t right = 0;     ///< index of the right ending
  std::vector<std::uint16_t> context;
  std::vector<std::vector<std::uint16_t>> endings;  ///< each with at least one token

  bool operator==(const ChoiceItem&) const = default;
};

struct ChoiceTask {
  std::vector<ChoiceItem> items;
  /// Expected accuracy of the best possible answers to these items, where the process behind them is known.
  std::optional<double> best_accuracy;
};

/// Expected accuracy of guesses: the mean of one over the number of endings. NaN without items.
double chance_accuracy(const ChoiceTask& task);

/// The bytes of a file with these items. Throws Error{kInvalidArgument} for an item that the format cannot hold: 65535
/// as a token, more than 65,535 bytes, no ending that is right.
std::string choice_task_bytes(const ChoiceTask& task);

/// Identity of the items: digest of choice_task_bytes.
std::string digest_of(const ChoiceTask& task);

/// Reads a file of items; the numbers may repeat or leave gaps. Throws Error{kNotFound}, {kInvalidArgument} (another
/// kind of file, version or number of endings) and {kDataLoss} (cut or contradicting itself) with the file and the
/// item.
ChoiceTask read_choice_task(const std::filesystem::path& file);

/// Whether the file begins as a file of items does; false if it cannot be read.
bool is_choice_file(const std::filesystem::path& file);

/// Throws Error{kInvalidArgument} naming `source` and the first item with a token that the vocabulary lacks.
void check_tokens(const ChoiceTask& task, std::int64_t vocab_size, const std::string& source);

/// Throws Error{kInvalidArgument} naming `source` and the first item with an ending of more than `most` tokens.
void check_endings(const ChoiceTask& task, std::int64_t most, const std::string& source);

}  // namespace nanobench::core

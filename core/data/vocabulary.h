/// The bytes of a vocabulary's tokens, and which tokens begin with others. Thread-safe: no shared state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace nanobench::core {

/// Its name in the folder of a data set.
inline constexpr const char* kVocabularyFile = "vocab";

/// Bytes of tokens 0, 1, ...; "" for a token without, such as a separator.
using Vocabulary = std::vector<std::string>;

/// Reads a file with a line for each token: its bytes in base64, a space, its number. This is the format of tiktoken's
/// encodings; r50k_base.tiktoken is GPT-2's vocabulary. Tokens without a line have no bytes. Throws Error{kNotFound},
/// Error{kInvalidArgument} with file and line: a token of 65,536 or above, a token or its bytes twice, a line of
/// another form.
Vocabulary read_vocabulary(const std::filesystem::path& file);

/// The text of such a file.
std::string vocabulary_text(const Vocabulary& vocabulary);

/// For each token the longest token that its bytes begin with, other than itself; -1: there is none.
std::vector<std::int32_t> longest_prefixes(const Vocabulary& vocabulary);

/// The vocabulary of the generated corpus: word w is written with the letters a to p as digits of base 16, so that its
/// longest prefix is word w / 16. REQUIRES words >= 1.
Vocabulary synthetic_vocabulary(std::int64_t words);

/// The vocabulary of text: each byte is a token, and none begins with another.
Vocabulary byte_vocabulary();

}  // namespace nanobench::core

/// GPT-2's tokens of a text: bytes, joined pair by pair, within the pieces that a regular expression cuts. Source: the
/// GPT-2 paper (Radford et al. 2019) and the files vocab.bpe and encoder.json that were published with the model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace nanobench::core {

/// The pieces that are tokenised one by one, as
/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+` finds them; together they are the text.
/// A byte that is not UTF-8 counts as a character that is no letter, number or space. Thread-safe.
std::vector<std::string_view> gpt2_pieces(std::string_view text);

/// Not thread-safe: it remembers pieces.
class BytePairEncoder {
 public:
  /// Reads the files `vocab.bpe` (a pair a line, the first to be joined first) and `encoder.json` (the number of each
  /// token) in `folder`. Throws Error{kNotFound}, and Error{kInvalidArgument} with file and line: a line of another
  /// form, a pair twice, a byte or a pair without a token, a number above 65,534.
  explicit BytePairEncoder(const std::filesystem::path& folder);

  std::vector<std::uint16_t> encode(std::string_view text);
  std::size_t size() const { return tokens_.size(); }

 private:
  void read_tokens(const std::filesystem::path& file);
  void read_pairs(const std::filesystem::path& file);
  const std::vector<std::uint16_t>& encode_piece(std::string_view piece);

  std::map<std::string, std::uint16_t, std::less<>> tokens_;            ///< by bytes
  std::map<std::pair<std::string, std::string>, std::size_t> ranks_;    ///< of pairs, in bytes
  std::unordered_map<std::string, std::vector<std::uint16_t>> pieces_;  ///< tokenised before
};

}  // namespace nanobench::core

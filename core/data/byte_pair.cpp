#include "core/data/byte_pair.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>

#include "core/base/input_file.h"
#include "core/base/json.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::core {
namespace fs = std::filesystem;
namespace {

struct CodeRange {
  char32_t first;
  char32_t last;
};

#include "core/base/text.h"
#include "core/data/unicode_classes.inl"

constexpr InputLimit kPairsLimit{std::uint64_t{64} << 20, "GPT-2's vocab.bpe has half a megabyte"};
constexpr std::int64_t kMaxToken = 65534;  // 65535 marks an item
constexpr char32_t kNoCharacter = 0xffffffff;
constexpr std::size_t kMaxRemembered = std::size_t{1} << 18;  // pieces

bool is_in(std::span<const CodeRange> ranges, char32_t code) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), code,
                                      [](char32_t value, const CodeRange& range) { return value < range.first; });
  return after != ranges.begin() && code <= std::prev(after)->last;
}

/// Unicode's White_Space.
bool is_white_space(char32_t code) {
  return (code >= 9 && code <= 13) || code == ' ' || code == 0x85 || code == 0xa0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f ||
         code == 0x3000;
}

enum class CharacterClass { kLetter, kNumber, kSpace, kOther };

CharacterClass class_of(char32_t code) {
  if (is_white_space(code)) return CharacterClass::kSpace;
  if (is_in(kLetters, code)) return CharacterClass::kLetter;
  return is_in(kNumbers, code) ? CharacterClass::kNumber : CharacterClass::kOther;
}

struct Character {
  char32_t code = kNoCharacter;
  std::size_t bytes = 1;
};

/// The character at the beginning of a text that is not empty.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {.code = byte(0), .bytes = 1};
  const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return {};
  char32_t code = byte(0) & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const char32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {.code = code, .bytes = length};
}

CharacterClass first_class(std::string_view text) {
  return class_of(first_character(text).code);
}

/// Bytes of the longest beginning whose characters are all of this class.
std::size_t run_length(std::string_view text, CharacterClass kind) {
  std::size_t at = 0;
  while (at < text.size() && first_class(text.substr(at)) == kind) at += first_character(text.substr(at)).bytes;
  return at;
}

/// Bytes of white space at the beginning, without the last character where text follows: that belongs to what follows,
/// unless it is the only one.
std::size_t space_length(std::string_view text) {
  const std::size_t whole = run_length(text, CharacterClass::kSpace);
  if (whole == text.size()) return whole;
  std::size_t last = 0;
  for (std::size_t at = 0; at < whole; at += first_character(text.substr(at)).bytes) last = at;
  return last > 0 ? last : whole;
}

std::size_t piece_length(std::string_view text) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.starts_with(ending)) return ending.size();
  const std::size_t space = text.starts_with(' ') && text.size() > 1 ? 1 : 0;
  const std::string_view word = text.substr(space);
  const CharacterClass kind = first_class(word);
  return kind == CharacterClass::kSpace ? space_length(text) : space + run_length(word, kind);
}

/// encoder.json and vocab.bpe write each byte as a character that can be seen: itself, or from U+0100 on in the order
/// of the bytes that cannot.
std::map<char32_t, char> bytes_by_sign() {
  std::map<char32_t, char> bytes;
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_seen = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    bytes[is_seen ? static_cast<char32_t>(byte) : next++] = static_cast<char>(byte);
  }
  return bytes;
}

/// The bytes that the signs stand for; nullopt: one of them stands for none.
std::optional<std::string> bytes_of_signs(std::string_view signs) {
  static const std::map<char32_t, char> bytes = bytes_by_sign();
  std::string result;
  for (std::size_t at = 0; at < signs.size();) {
    const Character character = first_character(signs.substr(at));
    const auto byte = bytes.find(character.code);
    if (byte == bytes.end()) return std::nullopt;
    result.push_back(byte->second);
    at += character.bytes;
  }
  return result;
}

/// The subject is the file.
[[noreturn]] void fail_in(const fs::path& file, Reason reason, const std::string& what) {
  throw Refusal(ErrorCode::kInvalidArgument, reason, file.string() + ": " + what, file.string());
}

[[noreturn]] void fail_in_line(const fs::path& file, std::size_t line, Reason reason, const std::string& what) {
  fail_in(file, reason, "line " + std::to_string(line) + " " + what);
}

}  // namespace

std::vector<std::string_view> gpt2_pieces(std::string_view text) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    pieces.push_back(text.substr(0, piece_length(text)));
    text.remove_prefix(pieces.back().size());
  }
  return pieces;
}

BytePairEncoder::BytePairEncoder(const fs::path& folder) {
  read_tokens(folder / "encoder.json");
  read_pairs(folder / "vocab.bpe");
}

void BytePairEncoder::read_tokens(const fs::path& file) {
  const Json json = read_json_file(file);
  if (!json.is_object()) fail_in(file, Reason::kWrongType, "expected an object with the number of each token");
  std::map<std::int64_t, std::string> signs_of;
  for (const auto& [signs, value] : json.items()) {
    const auto number = integer_of<std::int64_t>(value);
    if (!number || *number < 0 || *number > kMaxToken)
      fail_in(file, Reason::kOutOfRange,
              "token \"" + signs + "\" has the number " + safe_dump(value) + ", expected 0 to " +
                  std::to_string(kMaxToken));
    const auto [first, is_new] = signs_of.emplace(*number, signs);
    if (!is_new)
      fail_in(file, Reason::kSameValue, "tokens \"" + first->second + "\" and \"" + signs + "\" have the same number");
    if (const std::optional<std::string> bytes = bytes_of_signs(signs); bytes && !bytes->empty())
      tokens_.emplace(*bytes, static_cast<std::uint16_t>(*number));
  }
  for (int byte = 0; byte < 256; ++byte)
    if (!tokens_.contains(std::string(1, static_cast<char>(byte))))
      fail_in(file, Reason::kIncomplete,
              "has no token for the byte " + std::to_string(byte) + "; it is no byte-level vocabulary");
}

void BytePairEncoder::read_pairs(const fs::path& file) {
  const std::string text = read_input(file, kPairsLimit);
  std::size_t line_number = 0;
  for (std::string_view line : split_lines(text)) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (++line_number == 1 && line.starts_with("#version")) continue;
    if (line.empty()) continue;
    const std::size_t space = line.find(' ');
    const auto left = bytes_of_signs(line.substr(0, std::min(space, line.size())));
    const auto right = space == std::string_view::npos ? std::nullopt : bytes_of_signs(line.substr(space + 1));
    if (!left || !right || left->empty() || right->empty())
      fail_in_line(file, line_number, Reason::kMalformed, "is not a pair of tokens with a space between them");
    if (!tokens_.contains(*left + *right))
      fail_in_line(file, line_number, Reason::kUnknownName, "makes a token that encoder.json lacks");
    if (!ranks_.emplace(std::pair(*left, *right), ranks_.size()).second)
      fail_in_line(file, line_number, Reason::kRepeated, "has a pair again");
  }
}

/// Joins the pair that comes first in the list wherever it occurs, until no pair of the list is left.
const std::vector<std::uint16_t>& BytePairEncoder::encode_piece(std::string_view piece) {
  const std::string key(piece);
  if (const auto known = pieces_.find(key); known != pieces_.end()) return known->second;
  if (pieces_.size() >= kMaxRemembered) pieces_.clear();
  std::vector<std::string> parts;
  for (const char byte : piece) parts.emplace_back(1, byte);
  while (parts.size() > 1) {
    auto best = ranks_.end();
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto rank = ranks_.find({parts[i], parts[i + 1]});
      if (rank != ranks_.end() && (best == ranks_.end() || rank->second < best->second)) best = rank;
    }
    if (best == ranks_.end()) break;
    std::vector<std::string> joined;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool is_pair = i + 1 < parts.size() && parts[i] == best->first.first && parts[i + 1] == best->first.second;
      joined.push_back(is_pair ? parts[i] + parts[i + 1] : parts[i]);
      if (is_pair) ++i;
    }
    parts = std::move(joined);
  }
  std::vector<std::uint16_t>& tokens = pieces_[key];
  for (const std::string& part : parts) tokens.push_back(tokens_.find(part)->second);
  return tokens;
}

std::vector<std::uint16_t> BytePairEncoder::encode(std::string_view text) {
  std::vector<std::uint16_t> tokens;
  for (const std::string_view piece : gpt2_pieces(text)) {
    const std::vector<std::uint16_t>& part = encode_piece(piece);
    tokens.insert(tokens.end(), part.begin(), part.end());
  }
  return tokens;
}

}  // namespace nanobench::core

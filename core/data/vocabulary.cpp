#include "core/data/vocabulary.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "core/base/base64.h"
#include "core/base/input_file.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"

namespace nanobench::core {
namespace {

constexpr InputLimit kVocabularyLimit{std::uint64_t{64} << 20, "65,536 tokens have about a megabyte"};
constexpr std::size_t kMaxTokens = 65536;  // of shards

/// About a line of the file: the subject is its number, counted from 1.
[[noreturn]] void fail(const std::filesystem::path& file, std::size_t line, Reason reason, const std::string& what) {
  const std::string number = std::to_string(line);
  throw Refusal(ErrorCode::kInvalidArgument, reason, file.string() + ": line " + number + " " + what, number);
}

struct Entry {
  std::string bytes;
  std::size_t token = 0;
};

std::optional<Entry> entry_of(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view number = line.substr(space + 1);
  Entry entry;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), entry.token);
  std::optional<std::string> bytes = from_base64(line.substr(0, space));
  if (error != std::errc() || end != number.data() + number.size() || !bytes || bytes->empty()) return std::nullopt;
  entry.bytes = std::move(*bytes);
  return entry;
}

/// Tokens with bytes, in the order of their bytes; of equal ones, the lower token first.
std::vector<std::size_t> in_order_of_bytes(const Vocabulary& vocabulary) {
  std::vector<std::size_t> tokens;
  for (std::size_t token = 0; token < vocabulary.size(); ++token)
    if (!vocabulary[token].empty()) tokens.push_back(token);
  std::stable_sort(tokens.begin(), tokens.end(),
                   [&](std::size_t a, std::size_t b) { return vocabulary[a] < vocabulary[b]; });
  return tokens;
}

void require_distinct(const Vocabulary& vocabulary, const std::filesystem::path& file) {
  const std::vector<std::size_t> tokens = in_order_of_bytes(vocabulary);
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    if (vocabulary[tokens[i - 1]] != vocabulary[tokens[i]]) continue;
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kSameValue,
                  file.string() + ": tokens " + std::to_string(tokens[i - 1]) + " and " + std::to_string(tokens[i]) +
                      " have the same bytes",
                  std::to_string(tokens[i]));
  }
}

}  // namespace

Vocabulary read_vocabulary(const std::filesystem::path& file) {
  const std::string text = read_input(file, kVocabularyLimit);
  Vocabulary vocabulary;
  std::size_t number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    std::optional<Entry> entry = entry_of(line);
    if (!entry) fail(file, number, Reason::kMalformed, "is not a token's bytes in base64, a space and its number");
    if (entry->token >= kMaxTokens)
      fail(file, number, Reason::kOutOfRange, "has token " + std::to_string(entry->token) + ", expected at most 65535");
    vocabulary.resize(std::max(vocabulary.size(), entry->token + 1));
    if (!vocabulary[entry->token].empty())
      fail(file, number, Reason::kRepeated, "has token " + std::to_string(entry->token) + " again");
    vocabulary[entry->token] = std::move(entry->bytes);
  }
  if (vocabulary.empty())
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kEmpty, file.string() + ": has no tokens", file.string());
  require_distinct(vocabulary, file);
  return vocabulary;
}

std::string vocabulary_text(const Vocabulary& vocabulary) {
  std::string text;
  for (std::size_t token = 0; token < vocabulary.size(); ++token)
    if (!vocabulary[token].empty()) text += to_base64(vocabulary[token]) + " " + std::to_string(token) + "\n";
  return text;
}

std::vector<std::int32_t> longest_prefixes(const Vocabulary& vocabulary) {
  std::vector<std::int32_t> prefixes(vocabulary.size(), -1);
  std::vector<std::size_t> begun;  // each begins with the one before it
  for (const std::size_t token : in_order_of_bytes(vocabulary)) {
    while (!begun.empty() && !vocabulary[token].starts_with(vocabulary[begun.back()])) begun.pop_back();
    if (!begun.empty()) prefixes[token] = static_cast<std::int32_t>(begun.back());
    begun.push_back(token);
  }
  return prefixes;
}

Vocabulary synthetic_vocabulary(std::int64_t words) {
  Vocabulary vocabulary(static_cast<std::size_t>(words));
  for (std::size_t word = 0; word < vocabulary.size(); ++word) {
    std::string& letters = vocabulary[word];
    for (std::size_t rest = word; letters.empty() || rest > 0; rest /= 16)
      letters.insert(letters.begin(), static_cast<char>('a' + rest % 16));
  }
  return vocabulary;
}

Vocabulary byte_vocabulary() {
  Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) vocabulary.emplace_back(1, static_cast<char>(byte));
  return vocabulary;
}

}  // namespace nanobench::core

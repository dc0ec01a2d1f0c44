#include "core/data/byte_pair.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/base/json.h"
#include "core/base/random.h"
#include "core/data/choice_lines.h"
#include "tests/core/data/data_test_support.h"

namespace nanobench::core {
namespace {
using testing::error_of;
using testing::TestFolder;
using testing::write_bytes;

/// The characters by which the published files write bytes, from a table of GPT-2's rule: those that can be seen stand
/// for themselves, the others for U+0100 and on.
std::string sign_of(unsigned char byte) {
  const auto utf8 = [](unsigned code) {
    if (code < 0x80) return std::string(1, static_cast<char>(code));
    return std::string{static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
  };
  const auto is_seen = [](unsigned code) {
    return ('!' <= code && code <= '~') || (0xa1 <= code && code <= 0xac) || (0xae <= code && code <= 0xff);
  };
  if (is_seen(byte)) return utf8(byte);
  unsigned before = 0;
  for (unsigned code = 0; code < byte; ++code) before += is_seen(code) ? 0 : 1;
  return utf8(0x100 + before);
}

std::string signs_of(const std::string& bytes) {
  std::string signs;
  for (const char byte : bytes) signs += sign_of(static_cast<unsigned char>(byte));
  return signs;
}

/// A vocabulary learnt from a text in the ordinary way: the most frequent pair is joined, again and again.
class LearntVocabulary {
 public:
  using Parts = std::vector<std::string>;
  using Pair = std::pair<std::string, std::string>;

  LearntVocabulary(const std::string& text, int pairs) {
    std::vector<Parts> words;
    for (const std::string_view piece : gpt2_pieces(text)) words.push_back(bytes_of_piece(piece));
    for (int i = 0; i < pairs; ++i) {
      std::map<Pair, int> counts;
      for (const Parts& word : words)
        for (std::size_t at = 0; at + 1 < word.size(); ++at) ++counts[{word[at], word[at + 1]}];
      const auto most = std::max_element(counts.begin(), counts.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      pairs_.push_back(most->first);
      for (Parts& word : words) join(word, most->first);
    }
    for (int byte = 0; byte < 256; ++byte) number_[std::string(1, static_cast<char>(byte))] = 255 - byte;
    for (const Pair& pair : pairs_) number_.emplace(pair.first + pair.second, static_cast<int>(number_.size()));
  }

  void write(const TestFolder& folder) const {
    std::string lines = "#version: 0.2\n";
    for (const auto& [left, right] : pairs_) lines += signs_of(left) + " " + signs_of(right) + "\n";
    write_bytes(folder / "vocab.bpe", lines);
    Json json = Json::object();
    for (const auto& [bytes, number] : number_) json[signs_of(bytes)] = number;
    json["<|endoftext|>"] = number_.size();
    write_bytes(folder / "encoder.json", json.dump());
  }

  /// Another way to the same tokens: the pairs are joined in the order in which they were learnt.
  std::vector<std::uint16_t> encode(std::string_view text) const {
    std::vector<std::uint16_t> tokens;
    for (const std::string_view piece : gpt2_pieces(text)) {
      Parts word = bytes_of_piece(piece);
      for (const Pair& pair : pairs_) join(word, pair);
      for (const std::string& part : word) tokens.push_back(static_cast<std::uint16_t>(number_.at(part)));
    }
    return tokens;
  }

 private:
  static Parts bytes_of_piece(std::string_view piece) {
    Parts parts;
    for (const char byte : piece) parts.emplace_back(1, byte);
    return parts;
  }

  static void join(Parts& word, const Pair& pair) {
    for (std::size_t at = 0; at + 1 < word.size(); ++at) {
      if (word[at] != pair.first || word[at + 1] != pair.second) continue;
      word[at] += word[at + 1];
      word.erase(word.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
  }

  std::vector<Pair> pairs_;
  std::map<std::string, int> number_;
};

const std::string kText =
    "A man is sitting on a roof. he is using wrap to wrap a pair of skis. he's ripping level tiles off; they've been "
    "there since 1999. The roof's tiles aren't level, and he'll start pulling up roofing on a roof. naïve café, "
    "Größe, 東京タワー, ١٢٣ and \xf0\x9f\x8f\x82.";

TEST(BytePairEncoder, FindsTheTokensThatJoiningInOrderFinds) {
  const TestFolder folder;
  const LearntVocabulary vocabulary(kText, 90);
  vocabulary.write(folder);
  BytePairEncoder encoder(folder.path());
  EXPECT_EQ(encoder.size(), 256U + 90U + 1U);
  EXPECT_EQ(encoder.encode(kText), vocabulary.encode(kText));
  EXPECT_LT(encoder.encode(kText).size(), kText.size() / 2);
  SplitMix64 random(1);
  for (int i = 0; i < 300; ++i) {
    const std::size_t begin = random.below(kText.size()), count = random.below(40);
    const std::string part = kText.substr(begin, count) + kText.substr(random.below(kText.size()), count / 2);
    EXPECT_EQ(encoder.encode(part), vocabulary.encode(part)) << part;
  }
  EXPECT_TRUE(encoder.encode("").empty());
}

/// What Python's package regex finds with GPT-2's expression.
TEST(Gpt2Pieces, AreThoseOfTheRegularExpression) {
  using Pieces = std::vector<std::string_view>;
  EXPECT_EQ(gpt2_pieces("he's  they'll I'D a'b"),
            (Pieces{"he", "'s", " ", " they", "'ll", " I", "'", "D", " a", "'", "b"}));
  EXPECT_EQ(gpt2_pieces("x  y\n\n z \t"), (Pieces{"x", " ", " y", "\n\n", " z", " \t"}));
  EXPECT_EQ(gpt2_pieces("a1b2 345 ½Ⅷ²"), (Pieces{"a", "1", "b", "2", " 345", " ½Ⅷ²"}));
  EXPECT_EQ(gpt2_pieces("...!? (a) -- $5.00"), (Pieces{"...!?", " (", "a", ")", " --", " $", "5", ".", "00"}));
  EXPECT_EQ(gpt2_pieces("東京 タワー　x\u00a0y"), (Pieces{"東京", " タワー", "　", "x", "\u00a0", "y"}));
  EXPECT_EQ(gpt2_pieces("é e\u0301 \u2028z"), (Pieces{"é", " e", "\u0301", " ", "\u2028", "z"}));
  EXPECT_EQ(gpt2_pieces("\xff\xfe z"), (Pieces{"\xff\xfe", " z"}));
  EXPECT_EQ(gpt2_pieces("   "), (Pieces{"   "}));
  EXPECT_TRUE(gpt2_pieces("").empty());
}

TEST(Gpt2Pieces, LoseNoByteOfAnyText) {
  SplitMix64 random(2);
  for (int i = 0; i < 500; ++i) {
    std::string text;
    for (std::size_t at = random.below(30); at > 0; --at) text.push_back(static_cast<char>(random.below(256)));
    std::string joined;
    for (const std::string_view piece : gpt2_pieces(text)) {
      EXPECT_FALSE(piece.empty());
      joined += piece;
    }
    EXPECT_EQ(joined, text);
  }
}

class VocabularyFiles : public ::testing::Test {
 protected:
  VocabularyFiles() { LearntVocabulary(kText, 5).write(folder_); }
  void refused(const std::string& file, Reason reason, const std::vector<std::string>& data = {}) {
    const Refused found = error_of(ErrorCode::kInvalidArgument, [&] { BytePairEncoder(folder_.path()); });
    EXPECT_REFUSED(found, reason, (folder_ / file).string());
    EXPECT_PRED2(testing::names_all, found, data);
  }
  TestFolder folder_;
};

TEST_F(VocabularyFiles, SayWhatIsWrongWithThem) {
  const std::string pairs = testing::read_bytes(folder_ / "vocab.bpe");
  write_bytes(folder_ / "vocab.bpe", pairs + "alone\n");
  refused("vocab.bpe", Reason::kMalformed, {" 7 "});
  write_bytes(folder_ / "vocab.bpe", pairs + "a b\n");
  refused("vocab.bpe", Reason::kUnknownName, {" 7 ", "encoder.json"});
  write_bytes(folder_ / "vocab.bpe", pairs + pairs.substr(pairs.find('\n') + 1));
  refused("vocab.bpe", Reason::kRepeated, {" 7 "});
  Json json = parse_json(testing::read_bytes(folder_ / "encoder.json"), "encoder");
  Json other = json;
  other.erase("a");
  write_bytes(folder_ / "encoder.json", other.dump());
  refused("encoder.json", Reason::kIncomplete, {" 97;"});
  other = json;
  other["a"] = 65535;
  write_bytes(folder_ / "encoder.json", other.dump());
  refused("encoder.json", Reason::kOutOfRange, {" 65535,"});
  other["a"] = json.at("b");
  write_bytes(folder_ / "encoder.json", other.dump());
  refused("encoder.json", Reason::kSameValue, {"\"a\"", "\"b\""});
  write_bytes(folder_ / "encoder.json", "[]");
  refused("encoder.json", Reason::kWrongType);
  std::filesystem::remove(folder_ / "encoder.json");
  error_of(ErrorCode::kNotFound, [&] { BytePairEncoder(folder_.path()); });
}

// --- HellaSwag's lines ---

class ChoiceLines : public VocabularyFiles {
 protected:
  ChoiceTask read(const std::string& lines, std::size_t most = 0) {
    write_bytes(folder_ / "val.jsonl", lines);
    BytePairEncoder encoder(folder_.path());
    return read_choice_lines(folder_ / "val.jsonl", encoder, most);
  }
  void refused_lines(const std::string& lines, Reason reason, const std::string& subject,
                     const std::vector<std::string>& data = {}) {
    const Refused found = error_of(ErrorCode::kInvalidArgument, [&] { read(lines); });
    EXPECT_REFUSED(found, reason, subject);
    EXPECT_PRED2(testing::names_all, found, data);
  }
  static constexpr const char* kLine =
      R"({"ind": 24, "ctx": "A man is sitting on a roof. he", "label": 3, "endings": ["a", "is b", "c", "off"]})";
};

TEST_F(ChoiceLines, BecomeTokensWithASpaceBeforeEachEnding) {
  const ChoiceTask task = read(std::string("\n") + kLine + "\r\n\n" + R"({"ctx":"x","label":"1","endings":["y","z"]})");
  ASSERT_EQ(task.items.size(), 2U);
  const LearntVocabulary vocabulary(kText, 5);
  EXPECT_EQ(task.items[0].number, 1) << "the second line";
  EXPECT_EQ(task.items[0].right, 3U);
  EXPECT_EQ(task.items[0].context, vocabulary.encode("A man is sitting on a roof. he"));
  EXPECT_EQ(task.items[0].endings[1], vocabulary.encode(" is b"));
  EXPECT_EQ(task.items[1].right, 1U);
  EXPECT_EQ(read(std::string(kLine) + "\n" + kLine + "\n", 1).items.size(), 1U);
}

TEST_F(ChoiceLines, SayWhatIsWrongWithThem) {
  const std::string file = (folder_ / "val.jsonl").string(), first = file + ": line 1", second = file + ": line 2";
  refused_lines("", Reason::kEmpty, file);
  refused_lines(std::string(kLine) + "\n{\n", Reason::kMalformed, second);
  refused_lines(R"({"ctx":"x","endings":["y","z"]})", Reason::kMissingKey, "/label", {first});
  refused_lines(R"({"ctx":"x","label":2,"endings":["y","z"]})", Reason::kOutOfRange, "/label", {" 2"});
  refused_lines(R"({"ctx":"x","label":"","endings":["y","z"]})", Reason::kOutOfRange, "/label");
  refused_lines(R"({"ctx":"x","label":0,"endings":["y"]})", Reason::kTooMany, "/endings", {" 1"});
  refused_lines(R"({"ctx":7,"label":0,"endings":["y","z"]})", Reason::kWrongType, "/ctx");
  refused_lines(R"({"label":0,"endings":["y","z"]})", Reason::kMissingKey, "/ctx", {first});
  refused_lines(R"({"ctx":")" + std::string(20000, 'x') + R"(","label":0,"endings":["y","z"]})", Reason::kTooLarge,
                "/ctx", {" 20000 "});
}

}  // namespace
}  // namespace nanobench::core

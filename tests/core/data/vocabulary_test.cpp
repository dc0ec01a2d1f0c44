#include "core/data/vocabulary.h"

#include <gtest/gtest.h>

#include "tests/core/data/data_test_support.h"

namespace nanobench::core::testing {
namespace {

TEST(Vocabulary, ItsTextIsReadAgain) {
  const TestFolder folder;
  Vocabulary vocabulary = byte_vocabulary();
  vocabulary.insert(vocabulary.end(), {"the", "", "the cat"});  // 257 has no bytes
  write_bytes(folder / "vocab", vocabulary_text(vocabulary));
  EXPECT_EQ(read_vocabulary(folder / "vocab"), vocabulary);
}

TEST(Vocabulary, ALineIsATokenAsTiktokenHasIt) {
  const TestFolder folder;
  write_bytes(folder / "vocab", "dGhl 1\nIQ== 0");
  EXPECT_EQ(read_vocabulary(folder / "vocab"), (Vocabulary{"!", "the"}));
}

TEST(Vocabulary, WhatIsNoneIsRefusedWithItsLine) {
  const TestFolder folder;
  const auto refused = [&](const std::string& text) {
    write_bytes(folder / "vocab", text);
    return error_of(ErrorCode::kInvalidArgument, [&] { read_vocabulary(folder / "vocab"); });
  };
  EXPECT_REFUSED(refused(""), Reason::kEmpty, (folder / "vocab").string());
  EXPECT_REFUSED(refused("IQ== 0\n\n"), Reason::kMalformed, "2");
  for (const char* line : {"IQ==", "IQ== x", "IQ== 1 ", "IQ== -1", " 1", "!! 1", "IQ== 99999999999999999999"})
    EXPECT_REFUSED(refused(line), Reason::kMalformed, "1") << line;
  EXPECT_REFUSED_WITH(refused("IQ== 65536"), Reason::kOutOfRange, "1", "65536", "65535");
  EXPECT_REFUSED_WITH(refused("IQ== 1\nIg== 1"), Reason::kRepeated, "2", "vocab: ", " 2 ", " 1 ");
  EXPECT_REFUSED_WITH(refused("IQ== 1\nIg== 3\nIQ== 7"), Reason::kSameValue, "7", " 1 ", " 7 ");
  EXPECT_REFUSED(error_of(ErrorCode::kNotFound, [&] { read_vocabulary(folder / "none"); }), Reason::kMissingFile,
                 (folder / "none").string());
}

TEST(LongestPrefixes, AreProperAndTheLongest) {
  const Vocabulary vocabulary = {"t", "the", "", "th", "them", "x", "then", "a them"};
  EXPECT_EQ(longest_prefixes(vocabulary), (std::vector<std::int32_t>{-1, 3, -1, 0, 1, -1, 1, -1}));
}

TEST(LongestPrefixes, BytesCompareAsUnsigned) {
  EXPECT_EQ(longest_prefixes({"\xff\x01", "\xff", "\x7f", "\xff\xff"}), (std::vector<std::int32_t>{1, -1, -1, 1}));
}

TEST(LongestPrefixes, OfGeneratedWordsAreTheirFirstLetters) {
  const std::vector<std::int32_t> prefixes = longest_prefixes(synthetic_vocabulary(5000));
  for (std::size_t word = 0; word < prefixes.size(); ++word) {
    // "a" is zero, and no word begins with it.
    const int expected = word < 16 ? -1 : static_cast<int>(word / 16);
    EXPECT_EQ(prefixes[word], expected) << word;
  }
}

TEST(LongestPrefixes, BytesHaveNone) {
  for (const std::int32_t prefix : longest_prefixes(byte_vocabulary())) EXPECT_EQ(prefix, -1);
}

}  // namespace
}  // namespace nanobench::core::testing

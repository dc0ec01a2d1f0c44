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
  const auto message = [&](const std::string& text) {
    write_bytes(folder / "vocab", text);
    return error_of(ErrorCode::kInvalidArgument, [&] { read_vocabulary(folder / "vocab"); });
  };
  EXPECT_PRED2(contains, message(""), "has no tokens");
  EXPECT_PRED2(contains, message("IQ== 0\n\n"), "line 2 is not");
  for (const char* line : {"IQ==", "IQ== x", "IQ== 1 ", "IQ== -1", " 1", "!! 1", "IQ== 99999999999999999999"})
    EXPECT_PRED2(contains, message(line), "line 1 is not");
  EXPECT_PRED2(contains, message("IQ== 65536"), "expected at most 65535");
  EXPECT_PRED2(contains, message("IQ== 1\nIg== 1"), "line 2 has token 1 again");
  EXPECT_PRED2(contains, message("IQ== 1\nIg== 3\nIQ== 7"), "tokens 1 and 7 have the same bytes");
  EXPECT_PRED2(contains, error_of(ErrorCode::kNotFound, [&] { read_vocabulary(folder / "none"); }), "none");
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

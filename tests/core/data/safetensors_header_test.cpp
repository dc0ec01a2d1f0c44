#include "core/data/safetensors_header.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "tests/core/base/refusal_support.h"

namespace nanobench::core {
namespace {

std::string file_with(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + std::string(data_bytes, '\1');
}

class SafetensorsHeader : public ::testing::Test {
 protected:
  std::vector<SafetensorsEntry> read(const std::string& bytes) {
    const std::filesystem::path file = folder_.path() / "x.safetensors";
    write_file_atomically(file, bytes);
    return read_safetensors_header(InputFile(file), file);
  }
  Refused problem_of(const std::string& bytes) {
    const Refused refused = refusal_of([&] { read(bytes); });
    if (!refused.is_refused) return refused;
    EXPECT_EQ(refused.code, refused.reason == Reason::kUnknownName ? ErrorCode::kUnavailable : ErrorCode::kDataLoss);
    EXPECT_EQ(refused.message.rfind((folder_.path() / "x.safetensors: ").string(), 0), 0U) << refused.message;
    return refused;
  }
  /// A refusal about the file, not about one of its tensors, that names the number.
  static void expect_of_file(const Refused& refused, Reason reason, const std::string& number = "") {
    EXPECT_REFUSED(refused, reason, "");
    EXPECT_TRUE(refused.names(number)) << refused.message;
  }
  TemporaryFolder folder_{"safetensors"};
};

TEST_F(SafetensorsHeader, TensorsAreListedInTheOrderOfTheirBytes) {
  const std::string header = R"({"b":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"__metadata__":{"format":"pt"},
      "a":{"dtype":"BF16","shape":[3],"data_offsets":[8,14]},"scalar":{"dtype":"I64","shape":[],"data_offsets":[14,22]},
      "empty":{"dtype":"U8","shape":[0,7],"data_offsets":[22,22]}})";
  const std::vector<SafetensorsEntry> entries = read(file_with(header, 22));
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0].name, "b");
  EXPECT_EQ(entries[0].shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(entries[0].begin, 8 + header.size());
  EXPECT_EQ(entries[1].name, "a");
  EXPECT_EQ(entries[1].dtype, "BF16");
  EXPECT_EQ(entries[1].bytes, 6U);
  EXPECT_EQ(entries[2].name, "scalar");
  EXPECT_EQ(entries[3].name, "empty");
}

TEST_F(SafetensorsHeader, WhatIsWrittenIsRead) {
  const std::map<std::string, std::string> metadata = {{"format", "pt"}, {"note", "\"quoted\" \u00e9"}};
  const std::string header = safetensors_header({{.name = "b", .dtype = "F64", .shape = {3}},
                                                 {.name = "a/0", .dtype = "F32", .shape = {}},
                                                 {.name = "none", .dtype = "U8", .shape = {0}}},
                                                metadata);
  EXPECT_EQ(header.size() % 8, 0U);
  const std::vector<SafetensorsEntry> entries = read(header + std::string(28, '\1'));
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].name, "b");
  EXPECT_EQ(entries[0].begin, header.size());
  EXPECT_EQ(entries[1].name, "a/0");
  EXPECT_EQ(entries[1].begin, header.size() + 24);
  EXPECT_EQ(entries[2].bytes, 0U);
  const std::filesystem::path file = folder_.path() / "x.safetensors";
  EXPECT_EQ(read_safetensors_metadata(InputFile(file), file), metadata);
}

TEST_F(SafetensorsHeader, TheFileMustBeWhole) {
  expect_of_file(problem_of("1234567"), Reason::kTruncated, " 7 ");
  expect_of_file(problem_of(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)), Reason::kTruncated);
  expect_of_file(problem_of(file_with(" {}", 0)), Reason::kMalformed, "{");
  expect_of_file(problem_of(file_with("{" + std::string(16U << 20, ' ') + "}", 0)), Reason::kTooLarge, "16 MiB");
  expect_of_file(problem_of(file_with("{\"a\":", 0)), Reason::kMalformed);
  expect_of_file(problem_of(file_with("{\"a\":" + std::string(100'000, '['), 0)), Reason::kTooDeep);
}

TEST_F(SafetensorsHeader, ARepeatedNameIsRefused) {
  const std::string one = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  expect_of_file(problem_of(file_with("{" + one + "," + one + "}", 8)), Reason::kRepeated, "\"a\"");
}

TEST_F(SafetensorsHeader, BytesBelongToExactlyOneTensor) {
  const auto two = [](const char* first, const char* second) {
    return std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + first +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
  };
  EXPECT_FALSE(problem_of(file_with(two("[0,4]", "[4,8]"), 8)).is_refused);
  EXPECT_REFUSED(problem_of(file_with(two("[0,4]", "[0,4]"), 4)), Reason::kOverlap, "b");
  EXPECT_REFUSED(problem_of(file_with(two("[0,4]", "[3,7]"), 7)), Reason::kOverlap, "b");
  const Refused gap = problem_of(file_with(two("[0,4]", "[6,10]"), 10));
  EXPECT_REFUSED(gap, Reason::kUnusedBytes, "b");
  EXPECT_TRUE(gap.names("2 ") && gap.names("\"b\"")) << gap.message;
  expect_of_file(problem_of(file_with(two("[4,8]", "[0,4]"), 9)), Reason::kUnusedBytes, " 1 ");
}

TEST_F(SafetensorsHeader, EachTensorIsAsLargeAsItsShape) {
  const auto one = [this](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return problem_of(
        file_with(R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}", 8));
  };
  EXPECT_FALSE(one("\"F32\"", "[2]", "[0,8]").is_refused);
  EXPECT_REFUSED(one("\"F32\"", "[3]", "[0,8]"), Reason::kTruncated, "a");
  EXPECT_REFUSED(one("\"F32\"", "[1]", "[0,8]"), Reason::kWrongLength, "a");
  EXPECT_TRUE(one("\"F32\"", "[1]", "[0,8]").names(" 8 "));
  EXPECT_REFUSED(one("\"F32\"", "[4294967296,4294967296]", "[0,8]"), Reason::kTruncated, "a");
  for (const char* shape : {"[-1]", "[2.0]", "[\"2\"]", "[9223372036854775808]", "[null]"})
    EXPECT_REFUSED(one("\"F32\"", shape, "[0,8]"), Reason::kBadValue, "a") << shape;
  for (const char* offsets : {"[-8,0]", "[8,0]", "[0,9]", "[0,1e30]"})
    EXPECT_REFUSED(one("\"F32\"", "[2]", offsets), Reason::kOutOfRange, "a") << offsets;
  for (const char* offsets : {"[0]", "[0,8,8]", "8"})
    EXPECT_REFUSED(one("\"F32\"", "[2]", offsets), Reason::kMalformed, "a") << offsets;
  EXPECT_REFUSED(one("\"F9\"", "[2]", "[0,8]"), Reason::kUnknownName, "a");
  EXPECT_TRUE(one("\"F9\"", "[2]", "[0,8]").names("\"F9\""));
  EXPECT_REFUSED(one("32", "[2]", "[0,8]"), Reason::kMalformed, "a");
}

TEST_F(SafetensorsHeader, OnlyKnownMembers) {
  const std::string more = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})";
  EXPECT_REFUSED(problem_of(file_with(more, 1)), Reason::kMalformed, "a");
  EXPECT_REFUSED(problem_of(file_with(R"({"__metadata__":{"a":1}})", 0)), Reason::kWrongType, "__metadata__");
  EXPECT_REFUSED(problem_of(file_with(R"({"a":[]})", 0)), Reason::kMalformed, "a");
}

}  // namespace
}  // namespace nanobench::core

#include "core/data/safetensors_header.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "core/base/atomic_write.h"
#include "core/base/error.h"

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
  std::string problem_of(const std::string& bytes) {
    try {
      read(bytes);
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::kDataLoss || error.code() == ErrorCode::kUnavailable);
      const std::string text = error.what();
      return text.substr(text.find("x.safetensors: ") + 15);
    }
    return "(none)";
  }
  TemporaryFolder folder_{"safetensors"};
};

constexpr const char* kWhole = "not a whole safetensors file: ";

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
  EXPECT_EQ(problem_of("1234567"), kWhole + std::string("it has only 7 bytes"));
  EXPECT_EQ(problem_of(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)),
            kWhole + std::string("its header is longer than the file"));
  EXPECT_EQ(problem_of(file_with(" {}", 0)), kWhole + std::string("its header does not begin with {"));
  EXPECT_EQ(problem_of(file_with("{" + std::string(16U << 20, ' ') + "}", 0)),
            kWhole + std::string("its header is larger than 16 MiB"));
  EXPECT_NE(problem_of(file_with("{\"a\":", 0)).find("not valid JSON"), std::string::npos);
  EXPECT_NE(problem_of(file_with("{\"a\":" + std::string(100'000, '['), 0)).find("deep"), std::string::npos);
}

TEST_F(SafetensorsHeader, ARepeatedNameIsRefused) {
  const std::string one = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  EXPECT_NE(problem_of(file_with("{" + one + "," + one + "}", 8)).find("\"a\" appears twice"), std::string::npos);
}

TEST_F(SafetensorsHeader, BytesBelongToExactlyOneTensor) {
  const auto two = [](const char* first, const char* second) {
    return std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + first +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
  };
  EXPECT_EQ(problem_of(file_with(two("[0,4]", "[4,8]"), 8)), "(none)");
  EXPECT_EQ(problem_of(file_with(two("[0,4]", "[0,4]"), 4)),
            kWhole + std::string("tensor \"b\" overlaps the one before it"));
  EXPECT_EQ(problem_of(file_with(two("[0,4]", "[3,7]"), 7)),
            kWhole + std::string("tensor \"b\" overlaps the one before it"));
  EXPECT_EQ(problem_of(file_with(two("[0,4]", "[6,10]"), 10)),
            kWhole + std::string("2 bytes before tensor \"b\" belong to none"));
  EXPECT_EQ(problem_of(file_with(two("[4,8]", "[0,4]"), 9)),
            kWhole + std::string("its last 1 bytes belong to no tensor"));
}

TEST_F(SafetensorsHeader, EachTensorIsAsLargeAsItsShape) {
  const auto one = [this](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return problem_of(
        file_with(R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}", 8));
  };
  EXPECT_EQ(one("\"F32\"", "[2]", "[0,8]"), "(none)");
  EXPECT_EQ(one("\"F32\"", "[3]", "[0,8]"), kWhole + std::string("tensor \"a\" is larger than the file"));
  EXPECT_EQ(one("\"F32\"", "[1]", "[0,8]"), kWhole + std::string("the shape of tensor \"a\" does not fit its 8 bytes"));
  EXPECT_EQ(one("\"F32\"", "[4294967296,4294967296]", "[0,8]"),
            kWhole + std::string("tensor \"a\" is larger than the file"));
  for (const char* shape : {"[-1]", "[2.0]", "[\"2\"]", "[9223372036854775808]", "[null]"})
    EXPECT_EQ(one("\"F32\"", shape, "[0,8]"), kWhole + std::string("tensor \"a\" has an impossible shape")) << shape;
  for (const char* offsets : {"[-8,0]", "[8,0]", "[0,9]", "[0,1e30]"})
    EXPECT_EQ(one("\"F32\"", "[2]", offsets), kWhole + std::string("tensor \"a\" does not lie within the file"))
        << offsets;
  for (const char* offsets : {"[0]", "[0,8,8]", "8"})
    EXPECT_NE(one("\"F32\"", "[2]", offsets).find("needs exactly the members"), std::string::npos) << offsets;
  EXPECT_EQ(one("\"F9\"", "[2]", "[0,8]"), "tensor \"a\" has the type \"F9\", which is not supported");
  EXPECT_NE(one("32", "[2]", "[0,8]").find("needs exactly the members"), std::string::npos);
}

TEST_F(SafetensorsHeader, OnlyKnownMembers) {
  EXPECT_NE(problem_of(file_with(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1)).find("exactly"),
            std::string::npos);
  EXPECT_NE(problem_of(file_with(R"({"__metadata__":{"a":1}})", 0)).find("not an object of strings"),
            std::string::npos);
  EXPECT_NE(problem_of(file_with(R"({"a":[]})", 0)).find("needs exactly"), std::string::npos);
}

}  // namespace
}  // namespace nanobench::core

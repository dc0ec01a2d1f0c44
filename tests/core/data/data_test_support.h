/// Temporary folders and files for the tests of core/data.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/data/token_shard.h"
#include "tests/core/base/refusal_support.h"
#include "tests/golden/golden_data.h"

namespace nanobench::core::testing {

/// A folder that is removed at the end of the test.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "nanobench-data-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

inline std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Names of all files and folders directly inside `folder`, sorted.
inline std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// The tokens of a shard.
inline std::vector<std::uint16_t> tokens_in(const std::filesystem::path& file) {
  const TokenShard shard(file);
  return {shard.tokens().begin(), shard.tokens().end()};
}

/// For EXPECT_PRED2, which prints both: whether the message has each of the names and numbers.
inline bool names_all(const Refused& refused, const std::vector<std::string>& data) {
  return std::all_of(data.begin(), data.end(), [&](const std::string& datum) { return refused.names(datum); });
}

/// Calls `action` and expects an Error with this code.
template <class Action>
Refused error_of(ErrorCode code, Action&& action) {
  const Refused refused = refusal_of(action);
  EXPECT_TRUE(refused.is_refused) << "expected an Error " << to_string(code);
  EXPECT_STREQ(to_string(refused.code), to_string(code)) << refused.message;
  return refused;
}

/// A Refused has the reason and the subject, and its message has each of the names and numbers.
#define EXPECT_REFUSED_WITH(refused, reason, subject, ...)                                                \
  do {                                                                                                    \
    const ::nanobench::core::Refused& found_ = (refused);                                                 \
    EXPECT_REFUSED(found_, reason, subject);                                                              \
    EXPECT_PRED2(::nanobench::core::testing::names_all, found_, (std::vector<std::string>{__VA_ARGS__})); \
  } while (false)

}  // namespace nanobench::core::testing

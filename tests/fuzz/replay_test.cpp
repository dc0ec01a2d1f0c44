// Every case of tests/fuzz/corpus goes through its target, in every build: what a reader once did wrong stays right.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/input_file.h"
#include "tests/fuzz/targets.h"

namespace nanobench::fuzz {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = fs::path(NANOBENCH_SOURCE_DIR) / "tests/fuzz/corpus";

std::vector<fs::path> cases_of(const std::string& target) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kCorpus / target)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class FuzzReplay : public testing::TestWithParam<FuzzTarget> {};

TEST_P(FuzzReplay, EveryCaseIsAcceptedOrRefusedWithASentence) {
  const std::vector<fs::path> files = cases_of(GetParam().name);
  EXPECT_GE(files.size(), 3U) << "too few cases to be a corpus";
  for (const fs::path& file : files) {
    const std::string bytes = core::read_input(file, {std::uint64_t{1} << 20, "a case is small"});
    EXPECT_NO_THROW(GetParam().run(bytes)) << file;
    EXPECT_NO_THROW(GetParam().run(std::string_view(bytes).substr(0, bytes.size() / 2)))
        << "the first half of " << file;
  }
  EXPECT_NO_THROW(GetParam().run(""));
  EXPECT_NO_THROW(GetParam().run(std::string(100'000, '[') + std::string(100'000, ']')));
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzReplay, testing::ValuesIn(fuzz_targets().begin(), fuzz_targets().end()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(FuzzCorpus, HasNoCasesWithoutTarget) {
  for (const auto& entry : fs::directory_iterator(kCorpus))
    EXPECT_NO_THROW(fuzz_target(entry.path().filename().string())) << entry.path();
}

}  // namespace
}  // namespace nanobench::fuzz

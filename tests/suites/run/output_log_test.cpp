#include "suites/run/output_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace nanobench::suites {
namespace {

class OutputLogTest : public ::testing::Test {
 protected:
  OutputLogTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "nanobench-log-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~OutputLogTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path file() const { return folder_ / "logs" / "run-1.out"; }
  std::string text() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  std::filesystem::path folder_;
};

TEST_F(OutputLogTest, KeepsEveryByteAndNothingForSilence) {
  OutputLog log(file());
  log.add("");
  EXPECT_FALSE(log.keep());
  EXPECT_FALSE(std::filesystem::exists(file().parent_path()));
  log.add("step 1\n");
  log.add(std::string("\xff\0\n", 3));
  EXPECT_TRUE(log.keep());
  EXPECT_EQ(text(), std::string("step 1\n\xff\0\n", 10));
}

TEST_F(OutputLogTest, OfALongStreamItKeepsTheBeginningAndTheEnd) {
  OutputLog log(file());
  const std::string piece(100'000, 'x');
  std::int64_t sent = 0;
  log.add("the beginning\n");
  for (; sent <= OutputLog::kMaxBytes + 1'000'000; sent += static_cast<std::int64_t>(piece.size())) log.add(piece);
  log.add("\nthe end\n");
  ASSERT_TRUE(log.keep());
  const std::string kept = text();
  EXPECT_LT(kept.size(), static_cast<std::size_t>(OutputLog::kMaxBytes) + 100'000);
  EXPECT_TRUE(kept.starts_with("the beginning\n"));
  EXPECT_TRUE(kept.ends_with("\nthe end\n"));
  const std::size_t note = kept.find("\n[");
  ASSERT_NE(note, std::string::npos);
  const std::int64_t gap = std::stoll(kept.substr(note + 2));
  const std::int64_t all = 14 + sent + 9;
  const auto note_bytes = static_cast<std::int64_t>(kept.find("]\n", note) + 2 - note);
  EXPECT_EQ(static_cast<std::int64_t>(kept.size()) - note_bytes + gap, all) << "every byte is kept or counted";
}

TEST_F(OutputLogTest, DiscardedItLeavesNothing) {
  OutputLog log(file());
  log.add("words\n");
  log.discard();
  EXPECT_FALSE(std::filesystem::exists(file().parent_path()));
}

TEST_F(OutputLogTest, APlaceThatCannotBeWrittenCostsOnlyTheLog) {
  std::ofstream(folder_ / "logs") << "a file where the folder should be";
  OutputLog log(file());
  EXPECT_NO_THROW(log.add("words\n"));
  EXPECT_NO_THROW(log.add("more\n"));
  EXPECT_FALSE(log.keep());
}

TEST_F(OutputLogTest, ALinkIsNotFollowed) {
  std::filesystem::create_directories(file().parent_path());
  std::ofstream(folder_ / "precious") << "kept";
  std::filesystem::create_symlink(folder_ / "precious", file());
  OutputLog log(file());
  log.add("words\n");
  EXPECT_FALSE(log.keep());
  std::ifstream in(folder_ / "precious");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "kept");
}

}  // namespace
}  // namespace nanobench::suites

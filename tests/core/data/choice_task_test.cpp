#include "core/data/choice_task.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/base/digest.h"
#include "tests/core/data/data_test_support.h"

namespace nanobench::core {
namespace {
using testing::error_of;
using testing::names_all;
using testing::TestFolder;
using testing::write_bytes;

ChoiceTask two_items() {
  return {.items = {{.number = 7, .right = 2, .context = {1, 2, 3}, .endings = {{4}, {5, 6}, {7}, {8, 9, 10}}},
                    {.number = 9, .right = 0, .context = {}, .endings = {{65534}, {0}}}},
          .best_accuracy = std::nullopt};
}

/// The bytes by hand, number by number, as llm.c's description of the format has them.
std::string bytes_of_numbers(const std::vector<std::int32_t>& header, const std::vector<int>& numbers) {
  std::string bytes(1024, '\0');
  std::memcpy(bytes.data(), header.data(), header.size() * 4);
  for (const int number : numbers) {
    bytes.push_back(static_cast<char>(number & 0xff));
    bytes.push_back(static_cast<char>(number >> 8));
  }
  return bytes;
}

const std::vector<int> kNumbers = {65535, 40, 7, 2, 4,  3,     1,  2, 3, 1, 4, 2, 5,     6, 1,
                                   7,     3,  8, 9, 10, 65535, 20, 9, 0, 2, 0, 1, 65534, 1, 0};

TEST(ChoiceTask, IsWrittenAndReadAsTheFormatSays) {
  const std::string expected = bytes_of_numbers({20240522, 1, 2, 40}, kNumbers);
  EXPECT_EQ(choice_task_bytes(two_items()), expected);
  const TestFolder folder;
  write_bytes(folder / "items.bin", expected);
  EXPECT_TRUE(is_choice_file(folder / "items.bin"));
  EXPECT_EQ(read_choice_task(folder / "items.bin").items, two_items().items);
  EXPECT_EQ(digest_of(two_items()), digest_of(std::string_view(expected)));
}

TEST(ChoiceTask, KnowsWhatGuessesReach) {
  EXPECT_DOUBLE_EQ(chance_accuracy(two_items()), (0.25 + 0.5) / 2);
  EXPECT_TRUE(std::isnan(chance_accuracy({})));
}

struct BrokenFile {
  const char* what;
  std::vector<std::int32_t> header;
  std::vector<int> numbers;
  ErrorCode code;
  Reason reason;
  std::string item;  ///< empty: the file as a whole
  std::vector<std::string> data = {};
};

std::vector<int> changed(std::size_t place, int value) {
  std::vector<int> numbers = kNumbers;
  numbers[place] = value;
  return numbers;
}

std::vector<BrokenFile> broken_files() {
  const std::vector<std::int32_t> good = {20240522, 1, 2, 40};
  const auto lost = ErrorCode::kDataLoss;
  const auto refused = ErrorCode::kInvalidArgument;
  return {{"other magic", {20240520, 1, 2, 40}, kNumbers, refused, Reason::kOtherFormat, "", {"20240520", "20240522"}},
          {"other version", {20240522, 2, 2, 40}, kNumbers, refused, Reason::kOtherVersion, "", {" 2,"}},
          {"no items", {20240522, 1, 0, 0}, kNumbers, lost, Reason::kOutOfRange, "", {"0"}},
          {"too few items", {20240522, 1, 3, 40}, kNumbers, lost, Reason::kTruncated, "2"},
          {"too many items", {20240522, 1, 1, 40}, kNumbers, lost, Reason::kUnusedBytes, "", {" 1 "}},
          {"no mark", good, changed(0, 3), lost, Reason::kMissingMark, "0", {" 3,"}},
          {"odd bytes", good, changed(1, 41), lost, Reason::kWrongLength, "0", {"41"}},
          {"longer than the file", good, changed(21, 60), lost, Reason::kTruncated, "1"},
          {"label", good, changed(3, 4), refused, Reason::kOutOfRange, "0", {" 4,"}},
          {"one ending", good, changed(4, 1), refused, Reason::kTooMany, "0", {" 1 "}},
          {"many endings", good, changed(4, 17), refused, Reason::kTooMany, "0", {"17"}},
          {"context", good, changed(5, 300), lost, Reason::kOverlap, "0"},
          {"mark as token", good, changed(7, 65535), lost, Reason::kBadValue, "0", {"65535"}},
          {"empty ending", good, changed(9, 0), refused, Reason::kEmpty, "0"},
          {"ends early", good, changed(16, 2), lost, Reason::kUnusedBytes, "0", {"40"}}};
}

TEST(ChoiceTask, SaysWhatIsWrongWithAFile) {
  const TestFolder folder;
  for (const BrokenFile& broken : broken_files()) {
    SCOPED_TRACE(broken.what);
    write_bytes(folder / "items.bin", bytes_of_numbers(broken.header, broken.numbers));
    const Refused refused = error_of(broken.code, [&] { read_choice_task(folder / "items.bin"); });
    EXPECT_REFUSED(refused, broken.reason, broken.item);
    EXPECT_PRED2(names_all, refused, broken.data);
    EXPECT_PRED2(names_all, refused, (std::vector<std::string>{"items.bin", broken.item}));
  }
  const std::string good = choice_task_bytes(two_items());
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{3}, std::size_t{1023}, good.size() - 1, good.size() - 2}) {
    write_bytes(folder / "items.bin", good.substr(0, bytes));
    error_of(ErrorCode::kDataLoss, [&] { read_choice_task(folder / "items.bin"); });
  }
  EXPECT_FALSE(is_choice_file(folder / "missing.bin"));
  error_of(ErrorCode::kNotFound, [&] { read_choice_task(folder / "missing.bin"); });
}

TEST(ChoiceTask, RefusesItemsThatTheFormatCannotHold) {
  const auto refused = [](ChoiceItem item) {
    error_of(ErrorCode::kInvalidArgument, [&] { choice_task_bytes({.items = {std::move(item)}}); });
  };
  refused({.number = 0, .right = 0, .context = {65535}, .endings = {{1}, {2}}});
  refused({.number = 0, .right = 2, .context = {1}, .endings = {{1}, {2}}});
  refused({.number = 0, .right = 0, .context = {1}, .endings = {{1}}});
  refused({.number = 0, .right = 0, .context = {1}, .endings = {{1}, {}}});
  refused({.number = 0, .right = 0, .context = std::vector<std::uint16_t>(32768, 1), .endings = {{1}, {2}}});
}

TEST(ChoiceTask, NamesATokenOutsideTheVocabulary) {
  check_tokens(two_items(), 65535, "items.bin");
  const Refused refused = error_of(ErrorCode::kInvalidArgument, [] { check_tokens(two_items(), 10, "items.bin"); });
  EXPECT_REFUSED_WITH(refused, Reason::kOutOfRange, "0", "items.bin", " 0,", " 10,");
}

}  // namespace
}  // namespace nanobench::core

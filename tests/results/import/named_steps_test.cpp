#include "results/import/named_steps.h"

#include <gtest/gtest.h>

#include <fstream>

namespace nanobench::results {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReadme =
    "# Results\n"
    "| a | b |\n|---|---|\n| 1 | [log](results/none.txt) |\n\n"
    "| # | Steps to 3.28 | Description | Log |\r\n"
    "| - | - | - | - |\n"
    "| 1 | 3600(!) | [Paper](https://x.org/a) | [log](results/alone.txt) |\n"
    "| 2 | 3325 | first | [log](results/20260430_x/a.txt#top) |\n"
    "| 3 | soon | no number | [log](results/20260430_x/b.txt) |\n"
    "| 4 | 3000 | no link |\n"
    "text\n"
    "| 5 | 2 | no title above | [log](results/20260501_y/a.txt) |\n";

LogFile log_at(const std::string& path, const std::string& folder) {
  return {.path = path, .folder = folder, .subdir = "", .name = fs::path(path).filename().string()};
}

std::optional<std::int64_t> step_of(const std::vector<LogFile>& logs, const std::vector<NamedStep>& steps,
                                    bool is_other = false) {
  const std::optional<NamedStep> step = named_step_of(logs, steps, [&](const fs::path&) { return is_other; });
  return step ? std::optional(step->step) : std::nullopt;
}

TEST(NamedSteps, AreTheRowsOfATableOfSteps) {
  const std::vector<NamedStep> steps = named_steps_in(kReadme, "/t/README.md");
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].step, 3600);
  EXPECT_EQ(steps[0].linked, "/t/results/alone.txt");
  EXPECT_EQ(steps[1].step, 3325);
  EXPECT_EQ(steps[1].linked, "/t/results/20260430_x/a.txt");
  EXPECT_EQ(steps[1].readme, "/t/README.md");
}

TEST(NamedSteps, BelongToTheLinkedLogAndToItsFolder) {
  const std::vector<NamedStep> steps = named_steps_in(kReadme, "/t/README.md");
  const std::string x = "20260430_x";
  EXPECT_EQ(step_of({log_at("/t/results/20260430_x/a.txt", x)}, steps), 3325);
  EXPECT_EQ(step_of({log_at("/t/results/20260430_x/sub/c.txt", x)}, steps), 3325);
  EXPECT_EQ(step_of({log_at("/t/results/20260430_x/c.txt", x)}, steps, /*is_other=*/true), std::nullopt);
  EXPECT_EQ(step_of({log_at("/t/results/20260430_x/a.txt", x)}, steps, /*is_other=*/true), 3325);
  EXPECT_EQ(step_of({log_at("/t/results/alone.txt", "results")}, steps), 3600);
  EXPECT_EQ(step_of({log_at("/t/results/other.txt", "results")}, steps), std::nullopt) << "two rows, two steps";
  EXPECT_EQ(step_of({log_at("/t/results/20260502_z/a.txt", "20260502_z")}, steps), std::nullopt);
  EXPECT_EQ(step_of({}, steps), std::nullopt);
}

TEST(NamedSteps, AreReadFromTheFoldersAbove) {
  const fs::path root = fs::path(testing::TempDir()) / "named_steps";
  fs::remove_all(root);
  const fs::path log = root / "results" / "20260430_x" / "a.txt";
  fs::create_directories(log.parent_path());
  std::ofstream(log) << "log";
  EXPECT_TRUE(find_named_steps(find_log_files({root / "results"}).files).empty());
  std::ofstream(root / "README.md") << kReadme;
  const LogFiles found = find_log_files({log.parent_path()});
  const std::vector<NamedStep> steps = find_named_steps(found.files);
  EXPECT_EQ(step_of(found.files, steps), 3325);
  fs::remove_all(root);
}

TEST(NamedSteps, AnyBytesGiveAnAnswer) {
  for (const std::string& text : {std::string(), std::string("|"), std::string("|steps to|\n|9"),
                                  std::string("| Steps to\n| 99999999999999999999 [](a)"),
                                  std::string("|Steps to 1|\n|5|](|"), std::string("\xff|\x00|", 4)})
    EXPECT_TRUE(named_steps_in(text, "/t/README.md").empty()) << text;
}

}  // namespace
}  // namespace nanobench::results

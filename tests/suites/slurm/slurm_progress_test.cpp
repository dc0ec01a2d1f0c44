// How far a run on a node is: the lines that the node writes and those who look on read.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

#include "core/base/atomic_write.h"
#include "suites/slurm/progress_file.h"
#include "suites/slurm/shared_folder.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;

const ProgressHead kHead = {.host = "nano1", .started_at = "2026-01-01T00:00:00.000Z", .steps = 40};

class SlurmProgress : public testing::Test {
 protected:
  fs::path file() const { return folder_.path() / "progress"; }
  void append(const std::string& text) const { std::ofstream(file(), std::ios::app | std::ios::binary) << text; }

  const core::TemporaryFolder folder_{"slurm-progress"};
};

TEST(SlurmProgressLine, ComesBackAsItWas) {
  const auto head = parse_progress_head(to_line(kHead));
  ASSERT_TRUE(head);
  EXPECT_EQ(head->host, "nano1");
  EXPECT_EQ(head->started_at, kHead.started_at);
  EXPECT_EQ(head->steps, 40);
  const auto line = parse_progress_line(
      to_line({.at_s = 1.5, .step = 3, .loss = 5.25, .step_ms = 20, .val_losses = {{0, 5.5}, {2, std::nan("")}}}));
  ASSERT_TRUE(line);
  EXPECT_EQ(line->at_s, 1.5);
  EXPECT_EQ(line->step, 3);
  EXPECT_EQ(line->loss, 5.25);
  EXPECT_EQ(line->step_ms, 20);
  ASSERT_EQ(line->val_losses.size(), 2U);
  EXPECT_TRUE(std::isnan(line->val_losses[1].value)) << "a loss that is not finite is told as such";
  const auto alive = parse_progress_line(to_line({.at_s = 9}));
  ASSERT_TRUE(alive);
  EXPECT_FALSE(alive->step || alive->loss || alive->step_ms);
}

TEST(SlurmProgressLine, HostileOnesAreNone) {
  for (const char* text :
       {"", "null", "[]", "{}", "{\"at\": -1}", "{\"at\": null}", "{\"at\": \"1\"}", "{\"at\": 1", "\xff"})
    EXPECT_FALSE(parse_progress_line(text)) << text;
  const auto line =
      parse_progress_line(R"({"at": 1, "step": -4, "loss": [], "val": [1, [2], [3, "x"], [-1, 2], [5, 6]]})");
  ASSERT_TRUE(line);
  EXPECT_FALSE(line->step || line->loss);
  ASSERT_EQ(line->val_losses.size(), 1U);
  EXPECT_EQ(line->val_losses[0].step, 5);
  const auto huge = parse_progress_line(R"({"at": 1, "step": 9223372036854775808, "val": [[9223372036854775808, 2]]})");
  ASSERT_TRUE(huge);
  EXPECT_FALSE(huge->step);
  EXPECT_TRUE(huge->val_losses.empty());
}

TEST_F(SlurmProgress, HalfALineWaitsForTheRest) {
  ProgressReader reader(file());
  EXPECT_FALSE(reader.update()) << "no file yet";
  append(to_line(kHead).substr(0, 10));
  EXPECT_TRUE(reader.update());
  EXPECT_FALSE(reader.progress());
  append(to_line(kHead).substr(10) + to_line({.at_s = 1, .step = 1, .loss = 5}) + R"({"at": 2, "st)");
  reader.update();
  ASSERT_TRUE(reader.progress());
  EXPECT_EQ(reader.progress()->step, 1);
  EXPECT_FALSE(reader.update()) << "nothing new";
  append("ep\": 7, \"loss\": 4}\n");
  EXPECT_TRUE(reader.update());
  EXPECT_EQ(reader.progress()->step, 7);
  ASSERT_EQ(reader.progress()->train_losses.size(), 2U);
  EXPECT_EQ(reader.progress()->train_losses[1].step, 6);
  // Wherever a reader cuts an endless line, its end is no line.
  for (std::size_t length = 65536; length <= 4 * 65536; length += 65536) {
    append(std::string(length, 'x') + "{\"at\": 3, \"step\": 9}\n");
    reader.update();
    EXPECT_EQ(reader.progress()->step, 7) << length;
  }
  append(to_line({.at_s = 4, .step = 8}));
  reader.update();
  EXPECT_EQ(reader.progress()->step, 8);
}

TEST_F(SlurmProgress, AReplacedFileIsReadAnew) {
  append(to_line(kHead) + to_line({.at_s = 9, .step = 30, .loss = 3}));
  ProgressReader reader(file());
  reader.update();
  EXPECT_EQ(reader.progress()->step, 30);
  ProgressHead other = kHead;
  other.host = "nano2";
  write_whole(file(), to_line(other) + to_line({.at_s = 1, .step = 2, .loss = 5}) + std::string(100, '\n'));  // longer
  EXPECT_TRUE(reader.update());
  EXPECT_EQ(reader.progress()->head.host, "nano2");
  EXPECT_EQ(reader.progress()->step, 2);
  EXPECT_EQ(reader.progress()->train_losses.size(), 1U);
  fs::remove(file());
  EXPECT_FALSE(reader.update());
  EXPECT_EQ(reader.progress()->step, 2) << "what was known stays";
}

TEST_F(SlurmProgress, TheWriterTellsWhatItSawBeforeItEnds) {
  {
    ProgressWriter writer(file(), kHead);
    for (std::int64_t step = 0; step < 10; ++step) {
      if (step % 5 == 0) writer.see(core::EvalEvent{.step = step, .loss = 6.0});
      writer.see(core::StepEvent{.step = step, .loss = 5.0 - 0.1 * static_cast<double>(step), .step_ms = 20});
    }
  }
  ProgressReader reader(file());
  reader.update();
  ASSERT_TRUE(reader.progress());
  EXPECT_EQ(reader.progress()->step, 10);
  EXPECT_EQ(reader.progress()->step_ms, 20.0);
  EXPECT_EQ(reader.progress()->val_losses.size(), 2U);
  ASSERT_FALSE(reader.progress()->train_losses.empty());
  EXPECT_DOUBLE_EQ(reader.progress()->train_losses.back().value, 4.1);
}

TEST_F(SlurmProgress, AFolderThatIsGoneIsNobodysError) {
  ProgressWriter writer(folder_.path() / "gone" / "progress", kHead);
  writer.see(core::StepEvent{.step = 0, .loss = 5, .step_ms = 1});
}

}  // namespace
}  // namespace nanobench::suites

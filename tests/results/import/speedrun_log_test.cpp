#include "results/import/speedrun_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

#include "core/base/digest.h"
#include "tests/results/import/log_texts.h"

namespace nanobench::results {
namespace {

TEST(SpeedrunLog, ReadsScriptMachineAndCurve) {
  const SpeedrunLog log = read_speedrun_log(log_text());
  ASSERT_EQ(log.runs.size(), 1U);
  const SpeedrunRun& run = log.runs.front();
  EXPECT_EQ(log.script_digest, core::digest_of(script_text()));
  EXPECT_EQ(log.hardware(), "8x NVIDIA H100 80GB HBM3");
  EXPECT_EQ(log.driver, "535.183.06");
  EXPECT_EQ(log.torch, "2.7.0.dev20250125+cu126");
  EXPECT_EQ(log.cuda, "12.6");
  EXPECT_EQ(log.python, "3.10.12");
  EXPECT_EQ(run.planned_steps, 3);
  ASSERT_EQ(run.validations.size(), 2U) << "lines of the script do not count";
  ASSERT_TRUE(run.final_validation());
  EXPECT_EQ(run.final_validation()->loss, 3.2785);
  EXPECT_EQ(run.final_validation()->clock_ms, 400.0);
  EXPECT_EQ(run.steps.size(), 3U);
  EXPECT_EQ(run.step_avg_ms, 133.33);
  EXPECT_EQ(run.peak_allocated_mib, 29898.0);
  EXPECT_TRUE(run.problems.empty()) << words_of(run.problems.front());
  EXPECT_TRUE(log.problems.empty());
}

/// Everything that a log says, as text.
std::string told_by(const SpeedrunLog& log) {
  std::string text =
      log.digest + " " + log.script_digest + " " + log.hardware() + " " + std::to_string(log.bytes) + "\n";
  for (const std::string& problem : words_of(log.problems)) text += problem + "\n";
  for (const SpeedrunRun& run : log.runs) {
    for (const LoggedValidation& item : run.validations)
      text += std::to_string(item.step) + " " + std::to_string(item.loss) + "\n";
    for (const LoggedStep& item : run.steps)
      text += std::to_string(item.step) + " " + std::to_string(item.clock_ms.value_or(-1)) + "\n";
  }
  return text;
}

std::string told_by_pieces(const std::string& text, std::size_t piece) {
  SpeedrunLogReader reader;
  for (std::size_t at = 0; at < text.size(); at += piece) reader.add(std::string_view(text).substr(at, piece));
  return told_by(reader.finish());
}

TEST(SpeedrunLog, PiecesMakeNoDifference) {
  const std::string whole = separator() + log_text();
  const std::string beyond_script = log_text() + std::string(kMaxScriptBytes, '\n') + steps_text("3.1", "7");
  for (const std::string& text : {whole, whole.substr(0, whole.size() - 3), beyond_script}) {
    const std::string expected = told_by(read_speedrun_log(text));
    for (const std::size_t piece : {std::size_t{977}, std::size_t{4096}, kMaxScriptBytes - 5})
      ASSERT_TRUE(told_by_pieces(text, piece) == expected) << piece;
  }
  EXPECT_EQ(told_by_pieces(whole, 1), told_by(read_speedrun_log(whole)));
  EXPECT_EQ(read_speedrun_log(beyond_script).runs.size(), 2U);
}

TEST(SpeedrunLog, ALineBeyondTheLimitIsLeftOutAndSaid) {
  const std::string text =
      steps_text() + "step:9/9 val_loss:1 " + std::string(3U << 20, 'x') + "\n" + steps_text("3.5");
  for (const std::string& prefix : {std::string(), std::string(kMaxScriptBytes, '\n')}) {
    const SpeedrunLog log = read_speedrun_log(prefix + text);
    ASSERT_EQ(log.runs.size(), 2U);
    EXPECT_EQ(log.runs[1].final_validation()->loss, 3.5);
    EXPECT_EQ(log.problems, std::vector<LogProblem>{LogProblem::kLongLine});
  }
}

TEST(SpeedrunLog, AScriptWithoutEndIsNoneBeyondTheLimit) {
  std::string text = "import torch\n";
  while (text.size() <= kMaxScriptBytes) text += "x = 1\n";
  const SpeedrunLog log = read_speedrun_log(text);
  EXPECT_EQ(log.script_digest, "");
  EXPECT_EQ(log.problems, std::vector<LogProblem>{LogProblem::kLongScript});
}

TEST(SpeedrunLog, ReadsTheFormWithALineOfEqualsFirst) {
  const SpeedrunLog log = read_speedrun_log(separator() + log_text());
  EXPECT_EQ(log.script_digest, core::digest_of(script_text()));
  ASSERT_EQ(log.runs.size(), 1U);
  EXPECT_EQ(log.runs.front().validations.size(), 2U);
}

TEST(SpeedrunLog, ReadsALogWithoutAScript) {
  const SpeedrunLog log = read_speedrun_log(separator() + machine_text(1) + separator() + steps_text());
  EXPECT_EQ(log.script_digest, "");
  EXPECT_EQ(log.hardware(), "1x NVIDIA H100 80GB HBM3");
  EXPECT_EQ(log.runs.size(), 1U);
  const SpeedrunLog bare = read_speedrun_log("logs/0b5e.txt\n" + steps_text() + separator());
  EXPECT_EQ(bare.runs.size(), 1U);
  EXPECT_EQ(bare.hardware(), "unknown GPU");
}

TEST(SpeedrunLog, ReadsTheDeviceLine) {
  const SpeedrunLog log = read_speedrun_log(script_text() + separator() +
                                            "Running on device_name=NVIDIA L40S with world_size=4\n" + steps_text());
  EXPECT_EQ(log.hardware(), "4x NVIDIA L40S");
}

TEST(SpeedrunLog, ReadsTheShortForm) {
  const SpeedrunLog log =
      read_speedrun_log("s:0 tel:11.0092\ns:0 trl:11.0091 lr:0.1 norm:1\ns:1 trl:10.9\ns:2 tel:3.2722\n");
  ASSERT_EQ(log.runs.size(), 1U);
  ASSERT_TRUE(log.runs.front().final_validation());
  EXPECT_EQ(log.runs.front().final_validation()->loss, 3.2722);
  EXPECT_EQ(log.runs.front().steps.size(), 2U);
  EXPECT_EQ(log.runs.front().problems, std::vector<LogProblem>{LogProblem::kNoTime});
}

TEST(SpeedrunLog, AClockThatJumpsBackIsAProblem) {
  const auto problems = [](const std::string& clocks) {
    std::istringstream words(clocks);
    std::string lines, clock;
    for (int step = 0; words >> clock; step += 125)
      lines += "step:" + std::to_string(step) + "/500 val_loss:3.5 train_time:" + clock + "ms step_avg:10ms\n";
    return read_speedrun_log(lines).runs.at(0).problems;
  };
  using Problems = std::vector<LogProblem>;
  EXPECT_EQ(problems("0 1000 2000 3000 4000"), Problems{});
  EXPECT_EQ(problems("300 250 2000 3000 4000"), Problems{}) << "the first steps are not timed";
  EXPECT_EQ(problems("0 1000 2000 2000 4000"), Problems{}) << "a coarse clock";
  EXPECT_EQ(problems("0 1000 2000 500 1500"), Problems{LogProblem::kClockBack});
}

TEST(SpeedrunLog, SeparatesTheRunsOfOneFile) {
  const SpeedrunLog log =
      read_speedrun_log(log_text(steps_text("3.2780") + steps_text("3.2790") + steps_text("3.2770")));
  ASSERT_EQ(log.runs.size(), 3U);
  EXPECT_EQ(log.runs[0].final_validation()->loss, 3.2780);
  EXPECT_EQ(log.runs[2].final_validation()->loss, 3.2770);
  EXPECT_EQ(log.runs[1].steps.size(), 3U);
}

TEST(SpeedrunLog, AStepThatComesAgainBeginsAnotherRun) {
  const SpeedrunLog log = read_speedrun_log(
      "step:0/9 val_loss:10.8 train_time:0ms step_avg:nanms\nstep:3/9 train_time:30ms step_avg:10ms\n"
      "step:6/9 train_time:60ms step_avg:10ms\nstep:3/9 train_time:33ms step_avg:11ms\n"
      "step:9/9 val_loss:3.2 train_time:99ms step_avg:11ms\n");
  ASSERT_EQ(log.runs.size(), 2U);
  EXPECT_FALSE(log.runs[0].final_validation().has_value());
  EXPECT_EQ(log.runs[1].steps.front().step, 3);
}

TEST(SpeedrunLog, ALineThatIsPrintedTwiceCountsOnce) {
  const std::string once = "step:3/3 val_loss:3.2785 train_time:400ms step_avg:133.33ms\n";
  const SpeedrunLog log = read_speedrun_log(once + once);
  ASSERT_EQ(log.runs.size(), 1U);
  EXPECT_EQ(log.runs.front().validations.size(), 1U);
  EXPECT_TRUE(log.runs.front().problems.empty());
}

TEST(SpeedrunLog, ACutLogHasNoFinalLoss) {
  const std::string text = log_text();
  const SpeedrunLog early = read_speedrun_log(text.substr(0, text.find("step:3/3 val_loss")));
  ASSERT_EQ(early.runs.size(), 1U);
  EXPECT_FALSE(early.runs.front().final_validation());
  EXPECT_EQ(early.runs.front().early_end(), (LogEnd{.last_validation = 0, .last_step = 3}));
  // The loss itself is cut: 3.2785 must not be read as 3.2.
  const SpeedrunLog inside = read_speedrun_log(text.substr(0, text.find("3.2785") + 3));
  EXPECT_FALSE(inside.runs.front().final_validation());
  EXPECT_EQ(inside.problems.front(), LogProblem::kCutLine);
}

TEST(SpeedrunLog, AWholeLastLineNeedsNoNewline) {
  const std::string text = steps_text();
  const SpeedrunLog log = read_speedrun_log(text.substr(0, text.find("\npeak")));
  EXPECT_TRUE(log.runs.front().final_validation());
}

TEST(SpeedrunLog, ALossThatIsNotFiniteIsAProblem) {
  const SpeedrunLog log = read_speedrun_log(steps_text("nan"));
  ASSERT_TRUE(log.runs.front().final_validation());
  EXPECT_TRUE(std::isnan(log.runs.front().final_validation()->loss));
  EXPECT_EQ(log.runs.front().problems, std::vector<LogProblem>{LogProblem::kNotFinite});
}

TEST(SpeedrunLog, DifferentGpusAreAProblem) {
  std::string text = log_text();
  text.replace(text.find("NVIDIA H100 80GB HBM3"), 21, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(read_speedrun_log(text).hardware(), "8x different GPUs");
  EXPECT_EQ(read_speedrun_log(text).problems, std::vector<LogProblem>{LogProblem::kDifferentGpus});
}

TEST(SpeedrunLog, OtherFilesAreNoLogs) {
  for (const char* text : {"", "\n", "torch==2.10\nnumpy\n", "====", "hello\0world", "Running PyTorch 2.1 for fun\n"}) {
    EXPECT_FALSE(read_speedrun_log(text).is_log()) << text;
  }
  const SpeedrunLog script = read_speedrun_log(script_text().substr(0, 20));
  EXPECT_TRUE(script.is_log());
  EXPECT_EQ(script.problems.front(), LogProblem::kCutScript);
}

/// One damage of the kinds that disks, editors and people do.
void damage(std::string& text, std::mt19937_64& random) {
  const auto below = [&](std::size_t end) { return end == 0 ? 0 : random() % end; };
  const std::size_t at = below(text.size());
  switch (random() % 8) {
    case 0: text.resize(at); break;
    case 1: text.insert(at, 1 + below(3), static_cast<char>(random())); break;
    case 2: text.erase(at, 1 + below(40)); break;
    case 3: text.insert(at, text.substr(below(text.size()), below(300))); break;
    case 4: std::replace(text.begin(), text.end(), '\n', '\0'); break;
    case 5: text.insert(at, std::string(below(5000), static_cast<char>("=\n|[0"[random() % 5]))); break;
    case 6:
      if (!text.empty()) text[at] = static_cast<char>(random());
      break;
    default: text.insert(at, "step:99999999999999/1 val_loss:1e400 train_time:1e999ms step_avg:-ms\n"); break;
  }
}

TEST(SpeedrunLog, AnyDamageGivesALog) {
  const std::vector<std::string> seeds = {log_text(),
                                          separator() + log_text(),
                                          steps_text() + steps_text(),
                                          "s:0 tel:11.0\ns:1 trl:3.0\ns:1 tel:3.2\n",
                                          machine_text(),
                                          ""};
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    std::mt19937_64 random(seed);
    std::string text = seeds[random() % seeds.size()];
    for (std::uint64_t i = random() % 12; i > 0; --i) damage(text, random);
    const SpeedrunLog log = read_speedrun_log(text);
    EXPECT_EQ(log.bytes, text.size()) << "seed " << seed;
    EXPECT_EQ(log.digest, core::digest_of(text)) << "seed " << seed;
    for (const SpeedrunRun& run : log.runs) {
      EXPECT_FALSE(run.validations.empty() && run.problems.empty()) << "seed " << seed;
      const auto repeated = std::adjacent_find(run.validations.begin(), run.validations.end(),
                                               [](const auto& x, const auto& y) { return x.step >= y.step; });
      EXPECT_TRUE(repeated == run.validations.end()) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace nanobench::results

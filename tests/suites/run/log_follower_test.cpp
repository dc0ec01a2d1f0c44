#include "suites/run/log_follower.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;

/// "|" stands for the end of a file.
class Collected : public LogReader {
 public:
  void on_bytes(std::string_view bytes) override { text += bytes; }
  void on_end() override { text += "|"; }
  std::string text;
};

class LogFollowerTest : public ::testing::Test {
 protected:
  LogFollowerTest() {
    std::string pattern = (fs::temp_directory_path() / "nanobench-test-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~LogFollowerTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  void append(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::app) << text;
  }
  /// A time of change that a quick test would not make by itself.
  void age(const std::string& name) const {
    fs::last_write_time(folder_ / name, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  LogFollower follow(const std::string& name) const { return LogFollower(folder_ / name); }
  static std::string look(LogFollower& follower, bool is_last = false) {
    Collected collected;
    follower.read(collected, is_last);
    return collected.text;
  }
  fs::path folder_;
};

TEST_F(LogFollowerTest, ReadsWhileTheFileGrows) {
  LogFollower log = follow("log.txt");
  EXPECT_EQ(look(log), "");
  EXPECT_NE(log.trouble(), LogTrouble::kNone);
  write("log.txt", "one\ntw");
  EXPECT_EQ(look(log), "one\ntw");
  EXPECT_EQ(look(log), "");
  append("log.txt", "o\n");
  EXPECT_EQ(look(log, true), "o\n");
  EXPECT_EQ(log.trouble(), LogTrouble::kNone);
}

TEST_F(LogFollowerTest, WhatWasThereBeforeIsNotRead) {
  write("log.txt", "old\n");
  age("log.txt");
  LogFollower log = follow("log.txt");
  EXPECT_EQ(look(log), "");
  EXPECT_EQ(look(log, true), "");
  EXPECT_EQ(log.trouble(), LogTrouble::kUntouched) << log.problem();
  append("log.txt", "new\n");
  EXPECT_EQ(look(log), "new\n") << "of a file that is appended to the new lines count";
}

TEST_F(LogFollowerTest, AFileWrittenAnewIsReadWhole) {
  for (const std::string text : {"a", "other\n", "a longer text than before\n"}) {
    write("log.txt", "before\n");
    age("log.txt");
    LogFollower log = follow("log.txt");
    write("log.txt", text);
    EXPECT_EQ(look(log, true), text);
  }
  write("log.txt", "the same\n");
  age("log.txt");
  LogFollower log = follow("log.txt");
  write("log.txt", "the same\n");
  EXPECT_EQ(look(log), "") << "more may be appended";
  EXPECT_EQ(look(log, true), "the same\n");
}

TEST_F(LogFollowerTest, TruncationAndRotationBeginAnew) {
  LogFollower log = follow("log.txt");
  write("log.txt", "first line\n");
  EXPECT_EQ(look(log), "first line\n");
  write("log.txt", "cut\n");
  EXPECT_EQ(look(log), "|cut\n");
  append("log.txt", "rest");
  fs::rename(folder_ / "log.txt", folder_ / "log.txt.1");
  write("log.txt", "second file\n");
  EXPECT_EQ(look(log), "rest|second file\n") << "the end of the old one is not lost";
  fs::remove(folder_ / "log.txt");
  EXPECT_EQ(look(log, true), "");
  EXPECT_EQ(log.trouble(), LogTrouble::kNone) << "it was there";
}

TEST_F(LogFollowerTest, OfAPatternTheNewestThatAppears) {
  write("a1.txt", "another run's\n");
  age("a1.txt");
  LogFollower log = follow("a?.txt");
  write("b2.txt", "no match\n");
  EXPECT_EQ(look(log), "");
  write("a2.txt", "mine\n");
  age("a2.txt");
  EXPECT_EQ(look(log), "mine\n");
  write("a3.txt", "later\n");
  EXPECT_EQ(look(log, true), "|later\n");
  LogFollower nothing = follow("*.log");
  EXPECT_EQ(look(nothing, true), "");
  EXPECT_EQ(nothing.trouble(), LogTrouble::kMissing);
  EXPECT_NE(nothing.problem().find("*.log"), std::string::npos) << nothing.problem();
}

TEST_F(LogFollowerTest, AFolderIsNoLog) {
  fs::create_directory(folder_ / "log.txt");
  LogFollower log = follow("log.txt");
  EXPECT_EQ(look(log, true), "");
  EXPECT_NE(log.trouble(), LogTrouble::kNone);
}

}  // namespace
}  // namespace nanobench::suites

/// A store in a folder of its own, the mock programs, and an observer that remembers.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "mock_plan.h"
#include "suites/run/runner.h"

namespace nanobench::suites {

class Remembering : public RunnerObserver {
 public:
  void on_plan(const Plan&, std::int64_t, const std::vector<bool>& is_reusable) override { reusable = is_reusable; }
  void on_run_started(const Plan&, const PlannedRun&, std::int64_t) override { ++started; }
  void on_event(const Plan&, const PlannedRun&, const core::RunEvent&) override { ++events; }
  void on_run_finished(const Plan&, const PlannedRun&, const results::RunRecord& record, bool is_reused) override {
    records.push_back(record);
    reused += is_reused ? 1 : 0;
  }
  void on_message(const std::string& text) override { messages.push_back(text); }

  std::vector<bool> reusable;
  int started = 0;
  int events = 0;
  int reused = 0;
  std::vector<results::RunRecord> records;
  std::vector<std::string> messages;
};

class RunnerTest : public testing::Test {
 protected:
  RunnerTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "nanobench-fault-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~RunnerTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::filesystem::path file() const { return folder_ / "store.db"; }
  static std::string engine() { return NANOBENCH_BIN_DIR "/nanobench_mock_engine"; }
  static std::string runner() { return NANOBENCH_BIN_DIR "/nanobench_mock_runner"; }

  /// One cell, one seed, with these settings; its record.
  results::RunRecord run_one(const core::Json& mock, const core::Json& extra = core::Json::object()) {
    core::Json merged = {{"records", {"record12"}}};
    merged.merge_patch(extra);
    run(mock_plan(engine(), mock, merged));
    return observer_.records.back();
  }

  SuiteRunResult run(const Plan& plan, bool is_fresh = false) {
    results::Store store(file());
    RunnerOptions options;
    options.is_fresh = is_fresh;
    options.grace_seconds = 0.3;
    options.wait_poll_seconds = 0.02;
    return run_plan(plan, store, options, observer_);
  }

  std::filesystem::path folder_;
  Remembering observer_;
};

}  // namespace nanobench::suites

/// A folder of its own for each test, and rows to put into a store.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "core/base/error.h"
#include "results/provenance.h"
#include "results/sqlite.h"
#include "results/store.h"
#include "tests/core/base/refusal_support.h"

namespace nanobench::results {

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "nanobench-test-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~StoreTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::filesystem::path file() const { return folder_ / "store.db"; }

  static NewRun new_run(const std::string& digest = "d1", const std::string& cell = "record12",
                        std::uint64_t seed = 1) {
    NewRun run;
    run.digest = digest;
    run.suite = "history";
    run.cell = cell;
    run.record = cell;
    run.scale = "nano";
    run.seed = seed;
    run.config = "{}";
    run.config_digest = "c" + digest;
    run.data_name = "synthetic";
    run.data_digest = "dd";
    run.dtype = "float32";
    run.threads = 2;
    run.engine = "mock";
    run.engine_version = "1";
    run.hardware = "x86_64 | test | 2 cores";
    return run;
  }

  /// What the release before wrote: a plan of two cells and seeds of which one was not run, a run by reference kernels,
  /// one of the mock engine, and the two arms of a gate.
  static void make_store_of_schema_2(const std::filesystem::path& file) {
    std::ifstream in(std::string(NANOBENCH_SOURCE_DIR) + "/tests/results/schema2.sql");
    const std::string sql{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    ASSERT_FALSE(sql.empty());
    Database database(file, file.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    database.execute(sql.c_str());
    database.execute(("PRAGMA user_version = 2; PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
  }

  static RunResult completed(double loss = 3.25) {
    RunResult result;
    result.outcome = core::RunOutcome::kCompleted;
    result.final_val_loss = loss;
    result.train_ms = 1000.5;
    result.steps = 100;
    result.timed_steps = 90;
    result.peak_bytes = 123456789;
    result.exit_code = 0;
    return result;
  }

  static std::int64_t claim(Store& store, const NewRun& run, bool is_fresh = false) {
    return std::get<Claimed>(store.claim_run(run, this_process(), is_fresh)).run_id;
  }

  /// How `action` is refused, which must be with this code.
  static core::Refused refused_as(core::ErrorCode code, const std::function<void()>& action) {
    const core::Refused refused = core::refusal_of(action);
    EXPECT_TRUE(refused.is_refused);
    EXPECT_EQ(core::to_string(refused.code), std::string(core::to_string(code))) << refused.message;
    return refused;
  }
  static std::string message_of(core::ErrorCode code, const std::function<void()>& action) {
    return refused_as(code, action).message;
  }

  std::filesystem::path folder_;
};

}  // namespace nanobench::results

// The power is cut at any moment: what a store has acknowledged is there afterwards, whatever else was on its way.
#include <optional>
#include <random>

#include "big_store.h"
#include "results/check.h"
#include "store_fixture.h"
#include "unsynced_device.h"

namespace nanobench::results {
namespace {

constexpr BigStore kRuns = {.cells = 4, .seeds = 5, .steps = 250, .val_every = 50, .untimed_steps = 10};
constexpr int kWantedImages = 250;

/// What a store holds, as far as the workload adds to it.
struct Held {
  std::int64_t plans = 0, finished = 0, running = 0, samples = 0;
  bool operator==(const Held&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Held& held) {
  return out << held.plans << " plans, " << held.finished << " finished and " << held.running << " running runs, "
             << held.samples << " samples";
}

class PowerLossTest : public StoreTest {
 protected:
  std::filesystem::path root() const { return folder_ / "disk"; }

  /// `commit` changes the store from what was acknowledged last to `next`.
  template <class Commit>
  void acknowledge(const Held& next, Commit commit) {
    next_ = next;
    commit();
    acknowledged_ = next;
    look(1.0);  // at once, when nothing more is on its way
  }

  /// Now and then: cuts the power and looks at what is left.
  void look(double probability) {
    if (!std::bernoulli_distribution(probability)(random_)) return;
    constexpr double kKept[] = {0.0, 0.5, 1.0};
    const std::filesystem::path image = folder_ / "image";
    device_->write_image(image, kKept[images_++ % 3], random_);
    if (!std::filesystem::exists(image / "store.db")) {
      EXPECT_EQ(acknowledged_, Held{}) << "the whole file is gone";
      return;
    }
    try {
      const Held held = held_by(image / "store.db");
      EXPECT_TRUE(held == acknowledged_ || held == next_)
          << "acknowledged: " << acknowledged_ << "\non its way: " << next_ << "\nleft: " << held;
    } catch (const core::Error& error) {
      ADD_FAILURE() << "image " << images_ << ", acknowledged: " << acknowledged_ << ": " << error.what();
    }
  }

  static Held held_by(const std::filesystem::path& file) {
    { const Store opened(file); }  // as the next command does: the journal is read again
    const StoreCheck check = check_store(file);
    for (const StoreProblem& problem : check.problems)
      ADD_FAILURE() << problem.rule << ": " << (problem.where.empty() ? problem.text : problem.where.front());
    return {.plans = check.plans,
            .finished = check.runs - check.running,
            .running = check.running,
            .samples = check.samples};
  }

  /// One run: claimed, a part of its samples, then the rest and its end.
  void measure(Store& store, const NewRun& run, int cell, int seed) {
    Held next = acknowledged_;
    std::int64_t id = 0;
    ++next.running;
    acknowledge(next, [&] { id = std::get<Claimed>(store.claim_run(run, this_process())).run_id; });
    RunBatch rest = big_store_batch(kRuns, cell, seed);
    RunBatch part;
    part.samples[kTrainLoss].swap(rest.samples[kTrainLoss]);
    next.samples += static_cast<std::int64_t>(part.samples[kTrainLoss].size());
    acknowledge(next, [&] { store.add_batch(id, part); });
    const RunResult result = {.outcome = core::RunOutcome::kCompleted,
                              .final_val_loss = rest.samples[kValLoss].back().value,
                              .train_ms = rest.samples[kClockMs].back().value,
                              .steps = kRuns.steps,
                              .timed_steps = kRuns.steps - kRuns.untimed_steps,
                              .exit_code = 0};
    --next.running;
    ++next.finished;
    for (const auto& [metric, samples] : rest.samples) next.samples += static_cast<std::int64_t>(samples.size());
    acknowledge(next, [&] { store.finish_run(id, result, rest); });
  }

  void work() {
    const std::filesystem::path file = root() / "store.db";
    auto store = std::make_optional<Store>(file);
    std::int64_t plan_id = 0;
    acknowledge({.plans = 1}, [&] { plan_id = store->ensure_plan(big_store_plan(kRuns)); });
    for (int i = 0; i < kRuns.runs(); ++i) {
      NewRun run = big_store_run(i % kRuns.cells, i / kRuns.cells);
      run.plan_id = plan_id;
      run.position = i;
      measure(*store, run, i % kRuns.cells, i / kRuns.cells);
      if (i % 4 == 3) store.emplace(file);  // the journal goes into the file, and a new one begins
    }
    store->vacuum();
  }

  std::mt19937 random_{20240601};
  Held acknowledged_, next_;
  int images_ = 0;
  std::optional<UnsyncedDevice> device_;
};

TEST_F(PowerLossTest, WhatWasAcknowledgedIsThereAfterwards) {
  std::filesystem::create_directory(root());
  device_.emplace(root(), [&] { look(0.15); });
  work();
  EXPECT_GT(device_->syncs(), 60) << "each commit is synced";
  EXPECT_GT(images_, kWantedImages);
  RecordProperty("images", images_);
}

}  // namespace
}  // namespace nanobench::results

// Many processes on one file.
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "results/metric.h"
#include "store_fixture.h"

namespace nanobench::results {
namespace {

/// Starts `count` processes that each call `work(i)`; true when all succeed.
template <class Work>
bool in_processes(int count, const Work& work) {
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      int code = 1;
      try {
        work(i);
        code = 0;
      } catch (const std::exception& error) {
        std::fprintf(stderr, "process %d: %s\n", i, error.what());
      }
      _exit(code);
    }
    children.push_back(pid);
  }
  bool is_good = true;
  for (const pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    is_good = is_good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return is_good;
}

TEST_F(StoreTest, TwelveWritersLoseNothing) {
  constexpr int kWriters = 12;
  constexpr int kBatches = 20;
  // All of them make the file and its tables at the same time, too.
  EXPECT_TRUE(in_processes(kWriters, [&](int i) {
    Store store(file());
    const std::int64_t id = claim(store, new_run("d" + std::to_string(i)));
    for (int batch = 0; batch < kBatches; ++batch)
      store.add_samples(id, {{kTrainLoss, 2 * batch, i * 1.0}, {kTrainLoss, 2 * batch + 1, i * 1.0}});
    store.finish_run(id, completed(i));
  }));
  const Store store(file(), OpenMode::kReadOnly);
  const std::vector<RunRecord> runs = store.runs();
  ASSERT_EQ(runs.size(), static_cast<std::size_t>(kWriters));
  for (const RunRecord& run : runs) {
    ASSERT_TRUE(run.is_completed());
    const std::vector<Sample> samples = store.samples(run.id, kTrainLoss);
    ASSERT_EQ(samples.size(), 2u * kBatches);
    for (const Sample& sample : samples) EXPECT_EQ(sample.value, *run.result->final_val_loss);
  }
}

TEST_F(StoreTest, OneOfTwelveClaimsARun) {
  { Store store(file()); }
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  // The children stay alive until all have claimed, else a later one rightly takes over from a dead one.
  int hold[2];
  ASSERT_EQ(pipe(hold), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 12; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      close(hold[1]);
      char answer = 'x';
      try {
        Store store(file());
        answer = std::holds_alternative<Claimed>(store.claim_run(new_run(), this_process())) ? 'c' : 'r';
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
      if (write(ready[1], &answer, 1) != 1) _exit(1);
      char end;
      _exit(read(hold[0], &end, 1) == 0 ? 0 : 1);
    }
    children.push_back(pid);
  }
  std::multiset<char> answers;
  for (int i = 0; i < 12; ++i) {
    char answer = 0;
    ASSERT_EQ(read(ready[0], &answer, 1), 1);
    answers.insert(answer);
  }
  close(hold[1]);
  for (const pid_t pid : children) waitpid(pid, nullptr, 0);
  EXPECT_EQ(answers.count('c'), 1u);
  EXPECT_EQ(answers.count('r'), 11u);
}

TEST_F(StoreTest, AKilledWriterLeavesWholeBatches) {
  for (int round = 0; round < 20; ++round) {
    const pid_t pid = fork();
    if (pid == 0) {
      Store store(file());
      const std::int64_t id = claim(store, new_run("k" + std::to_string(round)));
      for (int batch = 0;; ++batch) {
        std::vector<NewSample> samples;
        for (int i = 0; i < 100; ++i) samples.push_back({kTrainLoss, 100 * batch + i, 1.0});
        store.add_samples(id, samples);
      }
    }
    usleep(static_cast<useconds_t>(5000 + 3000 * round));
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  Store store(file());
  store.release_dead_runs();
  for (const RunRecord& run : store.runs()) {
    EXPECT_FALSE(run.is_running());
    EXPECT_EQ(store.samples(run.id, kTrainLoss).size() % 100, 0u);
  }
}

}  // namespace
}  // namespace nanobench::results

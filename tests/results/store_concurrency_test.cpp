// Many processes on one file.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "results/metric.h"
#include "results/sqlite.h"
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

TEST_F(StoreTest, ThirtyTwoWritersLoseNothing) {
  constexpr int kWriters = 32;
  constexpr int kBatches = 10;
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

/// Holds the write lock of a file for whole stretches of time, with commits in between or without.
class LockHolder {
 public:
  LockHolder(const std::filesystem::path& file, int stretches, bool commits)
      : database_(file, file.string(), SQLITE_OPEN_READWRITE), thread_([=, this] {
          for (int i = 0; i < stretches; ++i) {
            if (i == 0 || commits) database_.execute("BEGIN IMMEDIATE; INSERT INTO ballast VALUES (1)");
            is_held_ = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(60));
            if (commits) database_.execute("COMMIT");
          }
          if (!commits) database_.execute("COMMIT");
        }) {
    while (!is_held_) std::this_thread::yield();
  }
  ~LockHolder() { thread_.join(); }

 private:
  Database database_;
  std::atomic<bool> is_held_ = false;
  std::thread thread_;
};

TEST_F(StoreTest, AWriterThatIsPassedOverGoesOnTrying) {
  Database database(file(), file().string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  database.execute("PRAGMA journal_mode = WAL; CREATE TABLE ballast (x INTEGER)");
  database.set_patience(std::chrono::milliseconds(100));
  {
    const LockHolder others(file(), 6, true);  // together longer than our patience
    Transaction transaction(database);
    transaction.commit();
  }
  const LockHolder stuck(file(), 6, false);
  EXPECT_REFUSED(refused_as(core::ErrorCode::kIo, [&] { Transaction transaction(database); }), core::Reason::kInUse,
                 file().string());
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

/// One of many writers, in its own process: claims a run and adds batches of kBatchRows, telling each that the store
/// has taken, until it is killed or has added `batches`.
constexpr int kBatchRows = 25;
void write_batches(const std::filesystem::path& file, int number, int batches, int taken_fd) {
  Store store(file);
  NewRun run;
  run.digest = "w" + std::to_string(number);
  const std::int64_t id = std::get<Claimed>(store.claim_run(run, this_process())).run_id;
  for (int batch = 0; batch < batches; ++batch) {
    std::vector<NewSample> samples;
    for (int i = 0; i < kBatchRows; ++i) samples.push_back({kTrainLoss, kBatchRows * batch + i, 1.0 * number});
    store.add_samples(id, samples);
    if (write(taken_fd, "+", 1) != 1) _exit(1);
  }
  RunResult result;
  result.outcome = core::RunOutcome::kCompleted;
  store.finish_run(id, result);
}

TEST_F(StoreTest, KillingTenOfThirtyTwoWritersLosesNothingThatWasTaken) {
  constexpr int kWriters = 32;
  constexpr int kBatches = 15;
  std::vector<pid_t> children;
  std::vector<int> taken_fds;
  for (int i = 0; i < kWriters; ++i) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      try {
        write_batches(file(), i, kBatches, ends[1]);
        _exit(0);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "writer %d: %s\n", i, error.what());
        _exit(1);
      }
    }
    close(ends[1]);
    children.push_back(pid);
    taken_fds.push_back(ends[0]);
  }
  const auto is_victim = [](int i) { return i % 3 == 1 && i < 30; };
  for (int i = 0; i < kWriters; ++i) {
    char first;
    if (!is_victim(i) || read(taken_fds[static_cast<std::size_t>(i)], &first, 1) != 1) continue;
    kill(children[static_cast<std::size_t>(i)], SIGKILL);  // in the middle of something, each at another time
  }
  std::map<std::string, std::size_t> taken;
  for (int i = 0; i < kWriters; ++i) {
    const auto at = static_cast<std::size_t>(i);
    std::size_t count = is_victim(i) ? 1 : 0;
    char byte;
    while (read(taken_fds[at], &byte, 1) == 1) ++count;
    close(taken_fds[at]);
    int status = 0;
    waitpid(children[at], &status, 0);
    EXPECT_TRUE(is_victim(i) || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << "writer " << i;
    taken["w" + std::to_string(i)] = count;
  }
  Store store(file());
  store.release_dead_runs();
  ASSERT_EQ(store.runs().size(), static_cast<std::size_t>(kWriters));
  for (const RunRecord& run : store.runs()) {
    const std::size_t rows = store.samples(run.id, kTrainLoss).size();
    EXPECT_EQ(rows % kBatchRows, 0u) << run.digest << " has part of a batch";
    // The last batch of a killed one may be stored, and its sign not sent.
    EXPECT_GE(rows, taken[run.digest] * kBatchRows) << run.digest;
    EXPECT_LE(rows, (taken[run.digest] + 1) * kBatchRows) << run.digest;
    if (!run.is_completed()) continue;
    EXPECT_EQ(rows, std::size_t{kBatches} * kBatchRows) << run.digest;
  }
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

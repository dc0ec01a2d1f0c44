// What the store costs at scale. Prints one line a measurement; nothing is asserted: times belong to a machine.
//   nanobench_store_bench fill FILE CELLS SEEDS STEPS   a store of CELLS x SEEDS runs, for timing queries from outside
//   nanobench_store_bench curves FILE CELLS SEEDS STEPS   the same with a validation at every step
//   nanobench_store_bench write FILE EVENTS             one writer, samples in batches
//   nanobench_store_bench parse EVENTS                  event lines to values, without a store
//   nanobench_store_bench watch FILE READINGS           what `nanobench watch` reads, the first time and again and
//   again nanobench_store_bench flood FILE EVENTS ENGINE      the whole path: engine, pipe, runner, store
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/base/error.h"
#include "reports/watch/plan_watcher.h"
#include "suites/run/runner.h"
#include "tests/fault/mock_plan.h"
#include "tests/results/big_store.h"
#include "tools/terminal/watch_view.h"

namespace {

using namespace nanobench;
using Clock = std::chrono::steady_clock;

/// Wall time, and the CPU time of this process: on a machine with other users only the latter means much.
struct Watch {
  Clock::time_point start = Clock::now();
  double start_cpu = cpu_seconds();

  static double cpu_seconds() {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  void say(const char* what, double count) const {
    const double wall = std::chrono::duration<double>(Clock::now() - start).count();
    const double cpu = cpu_seconds() - start_cpu;
    std::printf("%s: %.0f in %.2f s, %.0f/s; of CPU time %.2f s, %.0f/s\n", what, count, wall, count / wall, cpu,
                count / cpu);
  }
};

void fill(const char* file, const results::BigStore& size) {
  results::Store store(file);
  const Watch watch;
  results::fill_big_store(store, size);
  watch.say("runs", size.runs());
}

/// Writes as many samples as `events` step events make: losses, times, and four phases.
void write(const char* file, int events) {
  constexpr int kSteps = 6000;  // a batch: about what the runner writes at a time
  const char* metrics[] = {results::kTrainLoss, results::kStepMs,    results::kClockMs,   "phase/data_ms",
                           "phase/forward_ms",  "phase/backward_ms", "phase/optimizer_ms"};
  results::Store store(file);
  const results::RunClaim claim = store.claim_run(results::big_store_run(0, 0), results::this_process(), true);
  const std::int64_t id = std::get<results::Claimed>(claim).run_id;
  const Watch watch;
  for (int first = 0; first < events; first += kSteps) {
    results::RunBatch batch;
    for (const char* metric : metrics) {
      for (int step = first; step < std::min(events, first + kSteps); ++step)
        batch.samples[metric].push_back({step, 0.001 * step});
    }
    store.add_batch(id, batch);
  }
  watch.say("events written", events);
  watch.say("samples written", 7.0 * events);
}

void parse(int events) {
  core::StepEvent event{.step = 0, .loss = 3.2790001630783081, .step_ms = 10.123456789, .train_ms = 1234.56789};
  event.phases_ms = {{"data", 0.0512345678}, {"forward", 3.123456789}, {"backward", 5.3456789}, {"optimizer", 1.45678}};
  std::vector<std::string> lines;
  for (int i = 0; i < 1000; ++i) {
    event.step = i;
    event.loss += 0.00012345;
    lines.push_back(core::to_line(event));
  }
  const Watch watch;
  for (int i = 0; i < events; ++i) core::parse_event_line(lines[static_cast<std::size_t>(i) % lines.size()]);
  watch.say("lines parsed", events);
}

void watch(const char* file, int readings) {
  reports::PlanWatcher watcher(file, {});
  const auto now_s = [] {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  };
  const Watch first;
  const reports::WatchState state = watcher.read(now_s());
  first.say("first reading", 1);
  const Watch others;
  for (int i = 0; i < readings; ++i) watcher.read(now_s());
  others.say("readings", readings);
  const Watch views;
  for (int i = 0; i < readings; ++i) tools::watch_lines(state, {.width = 120, .height = 40});
  views.say("views", readings);
}

void flood(const char* file, int events, const char* engine) {
  const core::Json mock = {{"steps", 10}, {"fault", {{"kind", "flood"}, {"step", 4}, {"value", events}}}};
  const suites::Plan plan = suites::mock_plan(engine, mock, {{"records", {"record12"}}});
  results::Store store(file);
  suites::RunnerObserver observer;
  const Watch watch;
  const suites::SuiteRunResult result = run_plan(plan, store, {.is_fresh = true}, observer);
  watch.say(result.completed == 1 ? "events through the runner" : "events (NOT COMPLETED)", events);
}

}  // namespace

int main(int argc, char** argv) {
  const auto is = [&](const char* name, int arguments) {
    return argc == arguments + 2 && std::strcmp(argv[1], name) == 0;
  };
  try {
    if (is("fill", 4)) {
      fill(argv[2], {.cells = std::atoi(argv[3]), .seeds = std::atoi(argv[4]), .steps = std::atoi(argv[5])});
    } else if (is("curves", 4)) {
      fill(argv[2],
           {.cells = std::atoi(argv[3]), .seeds = std::atoi(argv[4]), .steps = std::atoi(argv[5]), .val_every = 1});
    } else if (is("write", 2)) {
      write(argv[2], std::atoi(argv[3]));
    } else if (is("parse", 1)) {
      parse(std::atoi(argv[2]));
    } else if (is("watch", 2)) {
      watch(argv[2], std::atoi(argv[3]));
    } else if (is("flood", 3)) {
      flood(argv[2], std::atoi(argv[3]), argv[4]);
    } else {
      std::fprintf(stderr, "usage: see the top of tests/bench/store/store_bench.cpp\n");
      return 2;
    }
  } catch (const core::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

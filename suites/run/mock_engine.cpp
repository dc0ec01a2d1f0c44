#include "suites/run/mock_engine.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <thread>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/random.h"
#include "core/process/child_process.h"
#include "core/protocol/run_event.h"
#include "core/protocol/turn_gate.h"
#include "suites/run/engine_main.h"
#include "suites/run/mock_settings.h"

namespace nanobench::suites {
namespace {

using core::Json;
using core::RunOutcome;

volatile std::sig_atomic_t stop_requested = 0;

void on_stop(int) {
  stop_requested = 1;
}

void sleep_ms(double ms) {
  if (ms > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
}

/// Uniform and (Box-Muller) normal random numbers, the same on every machine.
class MockRandom {
 public:
  explicit MockRandom(const std::string& key) : random_(fnv1a(key)) {}
  double uniform() { return (static_cast<double>(random_.next() >> 11) + 0.5) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

 private:
  static std::uint64_t fnv1a(const std::string& key) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return hash;
  }

  core::SplitMix64 random_;
};

class MockEngine {
 public:
  MockEngine(const core::RunSpec& spec, int events_fd)
      : settings_(read_mock_settings(spec.mock, spec.config, "run spec")),
        spec_(spec),
        fd_(events_fd),
        random_(spec.config.digest() + "/" + std::to_string(spec.seed) +
                (settings_.arm == 0 ? "" : "/" + std::to_string(settings_.arm))) {
    run_offset_ = settings_.loss_sigma * random_.normal();
    crashes_ = random_.uniform() < settings_.crash_rate;
  }

  int run() {
    if (const std::optional<int> code = before_hello()) return *code;
    for (std::int64_t step = 0; step <= settings_.steps; ++step) {
      const bool has_turn = wait_for_turn(step);
      if (const std::optional<int> code = at_step(step)) return *code;
      if (!has_turn || stop_requested != 0) {
        say(core::FailedEvent{RunOutcome::kInterrupted, "stopped by a signal after step " + std::to_string(step)});
        return 130;
      }
      if (step == settings_.steps || step % settings_.val_every == 0)
        say(core::EvalEvent{step, loss_at(step), clock(), 1024});
      if (step == settings_.steps) break;
      say_step(step);
    }
    say(core::MemoryEvent{settings_.steps, settings_.peak_bytes});
    say(core::FinishedEvent{settings_.steps, std::max<std::int64_t>(0, settings_.steps - settings_.untimed_steps),
                            clock(), loss_at(settings_.steps), settings_.peak_bytes});
    return settings_.fault == MockFault::kExitAfterFinish ? value_or(3) : 0;
  }

 private:
  void write_all(std::string_view text) const {
    if (!core::write_all(fd_, text)) _exit(1);  // there is no reader
  }

  bool wait_for_turn(std::int64_t step) {
    if (!turns_.needs_turn(step)) return true;
    say(core::TurnEvent{step});
    return turns_.wait(step, [] { return stop_requested != 0; });
  }

  void say(const core::RunEvent& event) const { write_all(core::to_line(event) + "\n"); }

  int value_or(int fallback) const { return static_cast<int>(settings_.fault_value.value_or(fallback)); }

  std::optional<int> before_hello() {
    if (settings_.fault == MockFault::kWrongProtocol) {
      Json hello = core::parse_json(core::to_line(hello_event()), "hello");
      hello["protocol"] = value_or(99);
      write_all(hello.dump() + "\n");
      sleep_ms(60'000);
      return 1;
    }
    if (settings_.fault != MockFault::kNoHello) say(hello_event());
    return std::nullopt;
  }

  core::HelloEvent hello_event() const {
    core::HelloEvent hello{"mock", "1", {{"device", "none"}}, spec_.threads, settings_.parameters};
    if (turns_.takes_turns()) hello.turn_steps = settings_.steps;
    if (!settings_.no_kernel_for.empty()) hello.environment["no_kernel_for"] = settings_.no_kernel_for;
    if (!settings_.gpu_uuid.empty()) hello.environment["gpu_uuid"] = settings_.gpu_uuid;
    return hello;
  }

  /// Produces this step's fault, if it is due. A returned value ends the process with that code.
  std::optional<int> at_step(std::int64_t step) {
    if (crashes_ && step == settings_.steps / 2) raise_plainly(SIGSEGV);
    if (step < settings_.fault_step) return std::nullopt;
    const bool is_first = step == settings_.fault_step;
    switch (settings_.fault) {
      case MockFault::kSlow:
      case MockFault::kIgnoreSignals:
        if (is_first && settings_.fault == MockFault::kIgnoreSignals) {
          signal(SIGINT, SIG_IGN);
          signal(SIGTERM, SIG_IGN);
        }
        sleep_ms(value_or(100));
        return std::nullopt;
      default: return is_first ? first_time(step) : std::nullopt;
    }
  }

  std::optional<int> first_time(std::int64_t step) {
    switch (settings_.fault) {
      case MockFault::kSignal: raise_plainly(value_or(SIGSEGV)); return 1;
      case MockFault::kNoise: std::fputs("\x1b[31mbroken \xff\xfe\xc3", stderr); return 1;
      case MockFault::kExit: std::fputs("mock engine: exiting as told\n", stderr); return value_or(1);
      case MockFault::kHang:
        for (;;) pause();
      case MockFault::kGarbage: write_all("this is not an event\n"); return std::nullopt;
      case MockFault::kCutLine: write_all("{\"event\": \"step\", \"st"); return 0;
      case MockFault::kLongLine: write_all(std::string(2'000'000, 'x')); return std::nullopt;
      case MockFault::kFlood: flood(step); return std::nullopt;
      case MockFault::kOutOfMemory:
        say(core::FailedEvent{RunOutcome::kOutOfMemory, "the mock engine simulates a lack of memory"});
        return 1;
      case MockFault::kUnsupported:
        say(core::FailedEvent{RunOutcome::kUnsupported,
                              "the mock engine simulates an engine that does not know this setting"});
        return 1;
      case MockFault::kBadAlloc:
        std::fputs("terminate called: std::bad_alloc\n", stderr);
        raise_plainly(SIGABRT);
        return 1;
      case MockFault::kRepeatedStep: say_step(step == 0 ? 0 : step - 1); return std::nullopt;
      case MockFault::kCloseEvents: close(fd_); return 0;
      case MockFault::kGrandchild: leave_grandchild(); return std::nullopt;
      default: return std::nullopt;
    }
  }

  /// Without a core file and without a sanitizer's handler.
  static void raise_plainly(int number) {
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(number, SIG_DFL);
    raise(number);
  }

  static void leave_grandchild() {
    if (core::fork_process(/*dies_with_us=*/false) == 0) {
      sleep_ms(600'000);
      _exit(0);
    }
  }

  void flood(std::int64_t step) {
    std::string text;
    for (std::int64_t i = 0; i < value_or(1'000'000); ++i) {
      text += core::to_line(step_event(step + i)) + "\n";
      if (text.size() > 60'000) {
        write_all(text);
        text.clear();
      }
    }
    write_all(text);
    step_offset_ = value_or(1'000'000);
  }

  double loss_at(std::int64_t step) const {
    if (settings_.fault == MockFault::kNan && step >= settings_.fault_step)
      return std::numeric_limits<double>::quiet_NaN();
    const double progress = static_cast<double>(step) / static_cast<double>(settings_.steps);
    const double end = settings_.loss_end + settings_.effect;
    return end + (settings_.loss_start - end) * std::exp(-6 * progress) + run_offset_;
  }

  std::optional<double> clock() const { return has_clock_ ? std::optional(clock_ms_) : std::nullopt; }

  core::StepEvent step_event(std::int64_t step) {
    const double ms = std::max(0.0, settings_.mean_step_ms(step) * (1 + settings_.step_cv * random_.normal()));
    if (step >= settings_.untimed_steps) {
      has_clock_ = true;
      clock_ms_ += ms;
    }
    core::StepEvent event;
    event.step = step;
    event.loss = loss_at(step) + 0.02 * random_.normal();
    event.step_ms = ms;
    event.train_ms = clock();
    event.phases_ms = {{"data", 0.05 * ms}, {"forward", 0.3 * ms}, {"backward", 0.5 * ms}, {"optimizer", 0.15 * ms}};
    return event;
  }

  void say_step(std::int64_t step) {
    sleep_ms(settings_.sleep_ms);
    say(step_event(step + step_offset_));
  }

  MockSettings settings_;
  const core::RunSpec& spec_;
  int fd_;
  core::TurnGate turns_ = core::TurnGate::from_environment();
  MockRandom random_;
  double run_offset_ = 0;
  bool crashes_ = false;
  bool has_clock_ = false;
  double clock_ms_ = 0;
  std::int64_t step_offset_ = 0;
};

}  // namespace

int run_mock_engine(const core::RunSpec& spec, int events_fd) {
  struct sigaction action = {};
  action.sa_handler = on_stop;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return MockEngine(spec, events_fd).run();
}

int mock_engine_main(const std::vector<std::string>& arguments) {
  return engine_main("mock engine", arguments, run_mock_engine);
}

}  // namespace nanobench::suites

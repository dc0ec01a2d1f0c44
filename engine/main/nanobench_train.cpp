// nanobench-train: runs one RunSpec and reports events. See core/protocol/FORMAT.md.
#include <ATen/Version.h>
#include <torch/version.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <string>

#include "core/base/build_info.h"
#include "core/base/error.h"
#include "core/process/resource_limits.h"
#include "engine/distributed/launch.h"
#include "engine/distributed/process_group.h"
#include "engine/kernels/engine_context.h"
#include "engine/operations/operation_run.h"
#include "engine/train/cuda_plugin.h"
#include "engine/train/evaluation_run.h"
#include "engine/train/process_settings.h"
#include "engine/train/trainer.h"

namespace {

using namespace nanobench::core;

constexpr int kExitFailed = 1;

std::atomic<bool> stop_requested{false};
std::atomic<bool> is_meeting{false};  ///< waits for the other processes of the run: nothing is lost by ending at once
void request_stop(int) {
  stop_requested = true;
  if (is_meeting) _exit(kExitInterrupted);
}

const char* const kUsage =
    "usage: nanobench-train --spec RUN.json [--events-fd N] [--device cpu|cuda|cuda:N] [--secret-file FILE]\n"
    "       nanobench-train --version\n"
    "       nanobench-train --build-info                      the same as one JSON object, for programs\n"
    "       nanobench-train --plugin-info                     loads the GPU plugin, and says so in JSON, or why not\n\n"
    "Trains one fully resolved run and writes its events as JSON Lines to file descriptor N (default: 1, stdout).\n"
    "--device overrides the device of the run. Started by torchrun, mpirun or srun, the program is one process of the "
    "run;\n--secret-file (or NANOBENCH_SECRET_FILE) names the file of mode 600 with the secret that its processes "
    "share.\n"
    "People use `nanobench train` and `nanobench run`, which start this program.\n";

struct EngineArguments {
  std::string spec_file;
  int events_fd = 1;
  std::string device;       ///< empty: as the specification says
  std::string secret_file;  ///< empty: as the environment says
};

EngineArguments parse_arguments(int argc, char** argv) {
  EngineArguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--spec") {
      arguments.spec_file = argv[i + 1];
    } else if (option == "--device") {
      arguments.device = argv[i + 1];
    } else if (option == "--secret-file") {
      arguments.secret_file = argv[i + 1];
    } else if (option == "--events-fd") {
      char* end = nullptr;
      const long fd = std::strtol(argv[i + 1], &end, 10);
      if (*end != '\0' || fd < 0 || fd > 1 << 20)
        throw Error(ErrorCode::kInvalidArgument,
                    "--events-fd: expected a file descriptor, got " + std::string(argv[i + 1]));
      arguments.events_fd = static_cast<int>(fd);
    } else {
      throw Error(ErrorCode::kInvalidArgument, "unknown option " + option);
    }
  }
  if (arguments.spec_file.empty() || argc % 2 == 0)
    throw Error(ErrorCode::kInvalidArgument, "expected --spec RUN.json");
  return arguments;
}

struct Failure {
  RunOutcome outcome;
  std::string message;
  int exit_code;
};

/// Whether the message reports exhausted memory, of the machine or of a GPU, in the words of LibTorch, cuBLAS or our
/// own checks.
bool reports_exhausted_memory(const std::string& message) {
  for (const char* const words : {"DefaultCPUAllocator", "CUDA out of memory", "CUDA error: out of memory",
                                  "CUBLAS_STATUS_ALLOC_FAILED", "cudaErrorMemoryAllocation"})
    if (message.find(words) != std::string::npos) return true;
  return false;
}

/// Call in a catch block.
Failure current_failure() {
  const auto failure = [](RunOutcome outcome, const std::string& message) {
    if (reports_exhausted_memory(message)) outcome = RunOutcome::kOutOfMemory;
    return Failure{outcome, message, outcome == RunOutcome::kUnsupported ? kExitUsage : kExitFailed};
  };
  try {
    throw;
  } catch (const Error& error) {
    return failure(error.code() == ErrorCode::kInternal ? RunOutcome::kCrashed : RunOutcome::kUnsupported,
                   error.what());
  } catch (const PeerFailed& error) {
    return failure(error.outcome(), error.what());
  } catch (const std::bad_alloc&) {
    return failure(RunOutcome::kOutOfMemory, "the engine could not allocate memory");
  } catch (const c10::Error& error) {
    return failure(RunOutcome::kCrashed, error.what_without_backtrace());
  } catch (const std::exception& error) {
    return failure(RunOutcome::kCrashed, std::string("internal error: ") + error.what());
  }
}

int exit_code_of(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::kCompleted: return 0;
    case RunOutcome::kInterrupted: return kExitInterrupted;
    default: return kExitFailed;
  }
}

RunOutcome train(const RunSpec& spec, MetricSink& sink, ProcessGroup& processes, TurnGate* turns = nullptr) {
  Communicator& host = processes.communicator();
  RunDevice device(spec.device, host.host_share(), spec.config.gpu);
  Communicator& communicator =
      device.communicator_for({.host = &host, .check_alive = [&processes] { processes.check_alive(); }});
  return Trainer(spec, sink, stop_requested, communicator, device, turns).run();
}

/// Reports before the end of the run how many strangers' connections were dropped: no event comes after the end.
class SinkOfFirst final : public MetricSink {
 public:
  SinkOfFirst(MetricSink& sink, const ProcessGroup& processes) : sink_(sink), processes_(processes) {}

  void report(const RunEvent& event) override {
    const std::int64_t dropped = processes_.dropped_connections();
    if (dropped > 0 && std::holds_alternative<FinishedEvent>(event)) {
      sink_.report(WarningEvent{
          "connections to the first process that did not prove that they know the secret of this run, and were "
          "dropped: " +
          std::to_string(dropped)});
    }
    sink_.report(event);
  }

 private:
  MetricSink& sink_;
  const ProcessGroup& processes_;
};

/// Rank 0 reports and decides how the run ended.
int run_first(const RunSpec& spec, MetricSink& sink, ProcessGroup& processes, TurnGate& turns) {
  SinkOfFirst sink_of_first(sink, processes);
  const RunOutcome outcome = train(spec, sink_of_first, processes, &turns);
  processes.finish();
  return exit_code_of(outcome);
}

/// Other ranks report only the reason of their failure, to rank 0.
[[noreturn]] void run_other(const RunSpec& spec, int events_fd, ProcessGroup& processes) {
  if (events_fd > STDERR_FILENO) close(events_fd);  // the reader must see the end when rank 0 ends
  int exit_code = 0;
  try {
    NullMetricSink sink;
    train(spec, sink, processes);
    processes.finish();
  } catch (const PeerFailed& error) {
    processes.report_failure({error.outcome(), error.what()});  // known already, unless this process found it out
    processes.wait_for_first_process();
    exit_code = kExitFailed;
  } catch (...) {
    const Failure failure = current_failure();
    const std::string who = process_name(processes.rank(), processes.communicator().size());
    processes.report_failure({failure.outcome, who + ": " + failure.message});
    processes.wait_for_first_process();
    exit_code = kExitFailed;
  }
  _exit(exit_code);  // without the cleaning up of exit, which belongs to rank 0
}

int run_reporting_failures(const RunSpec& spec, int events_fd, const std::string& secret_file) {
  keep_freed_memory();
  TurnGate turns = TurnGate::from_environment();
  EngineContext engine;
  engine.set_uses_kernels(spec.kernels == KernelChoice::kFused);
  bool reports = true;
  FdMetricSink sink(events_fd);
  try {
    std::optional<Launch> launch = find_launch();
    if (launch && !secret_file.empty()) launch->secret_file = secret_file;
    reports = !launch || launch->rank == 0;
    if (spec.operation) return exit_code_of(run_operation(spec, sink, stop_requested));
    if (spec.only_evaluates) {
      const RunDevice device(spec.device, HostShare{}, spec.config.gpu);
      return exit_code_of(run_evaluations(spec, sink, stop_requested, device));
    }
    is_meeting = launch.has_value();
    const auto processes =
        join_processes(static_cast<int>(spec.config.distributed.processes), spec.communicator, launch);
    is_meeting = false;
    processes->watch([&](const ProcessFailure& failure) {
      try {
        if (reports) sink.report(FailedEvent{failure.outcome, failure.message});
      } catch (const Error&) {  // the reader has gone
      }
      if (!reports) processes->wait_for_first_process();
      _exit(kExitFailed);  // whatever the other threads compute is for nothing
    });
    if (processes->rank() > 0) run_other(spec, events_fd, *processes);
    return run_first(spec, sink, *processes, turns);
  } catch (...) {
    const Failure failure = current_failure();
    if (reports) {
      sink.report(FailedEvent{failure.outcome, failure.message});
    } else {
      std::fprintf(stderr, "nanobench-train: %s\n", failure.message.c_str());
    }
    return failure.exit_code;
  }
}

/// For `nanobench doctor`: loads the GPU plugin with all that it needs. Opens no GPU.
int print_plugin_info() {
  try {
    const CudaPlugin& plugin = load_cuda_plugin();
    const Json facts = {{"interface", plugin.version}, {"libtorch", plugin.libtorch}};
    std::printf("%s\n", facts.dump().c_str());
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return kExitFailed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  ignore_file_size_signal();
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("nanobench-train %s, LibTorch %s, %s\n", version_text().c_str(), TORCH_VERSION,
                at::get_cpu_capability().c_str());
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "--build-info") == 0) {
    const Json facts = {
        {"version", version_text()}, {"libtorch", TORCH_VERSION}, {"cpu_capability", at::get_cpu_capability()}};
    std::printf("%s\n", facts.dump().c_str());
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "--plugin-info") == 0) return print_plugin_info();
  restart_with_settings(argv);
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const EngineArguments arguments = parse_arguments(argc, argv);
    Json json = read_json_file(arguments.spec_file);
    if (!arguments.device.empty() && json.is_object()) json["device"] = arguments.device;
    const RunSpec spec = read_run_spec(json, arguments.spec_file);
    return run_reporting_failures(spec, arguments.events_fd, arguments.secret_file);
  } catch (const Error& error) {
    std::fprintf(stderr, "nanobench-train: %s\n", error.what());
    return error.code() == ErrorCode::kInternal ? kExitFailed : kExitUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nanobench-train: internal error: %s\n", error.what());
    return kExitFailed;
  }
}

#include "suites/slurm/slurm_runner.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/hardware/processors.h"
#include "results/provenance.h"
#include "suites/run/runner.h"
#include "suites/slurm/progress_file.h"
#include "suites/slurm/shared_folder.h"
#include "suites/slurm/task_files.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::RunOutcome;

/// Writes the log of a task and its run's progress. An interrupted runner's message is meant for people at a terminal.
class TaskObserver : public RunnerObserver {
 public:
  explicit TaskObserver(const SubmissionFolder& folder) : folder_(folder) {}

  void on_run_started(const Plan& plan, const PlannedRun& run, std::int64_t) override {
    ProgressHead head{.host = results::this_process().host, .started_at = results::utc_now(), .steps = {}};
    if (run.spec.external.is_null()) head.steps = plan.cell_of(run).config.run.stop_after;
    progress_.reset();
    progress_.emplace(folder_.progress(run.position), std::move(head));
  }

  void on_event(const Plan&, const PlannedRun&, const core::RunEvent& event) override {
    if (progress_) progress_->see(event);
  }

  void on_run_finished(const Plan& plan, const PlannedRun& run, const results::RunRecord& record, bool) override {
    progress_.reset();
    if (record.result->outcome == RunOutcome::kInterrupted) return;
    std::printf("%s seed %llu: %s %s\n", plan.cell_of(run).label.c_str(), static_cast<unsigned long long>(run.seed),
                enum_name(record.result->outcome).c_str(), record.result->message.c_str());
    std::fflush(stdout);
  }

 private:
  const SubmissionFolder& folder_;
  std::optional<ProgressWriter> progress_;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The engine as the submitter identified it: without instructions, which depend on the node.
EngineUse use_of(const Plan& plan) {
  return {.device = plan.runs.empty() ? core::kCpuDevice : plan.runs.front().spec.device, .vector_path = std::nullopt};
}

/// The part of the node that Slurm has given this task, by the GPUs or the processors that are its own.
Seat seat_here() {
  for (const char* name : {"SLURM_JOB_GPUS", "SLURM_STEP_GPUS"}) {
    if (const std::string gpus = variable(name); !gpus.empty())
      return {.name = "GPU " + gpus, .env = {}, .processors = {}};
  }
  std::vector<int> numbers;
  for (const core::Processor& processor : core::usable_processors()) numbers.push_back(processor.number);
  return {.name = "processors " + joined(numbers, ","), .env = {}, .processors = {}};
}

/// What this node lacks that every run needs; empty if nothing.
std::string trouble_of(const Plan& plan, const std::string& host) {
  const fs::path program = plan.engine.command.front();
  const bool is_path = program.string().find('/') != std::string::npos;  // else PATH is searched
  if (is_path && access(program.c_str(), X_OK) != 0)
    return "the engine " + program.string() + " is not on " + host + ", or cannot be executed there";
  if (plan.engine.name == results::kNativeEngine &&
      native_engine(program, use_of(plan)).version != plan.engine.version) {
    return "the engine " + program.string() + " on " + host +
           " is another build than the one that the runs were planned for";
  }
  for (const PlannedRun& run : plan.runs) {
    std::vector<std::string> files = run.spec.train_shards;
    files.insert(files.end(), run.spec.val_shards.begin(), run.spec.val_shards.end());
    if (run.spec.vocabulary) files.push_back(*run.spec.vocabulary);
    for (const std::string& file : files) {
      if (access(file.c_str(), R_OK) != 0)
        return "the data file " + file + " is not on " + host + "; set XDG_CACHE_HOME to a folder that nodes share";
    }
  }
  return "";
}

class Task {
 public:
  Task(const fs::path& folder, std::size_t index) : folder_(folder), index_(index) {
    const fs::path plan_file = folder_.plan().plan_file();
    plan_ = read_plan(core::read_json_file(plan_file, core::kJsonExchange), plan_file.string());
    plan_.hardware = results::hardware_class(results::machine_info());
    if (plan_.suite.external) plan_.suite.external->seats.places = {seat_here()};
  }

  int run() {
    const auto tasks = read_tasks(core::read_json_file(folder_.tasks_file(), core::kJsonExchange),
                                  folder_.tasks_file().string(), plan_.runs.size());
    if (index_ >= tasks.size())
      throw Error(ErrorCode::kDataLoss, folder_.tasks_file().string() + " has no task " + std::to_string(index_));
    const std::string trouble = trouble_of(plan_, results::this_process().host);
    for (const std::size_t position : tasks[index_]) {
      if (is_there(folder_.result(position))) continue;  // Slurm has restarted this task
      const PlannedRun& run = plan_.runs[position];
      mark_started(run);
      if (is_there(folder_.abandoned())) {  // after the mark, because the submitter checks for marks after giving up
        std::error_code ignored;
        fs::remove(folder_.started(position), ignored);
        std::printf("this job was given up before it began\n");
        return core::kExitSuccess;
      }
      if (!trouble.empty()) {
        store_trouble(run, trouble);
      } else if (!execute(run)) {
        return core::kExitInterrupted;
      }
    }
    return core::kExitSuccess;
  }

 private:
  void mark_started(const PlannedRun& run) const {
    write_whole(folder_.started(run.position),
                variable("SLURM_ARRAY_JOB_ID") + " " + results::this_process().host + " " + results::utc_now() + "\n");
  }

  void store_trouble(const PlannedRun& run, const std::string& trouble) const {
    std::printf("%s\n", trouble.c_str());
    publish_end(plan_, run, {.outcome = RunOutcome::kUnsupported, .message = trouble}, folder_);
  }

  /// Returns false if we were asked to stop. Unfinished runs then have no result, because only Slurm knows why the task
  /// was stopped.
  bool execute(const PlannedRun& run) {
    const LocalStore local(folder_.plan());
    bool is_interrupted = false;
    try {
      results::Store store(local.file());
      is_interrupted = run_plan(plan_of(plan_, run), store, {.keeps_logs = false}, observer_).is_interrupted;
      is_interrupted = is_interrupted && !store.find_evidence(run.digest, needed_evidence(run));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable) throw;
      store_trouble(run, error.what());
      return true;
    }
    if (is_interrupted) return false;
    if (!local.publish_to(folder_, run.position)) std::printf("another task has brought this result\n");
    return true;
  }

  SubmissionFolder folder_;
  std::size_t index_;
  Plan plan_;
  TaskObserver observer_{folder_};
};

}  // namespace

int slurm_task_main(const std::vector<std::string>& arguments) {
  try {
    if (arguments.size() != 2 || !is_job_id(arguments[1]))
      throw Error(ErrorCode::kInvalidArgument, "expected the folder of a submission and an array index");
    return Task(arguments[0], std::stoul(arguments[1])).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nanobench: %s\n", error.what());
    return core::exit_code_of(error);
  }
}

}  // namespace nanobench::suites

#include "suites/slurm/slurm_runner.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "results/merge.h"
#include "suites/run/interrupt.h"
#include "suites/run/outdated_runs.h"
#include "suites/slurm/glance.h"
#include "suites/slurm/shared_folder.h"
#include "suites/slurm/submitter.h"
#include "suites/slurm/task_files.h"
#include "suites/slurm/task_watch.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::RunOutcome;
using results::RunRecord;

constexpr double kSettlePolls = 3;
constexpr double kTickSeconds = 0.5;
constexpr double kCancelSeconds = 30;  // time for cancelled tasks to end
constexpr double kLookForResultsSeconds = 1;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Makes paths absolute, because the nodes start in another folder.
Plan with_whole_paths(Plan plan) {
  const auto make_whole = [](std::string& path) { path = fs::absolute(path).lexically_normal().string(); };
  std::string& program = plan.engine.command.front();
  if (program.find('/') != std::string::npos) make_whole(program);
  for (PlannedRun& run : plan.runs) {
    for (std::string& shard : run.spec.train_shards) make_whole(shard);
    for (std::string& shard : run.spec.val_shards) make_whole(shard);
    if (run.spec.vocabulary) make_whole(*run.spec.vocabulary);
  }
  return plan;
}

void check_plan(const Plan& plan) {
  for (const PlannedRun& run : plan.runs) {
    if (plan.cell_of(run).config.distributed.processes <= 1) continue;
    throw Error(ErrorCode::kUnavailable,
                plan.suite.source + ": " + plan.cell_of(run).label + " takes " +
                    std::to_string(plan.cell_of(run).config.distributed.processes) +
                    " processes a run; --executor slurm takes suites with one (--processes 1)");
  }
}

/// One call of run_on_slurm. A run is missing (to be submitted), awaited from a submission, or done.
class SlurmSession {
 public:
  SlurmSession(const Plan& plan, results::Store& store, const RunnerOptions& options, const SlurmOptions& slurm,
               RunnerObserver& observer)
      : plan_(plan),
        store_(store),
        options_(options),
        slurm_(slurm),
        observer_(observer),
        folder_(slurm.folder / plan_folder_name(plan.suite.name, plan.digest)),
        link_(scratch_link(exchange_folder(store.file()), folder_.path().filename().string())),
        watch_(kSettlePolls * slurm.poll_seconds) {
    make_shared_folder(slurm.folder);
    lock_ = std::make_unique<SubmitterLock>(folder_.lock_file());
  }

  SuiteRunResult run() {
    begin();
    for (;;) {
      collect();
      if (count(Stage::kDone) == plan_.runs.size()) return finish();
      if (interrupts_.count() > 0) return interrupted();
      if (is_due(next_question_s_, slurm_.poll_seconds)) ask();
      if (count(Stage::kMissing) > 0) submit();
      wait();
    }
  }

 private:
  enum class Stage { kMissing, kWaiting, kDone };
  struct RunStage {
    Stage stage = Stage::kMissing;
    int submission = 0;  ///< the newest one that it was submitted in
  };

  /// Finds the plan's row, finished runs, and what an earlier submitter submitted.
  void begin() {
    std::optional<SlurmState> state = read_former_state();
    RunnerOptions options = options_;  // those of the command that submitted first
    if (state) options.is_fresh = state->is_fresh;
    if (state) options.kept_seeds = static_cast<std::size_t>(state->kept_seeds);
    if (!state) {
      std::error_code ignored;
      fs::remove_all(folder_.path(), ignored);  // left by a submitter that was killed before its first submission
      result_.plan_id = store_.ensure_plan(stored_plan(plan_, options_.argv), options.is_fresh);
      state = SlurmState{.plan_digest = plan_.digest,
                         .plan_made_at = store_.plan(result_.plan_id).created_at,
                         .is_fresh = options.is_fresh,
                         .kept_seeds = static_cast<std::int64_t>(options.kept_seeds),
                         .submissions = {}};
    } else {
      result_.plan_id = former_plan(*state);
      store_.note_use(result_.plan_id);
    }
    collector_ = std::make_unique<Collector>(plan_, result_.plan_id, store_);
    submitter_ = std::make_unique<Submitter>(plan_, slurm_, folder_, std::move(*state));
    submitter_->recover();
    former_submissions_ = static_cast<int>(submitter_->state().submissions.size());
    stages_.resize(plan_.runs.size());
    for (const Submission& submission : submitter_->state().submissions) note(submission);
    reuse(options);
    if (const std::string ids = waiting_jobs(" and "); !ids.empty())
      observer_.on_message("Slurm job " + ids + " was submitted before for this suite; going on with it");
  }

  std::optional<SlurmState> read_former_state() const {
    if (!is_there(folder_.state_file())) return std::nullopt;
    SlurmState state = read_state(core::read_json_file(folder_.state_file(), core::kJsonExchange),
                                  folder_.state_file().string(), plan_.runs.size());
    if (state.plan_digest != plan_.digest)
      throw Error(ErrorCode::kDataLoss, folder_.state_file().string() + " is of another plan; move the folder away");
    return state;
  }

  /// The plan's row that the results will belong to. The database may have been replaced since.
  std::int64_t former_plan(const SlurmState& state) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      for (const results::PlanRecord& plan : store_.plans(plan_.suite.name)) {
        if (plan.digest == state.plan_digest && plan.created_at == state.plan_made_at) return plan.id;
      }
      results::merge_store(store_.file(), folder_.plan_store());
    }
    throw Error(ErrorCode::kDataLoss, folder_.plan_store().string() + " does not hold the plan; move the folder away");
  }

  void note(const Submission& submission) {
    if (submission.is_abandoned) return;
    for (const auto& task : submission.tasks) {
      for (const std::size_t position : task) stages_[position] = {Stage::kWaiting, submission.number};
    }
  }

  void reuse(const RunnerOptions& options) {
    std::vector<bool> reusable(plan_.runs.size(), false);
    std::map<std::size_t, std::int64_t> evidence;
    OutdatedRuns outdated;
    for (const PlannedRun& run : plan_.runs) {
      if (!may_reuse(plan_, run, options)) continue;
      const std::optional<std::int64_t> id = store_.find_evidence(run.digest, needed_evidence(run));
      if (!id) outdated.look_for(store_, run, /*needs_times=*/true);
      if (!id) continue;
      reusable[run.position] = true;
      evidence[run.position] = *id;
    }
    observer_.on_plan(plan_, result_.plan_id, reusable);
    for (const std::string& sentence : outdated.sentences()) observer_.on_message(sentence);
    for (const auto& [position, id] : evidence) {
      store_.answer_line(result_.plan_id, static_cast<std::int64_t>(position), id);
      stages_[position].stage = Stage::kDone;
      ++result_.reused;
      observer_.on_run_finished(plan_, plan_.runs[position], store_.run(id), true);
    }
    for (const PlannedRun& run : plan_.runs) {
      RunStage& stage = stages_[run.position];
      if (stage.stage != Stage::kMissing || !options.left_out.contains(plan_.cell_of(run).label)) continue;
      stage.stage = Stage::kDone;
      ++result_.left_out;
      observer_.on_run_left_out(plan_, run);
    }
  }

  std::size_t count(Stage stage) const {
    return static_cast<std::size_t>(
        std::count_if(stages_.begin(), stages_.end(), [&](const RunStage& run) { return run.stage == stage; }));
  }

  /// Collects results that have arrived since.
  void collect() {
    for (const Submission& submission : submitter_->state().submissions) {
      if (submission.is_abandoned) continue;
      const SubmissionFolder folder = submitter_->folder_of(submission);
      for (const std::size_t position : Collector::available(folder, expected_of(submission))) {
        collected_.insert({submission.number, position});
        take(submission, position, collector_->collect(folder, position));
      }
    }
  }

  std::vector<std::size_t> expected_of(const Submission& submission) const {
    std::vector<std::size_t> positions;
    for (const auto& task : submission.tasks) {
      for (const std::size_t position : task) {
        const bool is_open = stages_[position].stage != Stage::kDone;
        if (is_open && !collected_.contains({submission.number, position})) positions.push_back(position);
      }
    }
    std::sort(positions.begin(), positions.end());
    return positions;
  }

  void take(const Submission& submission, std::size_t position, const RunRecord& record) {
    RunStage& run = stages_[position];
    const bool is_final = record.result->outcome != RunOutcome::kInterrupted ||
                          final_interruptions_.contains({submission.number, position});
    if (!is_final) {
      if (run.submission != submission.number) return;  // resubmitted since
      run.stage = Stage::kMissing;
      observer_.on_message(plan_.cell_of(plan_.runs[position]).label + " seed " +
                           std::to_string(plan_.runs[position].seed) + " is run again: " + record.result->message);
      return;
    }
    run.stage = Stage::kDone;
    switch (record.result->outcome) {
      case RunOutcome::kCompleted: ++result_.completed; break;
      case RunOutcome::kDiverged: ++result_.diverged; break;
      default: ++result_.failed;
    }
    observer_.on_run_finished(plan_, plan_.runs[position], record, false);
  }

  /// True the first time, then once every `seconds`.
  static bool is_due(double& next_s, double seconds) {
    if (now_s() < next_s) return false;
    next_s = now_s() + seconds;
    return true;
  }

  void ask() {
    const std::vector<ExpectedTask> expected = expected_tasks();
    if (expected.empty()) return;
    const QueueAnswer answer = ask_queue(names_of(expected));
    if (!answer.is_known) {
      say("Slurm gives no answer (" + answer.trouble + "); asking again until it does");
      return;
    }
    const std::vector<GoneTask> gone = watch_.look(expected, answer.tasks, now_s());
    note_queue();
    if (!watch_.summary().empty()) say("Slurm job " + waiting_jobs(" and ") + ": " + watch_.summary());
    if (gone.empty()) return;
    collect();  // what arrived between the last look and the queue's answer
    for (const GoneTask& task : gone) give_up(task);
    collect();
  }

  /// Only for display; nothing depends on it.
  void note_queue() {
    if (watch_.summary() == noted_queue_) return;
    noted_queue_ = watch_.summary();
    try {
      write_whole(folder_.queue_file(), noted_queue_ + "\n");
    } catch (const Error& error) {
      rethrow_internal(error);  // others are ignored: the next important write will fail and report it
    }
  }

  std::vector<ExpectedTask> expected_tasks() const {
    std::vector<ExpectedTask> expected;
    for (const Submission& submission : submitter_->state().submissions) {
      if (submission.is_abandoned) continue;
      for (std::size_t i = 0; i < submission.tasks.size(); ++i) {
        if (!open_runs(submission, i).empty())
          expected.push_back({.submission = submission.number,
                              .job_id = submission.job_id.value_or(""),
                              .index = static_cast<std::int64_t>(i),
                              .is_former = submission.number <= former_submissions_});
      }
    }
    return expected;
  }

  std::vector<std::string> names_of(const std::vector<ExpectedTask>& tasks) const {
    std::set<std::string> names;
    for (const ExpectedTask& task : tasks) names.insert(submission(task.submission).name);
    return {names.begin(), names.end()};
  }

  const Submission& submission(int number) const {
    return submitter_->state().submissions[static_cast<std::size_t>(number) - 1];
  }

  /// The runs of a task that are still awaited.
  std::vector<std::size_t> open_runs(const Submission& submission, std::size_t index) const {
    std::vector<std::size_t> open;
    for (const std::size_t position : submission.tasks[index]) {
      const RunStage& run = stages_[position];
      if (run.stage == Stage::kWaiting && run.submission == submission.number) open.push_back(position);
    }
    return open;
  }

  /// The task is over: its runs without a result get one that reports this, or are resubmitted.
  void give_up(const GoneTask& gone) {
    const Submission& from = submission(gone.task.submission);
    const auto index = static_cast<std::size_t>(gone.task.index);
    const std::vector<std::size_t> open = open_runs(from, index);
    if (open.empty()) return;
    const SubmissionFolder folder = submitter_->folder_of(from);
    const auto has_begun = [&](std::size_t position) { return is_there(folder.started(position)); };
    LostTask lost{.name = "Slurm task " + gone.task.job_id + "_" + std::to_string(index),
                  .state = gone.state,
                  .node = gone.node,
                  .last_words = last_words(folder.log(index)),
                  .has_begun_any = std::any_of(from.tasks[index].begin(), from.tasks[index].end(), has_begun),
                  .has_begun_first = has_begun(open.front()),
                  .was_gone_before = gone.was_gone_before,
                  .times_submitted = submitter_->state().times_submitted(open.front())};
    if (lost.state.empty()) lost.state = ask_accounting(gone.task.job_id, gone.task.index).value_or("");
    const LostEnd end = end_of(lost);
    for (std::size_t i = 0; i < open.size(); ++i) {
      const bool is_first = i == 0;
      const bool is_stored = is_first ? end.is_first_stored : end.are_others_stored;
      const bool is_again = is_first ? end.is_first_again : !end.are_others_stored;
      if (is_stored && !is_again) final_interruptions_.insert({from.number, open[i]});
      if (is_stored) {
        publish_end(plan_, plan_.runs[open[i]], {.outcome = end.outcome, .message = end.message}, folder);
      } else {
        stages_[open[i]].stage = Stage::kMissing;
      }
    }
    if (!end.is_first_stored) say(end.message + "; what it lacks is submitted again");
  }

  void submit() {
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      if (stages_[i].stage == Stage::kMissing) positions.push_back(i);
    }
    const bool is_first = submitter_->state().submissions.empty();
    if (is_first) make_folder();
    try {
      const Submission& made = submitter_->submit(positions);
      note(made);
      observer_.on_message("submitted Slurm job " + *made.job_id + " to partition " + slurm_.partition.name + ": " +
                           counted(static_cast<std::int64_t>(positions.size()), "run") + " in " +
                           counted(static_cast<std::int64_t>(made.tasks.size()), "task"));
      next_question_s_ = 0;
    } catch (const Error&) {
      // If refused, Slurm knows nothing about it; if unanswered, the folder is needed to find it again.
      if (is_first && submitter_->state().submissions.back().is_abandoned) remove_folder();
      throw;
    }
  }

  void make_folder() {
    make_shared_folder(folder_.path());
    std::error_code ignored;
    if (folder_.path().parent_path() != link_.parent_path()) {  // so that the folder can be found from the database
      fs::create_directories(link_.parent_path(), ignored);
      fs::remove(link_, ignored);
      fs::create_directory_symlink(folder_.path(), link_, ignored);
    }
    fs::remove(folder_.plan_store(), ignored);
    results::copy_plan(folder_.plan_store(), store_.file(), result_.plan_id);
    results::make_movable(folder_.plan_store());
    write_whole(folder_.plan_file(), plan_text(with_whole_paths(plan_)) + "\n");
  }

  void remove_folder() {
    std::error_code ignored;
    fs::remove(folder_.state_file(), ignored);  // first: without it the rest is ignored
    fs::remove_all(folder_.path(), ignored);
    lock_->remove();
    fs::remove(slurm_.folder, ignored);  // only if empty, like the link's folder below
    fs::remove(link_, ignored);
    fs::remove(link_.parent_path(), ignored);
  }

  /// The jobs with awaited runs.
  std::string waiting_jobs(const std::string& separator) const { return joined(waiting_job_ids(), separator); }

  std::vector<std::string> waiting_job_ids() const {
    std::vector<std::string> ids;
    for (const ExpectedTask& task : expected_tasks()) {
      if (!task.job_id.empty() && (ids.empty() || ids.back() != task.job_id)) ids.push_back(task.job_id);
    }
    return ids;
  }

  /// Does not repeat a sentence in succession.
  void say(const std::string& text) {
    if (text != last_said_) observer_.on_message(text);
    last_said_ = text;
  }

  void wait() {
    const double until = now_s() + std::min(kLookForResultsSeconds, slurm_.poll_seconds);
    while (now_s() < until && interrupts_.count() == 0) {
      interrupts_.wait(std::clamp(until - now_s(), 0.001, kTickSeconds));
      observer_.on_tick();
    }
  }

  SuiteRunResult finish() {
    remove_folder();
    return result_;
  }

  SuiteRunResult interrupted() {
    result_.is_interrupted = true;
    const std::vector<std::string> ids = waiting_job_ids();
    if (ids.empty()) return result_;
    if (slurm_.cancels_on_interrupt) {
      const std::string trouble = cancel_jobs(ids);
      if (trouble.empty()) wait_until_cancelled();
      observer_.on_message(trouble.empty() ? "interrupted; cancelled Slurm job " + waiting_jobs(" and ") +
                                                 "; the same command submits again what it lacks"
                                           : "interrupted, but scancel failed: " + trouble);
      return result_;
    }
    observer_.on_message("interrupted; Slurm job " + waiting_jobs(" and ") +
                         " goes on: the same command collects its results, `scancel " + waiting_jobs(" ") +
                         "` cancels it");
    return result_;
  }

  /// If the same command is repeated at once, it must find the tasks ended, because it treats a cancellation that it
  /// observes as final.
  void wait_until_cancelled() {
    const std::vector<std::string> names = names_of(expected_tasks());
    const int interrupts = interrupts_.count();
    const double until = now_s() + kCancelSeconds;
    while (now_s() < until && interrupts_.count() == interrupts) {
      const QueueAnswer answer = ask_queue(names);
      const bool is_over =
          std::all_of(answer.tasks.begin(), answer.tasks.end(), [](const QueuedTask& task) { return task.is_over(); });
      if (answer.is_known && is_over) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      observer_.on_tick();
    }
  }

  const Plan& plan_;
  results::Store& store_;
  const RunnerOptions& options_;
  const SlurmOptions& slurm_;
  RunnerObserver& observer_;
  InterruptGuard interrupts_;
  PlanFolder folder_;
  fs::path link_;  ///< beside the database, if the folder is elsewhere
  std::unique_ptr<SubmitterLock> lock_;
  std::unique_ptr<Collector> collector_;
  std::unique_ptr<Submitter> submitter_;
  TaskWatch watch_;
  std::vector<RunStage> stages_;                               ///< by position
  std::set<std::pair<int, std::size_t>> collected_;            ///< submission and position
  std::set<std::pair<int, std::size_t>> final_interruptions_;  ///< interrupted for good in this call
  int former_submissions_ = 0;                                 ///< submissions of earlier calls
  double next_question_s_ = 0;
  std::string last_said_;
  std::string noted_queue_;
  SuiteRunResult result_;
};

}  // namespace

results::MachineInfo machine_of(const Partition& partition) {
  results::MachineInfo machine;
  machine.architecture = "slurm";
  machine.cpu_model = "partition " + partition.name;
  machine.cores = partition.cpus;
  return machine;
}

SuiteRunResult run_on_slurm(const Plan& plan, results::Store& store, const RunnerOptions& options,
                            const SlurmOptions& slurm, RunnerObserver& observer) {
  check_plan(plan);
  check_sbatch_options(slurm.sbatch_options);
  return SlurmSession(plan, store, options, slurm, observer).run();
}

}  // namespace nanobench::suites

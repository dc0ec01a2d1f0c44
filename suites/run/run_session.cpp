#include "suites/run/run_session.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"
#include "results/metric.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;

constexpr auto kTick = std::chrono::milliseconds(500);
constexpr std::chrono::duration<double> kLookForWords{0.1};

std::chrono::steady_clock::duration seconds(double value) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(value));
}

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

/// Makes an engine's output safe for a database, JSON and a terminal: valid UTF-8 without control characters.
std::string plain_text(const std::string& text) {
  std::string plain = core::as_utf8(text);
  for (char& c : plain) {
    const auto code = static_cast<unsigned char>(c);
    if ((code < 0x20 && c != '\n' && c != '\t') || code == 0x7f) c = ' ';
  }
  return plain;
}

/// The resources that the engine used, as facts named in results/host_load.h.
results::Facts used_facts(const core::ProcessExit& exit) {
  return {{"used/user_ms", std::to_string(exit.user_ms)},
          {"used/system_ms", std::to_string(exit.system_ms)},
          {"used/voluntary_switches", std::to_string(exit.voluntary_switches)},
          {"used/involuntary_switches", std::to_string(exit.involuntary_switches)}};
}

/// A port that nobody listens on now, so that the processes of runs side by side find each other and no others.
std::optional<int> free_port() {
  const core::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (!socket.is_open() || bind(socket.get(), any, size) != 0 || getsockname(socket.get(), any, &size) != 0)
    return std::nullopt;
  return ntohs(address.sin_port);
}

/// What a run has by the seat that it is made on; none of it is part of its identity.
void add_seat(core::Json& external, const Seat& seat) {
  external["seat"] = seat.name;
  core::Json& env = external.at("env");
  if (const std::optional<int> port = free_port()) {
    for (const char* name : {"MASTER_PORT", "PET_MASTER_PORT"}) {  // torchrun reads the second one
      if (!env.contains(name)) env[name] = std::to_string(*port);
    }
  }
  for (const auto& [name, value] : seat.env) env[name] = value;
}

/// Absent, too, where there is no room for its files: the run is then made without it.
std::optional<PythonModules> modules_of(const PlannedRun& run) {
  if (run.spec.external.is_null()) return std::nullopt;
  try {
    return std::optional<PythonModules>(std::in_place, run.spec.external);
  } catch (const Error& error) {
    core::rethrow_internal(error);
    return std::nullopt;
  }
}

std::string spec_text(const PlannedRun& run, std::int64_t run_id, const MarkedProcesses& strays,
                      const std::optional<PythonModules>& modules, const EnginePlace& place,
                      const KeptWeights& weights) {
  core::RunSpec spec = run.spec;
  spec.run_id = "run-" + std::to_string(run_id);
  if (!strays.mark().empty()) spec.external["mark"] = strays.mark();
  if (modules) spec.external["python_hook"] = modules->folder();
  if (place.seat) add_seat(spec.external, *place.seat);
  spec.save_file = weights.save_file;
  spec.resume_file = weights.resume_file;
  return core::to_json(spec).dump();
}

[[noreturn]] void refuse_changed(const std::string& what) {
  throw core::Refusal(ErrorCode::kIncomplete, core::Reason::kChanged,
                      what +
                          " changed after the suite began, so the suite ends here; what is measured is kept; run the "
                          "same command again, which measures the whole suite with the changed files");
}

}  // namespace

void check_trainer(const Plan& plan, const PlannedRun& run) {
  const core::Json& settings = run.spec.external;
  if (settings.is_null()) return;
  const core::Json files = settings.value("files", core::Json::object());
  for (const auto& [name, digest] : files.items()) {
    if (name == settings.value("log_file", "")) continue;
    const std::filesystem::path file = std::filesystem::path(settings.at("folder").get<std::string>()) / name;
    std::error_code ignored;
    const bool is_there = std::filesystem::is_regular_file(file, ignored);
    if (!is_there || core::digest_of_file(file) != digest.get<std::string>())
      refuse_changed("the trainer's file " + name);
  }
  if (plan.engine.version_of_run && plan.engine.version_of_run("") != plan.engine.version)
    refuse_changed("the set of the trainer's files");
}

RunSession::RunSession(const Plan& plan, const PlannedRun& run, std::int64_t run_id, results::Store& store,
                       const RunnerOptions& options, InterruptGuard& interrupts, RunnerObserver& observer,
                       const EnginePlace& place)
    : plan_(plan),
      run_(run),
      options_(options),
      interrupts_(interrupts),
      observer_(observer),
      place_{.takes_turns = place.takes_turns && run.spec.external.is_null(),
             .processors = place.processors,
             .is_cold = place.is_cold,
             .seat = place.seat},
      weights_(keep_weights(run, run_id, store, options, observer)),
      recorder_(store, run_id, /*keeps_times=*/place.gives_times()),
      strays_(run.spec.external.is_null() ? "" : new_trainer_mark()),
      modules_(modules_of(run)),
      engine_(plan.engine.command, spec_text(run, run_id, strays_, modules_, place_, weights_), place_) {
  check_engine();
  recorder_.add_facts(weights_.facts);
  if (options.keeps_logs) {
    log_files_ = results::run_log_files(store.file(), run_id);
    out_log_.emplace(log_files_.out);
    err_log_.emplace(log_files_.err);
  }
  load_.begin();
  recorder_.add_facts(evaluation_facts(run.spec));
  if (place_.is_cold) recorder_.add_facts({{results::kColdCaches, "the warm-up failed"}});
  if (place_.seat) recorder_.add_facts({{results::kSeat, place_.seat->name}});
  if (place_.processors.empty() || place_.seat) return;
  const char* const fact = place_.is_beside_others() ? results::kJobProcessors : results::kTurnProcessors;
  recorder_.add_facts({{fact, joined(place_.processors, " ")}});
}

/// What runs now may be another program than the one that was planned.
void RunSession::check_engine() {
  if (!plan_.engine.version_of_run || !run_.spec.external.is_null()) return;
  const std::string version = plan_.engine.version_of_run(engine_.executable());
  recorder_.add_facts({{results::kEngineVersion, version}});
  if (version != plan_.engine.version) refuse_changed("the engine " + plan_.engine.command.front());
}

bool RunSession::run_until_turn() {
  heard_ = Clock::now();
  do {
    wait({this}, interrupts_);
    tick();
    proceed();
  } while (!exit_ && !(is_waiting_ && stop_ == StopReason::kNone));
  return exit_.has_value();
}

bool RunSession::proceed() {
  exit_ = engine_.poll_exit();  // before reading: everything that the engine wrote is then in the pipes
  read_output();
  read_events();
  interrupts_.drain();
  check_interrupts();
  check_limits();
  check_grace();
  recorder_.flush_if_due();
  if (modules_) modules_->look_if_due();
  if (exit_) finish();
  return exit_.has_value();
}

void RunSession::grant_turn(double place, std::int64_t until) {
  is_waiting_ = false;
  has_last_turn_ = until > turn_steps_;
  load_.begin();
  started_ = Clock::now();
  recorder_.begin_turn(place);
  observer_.on_turn(plan_, run_);
  engine_.grant_turn(until);
}

void RunSession::finish() {
  while (read_events() || read_output()) {
  }
  if (!is_waiting_) load_.end();
  recorder_.add_facts(load_.facts());
  recorder_.add_facts(used_facts(*exit_));
  const auto wall = std::chrono::duration_cast<std::chrono::milliseconds>(used());
  recorder_.add_facts({{results::kUsedWall, std::to_string(wall.count())}});
  const results::RunResult result = result_of(*exit_);
  const bool is_evidence =
      result.outcome == core::RunOutcome::kCompleted || result.outcome == core::RunOutcome::kDiverged;
  if (modules_ && is_evidence) recorder_.add_facts(modules_->facts());
  end_logs(result.outcome);
  if (!output_.text().empty() && result.outcome != core::RunOutcome::kCompleted)
    recorder_.add_message(results::RunMessageKind::kOutput, plain_text(output_.text()));
  recorder_.finish(result);
}

void RunSession::wait(const std::vector<RunSession*>& sessions, const InterruptGuard& interrupts) {
  std::vector<int> fds = {interrupts.fd()};
  for (RunSession* session : sessions)
    fds.insert(fds.end(),
               {session->engine_.events().get(), session->engine_.output().get(), session->engine_.errors().get()});
  core::wait_readable(fds, kLookForWords);
}

void RunSession::tick() {
  if (const auto now = Clock::now(); now - ticked_ >= kTick) {
    ticked_ = now;
    observer_.on_tick();
  }
}

bool RunSession::read_output() {
  const bool has_output = read_stream(engine_.output(), out_log_);
  return read_stream(engine_.errors(), err_log_) || has_output;
}

bool RunSession::read_stream(core::Fd& stream, std::optional<OutputLog>& log) {
  const std::string_view bytes = core::read_available(stream);
  if (bytes.empty()) return false;
  if (last_stream_ != &stream && !output_.text().empty() && !output_.text().ends_with('\n')) output_.add("\n");
  last_stream_ = &stream;
  output_.add(bytes);
  if (log) log->add(bytes);
  return true;
}

void RunSession::end_logs(core::RunOutcome outcome) {
  const auto end = [&](std::optional<OutputLog>& log, const char* fact, const std::filesystem::path& file) {
    if (!log) return;
    if (outcome == core::RunOutcome::kCompleted || outcome == core::RunOutcome::kInterrupted) return log->discard();
    if (log->keep()) recorder_.add_facts({{fact, core::as_utf8(file.string())}});
  };
  end(out_log_, results::kStdoutFile, log_files_.out);
  end(err_log_, results::kStderrFile, log_files_.err);
}

bool RunSession::read_events() {
  const std::string_view bytes = core::read_available(engine_.events());
  if (bytes.empty()) return false;
  heard_ = Clock::now();
  lines_.add(bytes, [this](std::string_view line) { handle_line(line); });
  if (lines_.is_dropping() && !is_ignoring_events_) {
    is_ignoring_events_ = true;
    stop(StopReason::kBrokenEvents, "event line " + std::to_string(line_ + 1) + " " + words_of(EarlyEnd::kLongLine),
         SIGKILL);
  }
  return true;
}

void RunSession::handle_line(std::string_view line) {
  if (is_ignoring_events_) return;
  ++line_;
  std::optional<core::RunEvent> event;
  try {
    event = core::parse_event_line(line);
    recorder_.add(*event);
    if (std::holds_alternative<core::TurnEvent>(*event) && (!turn_steps_ || has_last_turn_))
      throw Error(ErrorCode::kDataLoss, "the engine waits for a turn that nobody grants");
  } catch (const Error& error) {
    // Only a broken stream is the engine's fault; a failing store ends the suite.
    if (error.code() == ErrorCode::kIo || error.code() == ErrorCode::kConflict || error.code() == ErrorCode::kInternal)
      throw;
    is_ignoring_events_ = true;
    stop(StopReason::kBrokenEvents,
         "event line " + std::to_string(line_) + " " + words_of(EarlyEnd::kUnusableLine) + error.what(), SIGKILL);
    return;
  }
  if (const auto* hello = std::get_if<core::HelloEvent>(&*event)) {
    turn_steps_ = place_.takes_turns ? hello->turn_steps : std::nullopt;
    if (place_.takes_turns && refuses_turns()) recorder_.add_facts({{results::kWithoutTurns, "yes"}});
    if (const auto uuid = hello->environment.find("gpu_uuid"); uuid != hello->environment.end())
      gpu_uuid_ = uuid->second;
  }
  if (std::holds_alternative<core::TurnEvent>(*event) && !is_waiting_) {
    is_waiting_ = true;
    load_.end();
    used_before_ += Clock::now() - started_;
  }
  observer_.on_event(plan_, run_, *event);
  if (recorder_.not_finite()) stop(StopReason::kNotFinite, *recorder_.not_finite(), SIGTERM);
}

void RunSession::check_interrupts() {
  const int count = interrupts_.count();
  if (count >= 1) stop(StopReason::kInterrupted, "stopped by the user", SIGINT);
  if (count >= 2 && !is_killed_) {
    is_killed_ = true;
    engine_.signal(SIGKILL);
  }
}

void RunSession::check_limits() {
  const auto now = Clock::now();
  const Limits& limits = plan_.suite.limits;
  if (used() > seconds(limits.seconds_per_run)) {
    stop(StopReason::kTimeLimit,
         "the run took longer than its limit of " + text_of(limits.seconds_per_run) + " seconds", SIGTERM);
  }
  if (now - heard_ > seconds(limits.silence_seconds)) {
    stop(StopReason::kSilence, "the engine said nothing for " + text_of(limits.silence_seconds) + " seconds", SIGTERM);
  }
}

void RunSession::stop(StopReason reason, std::string message, int signal) {
  const bool is_limit = reason == StopReason::kTimeLimit || reason == StopReason::kSilence;
  // A user's stop waits for the step to end; only a limit may cut that short.
  if (stop_ != StopReason::kNone && !(stop_ == StopReason::kInterrupted && is_limit && !kill_at_)) return;
  if (stop_ == StopReason::kNone) {
    stop_ = reason;
    stop_message_ = std::move(message);
  }
  engine_.signal(signal);
  if (reason != StopReason::kInterrupted) kill_at_ = Clock::now() + seconds(options_.grace_seconds);
}

RunSession::Clock::duration RunSession::used() const {
  return used_before_ + (is_waiting_ ? Clock::duration{0} : Clock::now() - started_);
}

void RunSession::check_grace() {
  if (!kill_at_ || is_killed_ || Clock::now() < *kill_at_) return;
  is_killed_ = true;
  engine_.signal(SIGKILL);
}

RunEnd RunSession::end_of(const core::ProcessExit& exit) const {
  RunEnd end;
  end.stop = stop_;
  end.stop_message = stop_message_;
  end.finished = recorder_.finished();
  end.failed = recorder_.failed();
  end.not_finite = recorder_.not_finite();
  end.exit = exit;
  end.has_hello = recorder_.has_hello();
  end.was_oom_killed = !is_killed_ && oom_kills_before_ && oom_kills() > oom_kills_before_;
  end.has_cut_line = !lines_.rest().empty() && !is_ignoring_events_;
  end.output_tail = output_.text();
  return end;
}

results::RunResult RunSession::result_of(const core::ProcessExit& exit) const {
  const Classification classification = classify(end_of(exit));
  results::RunResult result;
  result.outcome = classification.outcome;
  result.message = plain_text(classification.message);
  result.exit_code = exit.signal != 0 ? -exit.signal : exit.exit_code;
  result.steps = recorder_.steps();
  result.timed_steps = recorder_.timed_steps();
  result.train_ms = recorder_.last_clock_ms();
  result.final_val_loss = recorder_.last_val_loss();
  if (const auto& finished = recorder_.finished()) {
    result.steps = finished->steps;
    if (recorder_.keeps_times()) {
      result.timed_steps = finished->timed_steps;
      result.train_ms = finished->train_ms;
    }
    result.final_val_loss = finished->final_val_loss;
  }
  const std::int64_t peak = recorder_.peak_bytes();
  result.peak_bytes = peak > 0 ? peak : exit.max_rss_bytes;
  return result;
}

}  // namespace nanobench::suites

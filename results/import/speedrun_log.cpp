#include "results/import/speedrun_log.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/digest.h"
#include "results/import/log_header.h"
#include "results/import/speedrun_line.h"

namespace nanobench::results {
namespace {

constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxRuns = 10'000;  // per file: the public ones have up to 30

void add_once(std::vector<LogProblem>& problems, LogProblem problem) {
  if (std::find(problems.begin(), problems.end(), problem) == problems.end()) problems.push_back(problem);
}

/// Collects the lines of the runs, one run after the other.
class RunReader {
 public:
  explicit RunReader(SpeedrunLog& log) : log_(log) {}

  void add(const SpeedrunLine& line) {
    switch (line.kind) {
      case SpeedrunLine::Kind::kValidation: add_validation(line); break;
      case SpeedrunLine::Kind::kTraining: add_step(line); break;
      case SpeedrunLine::Kind::kMemory: add_memory(line); break;
    }
  }

 private:
  /// The run that a line belongs to. Validation steps decrease only when another run begins; a training step that comes
  /// again begins one too. Lines of several processes may be out of order, without a step coming twice.
  SpeedrunRun& run_of(const SpeedrunLine& line) {
    if (log_.runs.empty()) return log_.runs.emplace_back();
    const SpeedrunRun& run = log_.runs.back();
    const bool is_validation = line.kind == SpeedrunLine::Kind::kValidation;
    const bool goes_back = is_validation
                               ? !run.validations.empty() && line.step < run.validations.back().step
                               : !run.steps.empty() && line.step < run.steps.back().step &&
                                     (line.step <= 1 || run.final_validation().has_value() || has_step(run, line.step));
    if (goes_back && log_.runs.size() < kMaxRuns) return log_.runs.emplace_back();
    if (goes_back) add_once(log_.problems, LogProblem::kTooManyRuns);
    return log_.runs.back();
  }

  static bool has_step(const SpeedrunRun& run, std::int64_t step) {
    const auto is_before = [](const auto& item, std::int64_t number) { return item.step < number; };
    const auto found = std::lower_bound(run.steps.begin(), run.steps.end(), step, is_before);
    return found != run.steps.end() && found->step == step;
  }

  void add_plan(SpeedrunRun& run, const SpeedrunLine& line) {
    if (!line.planned_steps) return;
    if (run.planned_steps && *run.planned_steps != *line.planned_steps)
      add_once(run.problems, LogProblem::kPlanChanges);
    run.planned_steps = line.planned_steps;
    if (line.step_avg_ms) run.step_avg_ms = line.step_avg_ms;
  }

  void add_validation(const SpeedrunLine& line) {
    SpeedrunRun& run = run_of(line);
    add_plan(run, line);
    if (!line.loss) {
      add_once(run.problems, LogProblem::kNoNumber);
      return;
    }
    if (!run.validations.empty() && run.validations.back().step == line.step) {
      const double known = run.validations.back().loss;
      if (known != *line.loss && !(std::isnan(known) && std::isnan(*line.loss)))
        add_once(run.problems, LogProblem::kTwoLosses);
      return;
    }
    if (!run.validations.empty() && line.step < run.validations.back().step) return;  // beyond kMaxRuns
    run.validations.push_back(
        {.step = line.step, .loss = *line.loss, .clock_ms = line.clock_ms, .ema_loss = line.ema_loss});
  }

  void add_step(const SpeedrunLine& line) {
    SpeedrunRun& run = run_of(line);
    add_plan(run, line);
    if (!line.loss && !line.clock_ms) return;
    if (!run.steps.empty() && line.step <= run.steps.back().step) {
      if (line.step < run.steps.back().step) add_once(run.problems, LogProblem::kUnordered);
      return;
    }
    run.steps.push_back({.step = line.step, .loss = line.loss, .clock_ms = line.clock_ms});
  }

  void add_memory(const SpeedrunLine& line) {
    if (log_.runs.empty()) return;
    log_.runs.back().peak_allocated_mib = line.allocated_mib;
    log_.runs.back().peak_reserved_mib = line.reserved_mib;
  }

  SpeedrunLog& log_;
};

/// Relevant lines start with one of these, possibly after a prefix in brackets.
bool may_be_speedrun_line(char first) {
  return first == 's' || first == 'p' || first == '[';
}

/// Reads the lines after the script.
class BodyReader {
 public:
  explicit BodyReader(SpeedrunLog& log) : log_(log), runs_(log) {}

  void add(std::string_view bytes) {
    for (std::size_t start = 0; start < bytes.size();) {
      const TextLine line = line_at(bytes, start);
      start = line.next;
      if (line.is_terminated && rest_.empty() && !is_dropping_ && line.text.size() <= kMaxLineBytes)
        take(line.text, true);
      else
        add_part(line);
    }
  }

  void finish() {
    if (!rest_.empty()) take(rest_, false);
    if (is_dropping_) note_long_line();
  }

 private:
  void add_part(const TextLine& line) {
    is_dropping_ = is_dropping_ || rest_.size() + line.text.size() > kMaxLineBytes;
    if (is_dropping_)
      rest_.clear();
    else
      rest_ += line.text;
    if (!line.is_terminated) return;
    if (is_dropping_)
      note_long_line();
    else
      take(rest_, true);
    rest_.clear();
    is_dropping_ = false;
  }

  void note_long_line() { add_once(log_.problems, LogProblem::kLongLine); }

  void take(std::string_view line, bool is_terminated) {
    if (line.empty()) return;
    if (!may_be_speedrun_line(line.front())) {
      if (line.front() == 'R' || line.front() == '|') read_header_line(line, log_);
      return;
    }
    const std::optional<SpeedrunLine> parsed = parse_speedrun_line(line);
    if (!parsed) return;
    if (!is_terminated && !parsed->is_whole) {
      log_.problems.push_back(LogProblem::kCutLine);
      return;
    }
    runs_.add(*parsed);
  }

  SpeedrunLog& log_;
  RunReader runs_;
  std::string rest_;          ///< the beginning of a line whose end is still to come
  bool is_dropping_ = false;  ///< true until the end of an overlong line
};

void check_run(SpeedrunRun& run) {
  if (run.validations.empty()) {
    run.problems.push_back(LogProblem::kNoValidation);
    return;
  }
  const LoggedValidation& last = run.validations.back();
  if (!std::isfinite(last.loss)) run.problems.push_back(LogProblem::kNotFinite);
  if (!last.clock_ms) run.problems.push_back(LogProblem::kNoTime);
  if (run.clock_jumps_back()) run.problems.push_back(LogProblem::kClockBack);
}

void add_notes(SpeedrunLog& log) {
  if (log.script_digest.empty()) log.notes.emplace_back("no embedded script");
  if (log.runs.size() > 1) log.notes.push_back(std::to_string(log.runs.size()) + " runs in one file");
  const bool has_loss = !log.runs.empty() && !log.runs.front().steps.empty() && log.runs.front().steps.front().loss;
  if (has_loss) log.notes.emplace_back("training losses are printed");
}

}  // namespace

std::int64_t SpeedrunRun::last_step() const {
  const std::int64_t trained = steps.empty() ? 0 : steps.back().step;
  return validations.empty() ? trained : std::max(trained, validations.back().step);
}

std::optional<LoggedValidation> SpeedrunRun::final_validation() const {
  if (validations.empty()) return std::nullopt;
  const LoggedValidation& last = validations.back();
  return last.step >= planned_steps.value_or(last_step()) ? std::optional(last) : std::nullopt;
}

std::optional<LoggedValidation> SpeedrunRun::validation_at(std::int64_t step) const {
  for (const LoggedValidation& item : validations) {
    if (item.step == step) return item;
  }
  return std::nullopt;
}

bool SpeedrunRun::clock_jumps_back() const {
  // After the first steps, which are not timed, the records set it to 0.
  double latest = 0.0;
  for (const LoggedValidation& item : validations) {
    if (item.step == 0 || !item.clock_ms) continue;
    if (*item.clock_ms < latest) return true;
    latest = *item.clock_ms;
  }
  return false;
}

std::optional<LogEnd> SpeedrunRun::early_end() const {
  if (validations.empty() || final_validation()) return std::nullopt;
  return LogEnd{.last_validation = validations.back().step, .last_step = planned_steps.value_or(last_step())};
}

std::string words_of(const LogEnd& end) {
  return "the last validation is at step " + std::to_string(end.last_validation) + " of " +
         std::to_string(end.last_step);
}

std::string words_of(LogProblem problem) {
  switch (problem) {
    case LogProblem::kTooManyRuns: return "more than " + std::to_string(kMaxRuns) + " runs; the others are left out";
    case LogProblem::kPlanChanges: return "the planned number of steps changes within the run";
    case LogProblem::kNoNumber: return "a validation line holds no number";
    case LogProblem::kTwoLosses: return "two different validation losses are given for one step; the first one counts";
    case LogProblem::kUnordered: return "steps are out of order";
    case LogProblem::kLongLine:
      return "a line is longer than " + std::to_string(kMaxLineBytes >> 20) + " MiB, which is left out";
    case LogProblem::kCutLine: return "the file ends in the middle of a line, which is left out";
    case LogProblem::kNoValidation: return "no validation loss";
    case LogProblem::kNotFinite: return "the last validation loss is not finite";
    case LogProblem::kNoTime: return "no training time";
    case LogProblem::kClockBack: return "the training clock jumps back, so the time of the whole run is not known";
    case LogProblem::kNoStep: return "a script without any step";
    case LogProblem::kCutScript: return "the file ends inside its script";
    case LogProblem::kLongScript:
      return "its script does not end within " + std::to_string(kMaxScriptBytes >> 20) + " MiB and is left out";
    case LogProblem::kDifferentGpus: return "the log names different GPUs";
  }
  return "";
}

std::vector<std::string> words_of(const std::vector<LogProblem>& problems) {
  std::vector<std::string> words;
  for (const LogProblem problem : problems) words.push_back(words_of(problem));
  return words;
}

std::string SpeedrunLog::hardware() const {
  if (gpu.empty()) return "unknown GPU";
  return gpu_count ? std::to_string(*gpu_count) + "x " + gpu : gpu;
}

class SpeedrunLogReader::State {
 public:
  void add(std::string_view bytes) {
    log_.bytes += bytes.size();
    digest_.update(bytes.data(), bytes.size());
    if (!is_in_body_) {
      const std::string_view head = bytes.substr(0, kMaxScriptBytes - head_.size());
      head_ += head;
      if (head_.size() < kMaxScriptBytes) return;
      begin_body(/*is_whole=*/false);
      bytes.remove_prefix(head.size());
    }
    body_.add(bytes);
  }

  SpeedrunLog finish() {
    if (!is_in_body_) begin_body(/*is_whole=*/true);
    body_.finish();
    log_.digest = digest_.hex();
    for (SpeedrunRun& run : log_.runs) check_run(run);
    if (log_.runs.empty() && !log_.script_digest.empty()) log_.problems.push_back(LogProblem::kNoStep);
    add_notes(log_);
    return std::move(log_);
  }

 private:
  /// Looks for the script in what came so far. A script that does not end within it is none.
  void begin_body(bool is_whole) {
    is_in_body_ = true;
    const std::string text = std::exchange(head_, {});
    std::size_t begin = 0;
    const std::optional<ScriptPlace> script = find_script(text);
    if (script && (script->is_closed || is_whole)) {
      const std::string_view python = std::string_view(text).substr(script->begin, script->end - script->begin);
      log_.script_bytes = python.size();
      log_.script_digest = core::digest_of(python);
      log_.script = identify_script(python);
      if (!script->is_closed) log_.problems.push_back(LogProblem::kCutScript);
      begin = script->next;
    } else if (script) {
      log_.problems.push_back(LogProblem::kLongScript);
    }
    body_.add(std::string_view(text).substr(begin));
  }

  SpeedrunLog log_;
  core::Digest digest_;
  std::string head_;  ///< until its script is found
  bool is_in_body_ = false;
  BodyReader body_{log_};
};

SpeedrunLogReader::SpeedrunLogReader() : state_(std::make_unique<State>()) {}
SpeedrunLogReader::~SpeedrunLogReader() = default;
void SpeedrunLogReader::add(std::string_view bytes) {
  state_->add(bytes);
}
SpeedrunLog SpeedrunLogReader::finish() {
  return state_->finish();
}

SpeedrunLog read_speedrun_log(std::string_view text) {
  SpeedrunLogReader reader;
  reader.add(text);
  return reader.finish();
}

}  // namespace nanobench::results

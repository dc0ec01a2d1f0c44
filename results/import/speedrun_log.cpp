#include "results/import/speedrun_log.h"

#include <algorithm>
#include <cmath>

#include "core/base/digest.h"
#include "results/import/log_header.h"
#include "results/import/speedrun_line.h"

namespace nanobench::results {
namespace {

constexpr std::size_t kMaxRuns = 10'000;  // per file: the public ones have up to 30

void add_once(std::vector<std::string>& sentences, const std::string& sentence) {
  if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end()) sentences.push_back(sentence);
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
  /// The run that a line belongs to. Validation steps decrease only when another run begins; training steps also after
  /// the run has ended.
  SpeedrunRun& run_of(const SpeedrunLine& line) {
    if (log_.runs.empty()) return log_.runs.emplace_back();
    const SpeedrunRun& run = log_.runs.back();
    const bool is_validation = line.kind == SpeedrunLine::Kind::kValidation;
    const bool goes_back = is_validation ? !run.validations.empty() && line.step < run.validations.back().step
                                         : !run.steps.empty() && line.step < run.steps.back().step &&
                                               (line.step <= 1 || run.final_validation().has_value());
    if (goes_back && log_.runs.size() < kMaxRuns) return log_.runs.emplace_back();
    if (goes_back) add_once(log_.problems, "more than " + std::to_string(kMaxRuns) + " runs; the others are left out");
    return log_.runs.back();
  }

  void add_plan(SpeedrunRun& run, const SpeedrunLine& line) {
    if (!line.planned_steps) return;
    if (run.planned_steps && *run.planned_steps != *line.planned_steps)
      add_once(run.problems, "the planned number of steps changes within the run");
    run.planned_steps = line.planned_steps;
    if (line.step_avg_ms) run.step_avg_ms = line.step_avg_ms;
  }

  void add_validation(const SpeedrunLine& line) {
    SpeedrunRun& run = run_of(line);
    add_plan(run, line);
    if (!line.loss) {
      add_once(run.problems, "a validation line holds no number");
      return;
    }
    if (!run.validations.empty() && run.validations.back().step == line.step) {
      const double known = run.validations.back().loss;
      if (known != *line.loss && !(std::isnan(known) && std::isnan(*line.loss)))
        add_once(run.problems, "two different validation losses are given for one step; the first one counts");
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
      if (line.step < run.steps.back().step) add_once(run.problems, "steps are out of order");
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

void read_body(std::string_view text, std::size_t start, SpeedrunLog& log) {
  RunReader reader(log);
  while (start < text.size()) {
    const TextLine line = line_at(text, start);
    start = line.next;
    if (line.text.empty()) continue;
    if (!may_be_speedrun_line(line.text.front())) {
      if (line.text.front() == 'R' || line.text.front() == '|') read_header_line(line.text, log);
      continue;
    }
    const std::optional<SpeedrunLine> parsed = parse_speedrun_line(line.text);
    if (!parsed) continue;
    if (!line.is_terminated && !parsed->is_whole) {
      log.problems.emplace_back("the file ends in the middle of a line, which is left out");
      continue;
    }
    reader.add(*parsed);
  }
}

void check_run(SpeedrunRun& run) {
  if (run.validations.empty()) {
    run.problems.emplace_back("no validation loss");
    return;
  }
  const LoggedValidation& last = run.validations.back();
  if (!std::isfinite(last.loss)) run.problems.emplace_back("the last validation loss is not finite");
  if (!last.clock_ms) run.problems.emplace_back("no training time");
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

std::string SpeedrunRun::early_end() const {
  if (validations.empty() || final_validation()) return "";
  return "the last validation is at step " + std::to_string(validations.back().step) + " of " +
         std::to_string(planned_steps.value_or(last_step()));
}

std::string SpeedrunLog::hardware() const {
  if (gpu.empty()) return "unknown GPU";
  return gpu_count ? std::to_string(*gpu_count) + "x " + gpu : gpu;
}

SpeedrunLog read_speedrun_log(std::string_view text) {
  SpeedrunLog log;
  log.bytes = text.size();
  log.digest = core::digest_of(text);
  std::size_t body = 0;
  if (const std::optional<ScriptPlace> script = find_script(text)) {
    const std::string_view python = text.substr(script->begin, script->end - script->begin);
    log.script_bytes = python.size();
    log.script_digest = core::digest_of(python);
    log.script = identify_script(python);
    if (!script->is_closed) log.problems.emplace_back("the file ends inside its script");
    body = script->next;
  }
  read_body(text, body, log);
  for (SpeedrunRun& run : log.runs) check_run(run);
  if (log.runs.empty() && !log.script_digest.empty()) log.problems.emplace_back("a script without any step");
  add_notes(log);
  return log;
}

}  // namespace nanobench::results

#include "reports/audit/audit_groups.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/digest.h"
#include "core/base/text.h"

namespace nanobench::reports {
namespace {

using results::LoggedValidation;
using results::SpeedrunRun;

constexpr std::size_t kMinCurve = 3;  // fewer validations with four digits may agree by chance

/// What a difference in times may come from, beside the script.
std::string software_of(const results::SpeedrunLog& log) {
  std::vector<std::string> parts;
  if (!log.torch.empty()) parts.push_back("PyTorch " + log.torch);
  if (!log.cuda.empty()) parts.push_back("CUDA " + log.cuda);
  if (!log.driver.empty()) parts.push_back("driver " + log.driver);
  return joined(parts);
}

/// What every run of a log has in common.
AuditedRun run_in(const results::LogFile& file, const results::SpeedrunLog& log, std::size_t index) {
  AuditedRun item{.file = file, .index = index};
  item.gpu = log.gpu;
  item.gpu_count = log.gpu_count;
  item.hardware = log.hardware();
  item.software = software_of(log);
  item.script_text = log.script_digest;
  item.script = log.script;
  item.content = log.digest + "/" + std::to_string(index);
  return item;
}

void add_problems(AuditedRun& item, const std::vector<results::LogProblem>& problems) {
  for (const results::LogProblem problem : problems)
    item.problems.push_back({.kind = FlagKind::kLogProblem, .problem = problem});
}

void add_curve_digests(AuditedRun& item) {
  core::Digest numbers;
  core::Digest curve;
  for (const LoggedValidation& point : item.validations) {
    const double clock = point.clock_ms.value_or(-1);
    for (core::Digest* digest : {&numbers, &curve}) {
      digest->update(&point.step, sizeof point.step);
      digest->update(&point.loss, sizeof point.loss);
    }
    numbers.update(&clock, sizeof clock);
  }
  item.numbers = numbers.hex();
  item.curve = curve.hex();
}

/// Marks the runs of the group that repeat an earlier one, so that evidence counts once.
void mark_repeats(std::vector<AuditedRun>& runs) {
  std::map<std::string, std::string> known;
  for (AuditedRun& run : runs) {
    const auto repeats = [&](const std::string& key, FlagKind how) {
      if (key.empty() || run.repeats) return;
      const auto [place, is_new] = known.emplace(key, run.file.name);
      if (!is_new) run.repeats = AuditFlag{.kind = how, .what = place->second};
    };
    repeats(run.content, FlagKind::kSameBytes);
    repeats(run.numbers.empty() ? "" : "numbers " + run.numbers, FlagKind::kSameNumbers);
    repeats(run.curve.empty() ? "" : "curve " + run.curve, FlagKind::kSameCurve);
  }
}

TrackRule rule_of(const AuditedRun& run, const AuditOptions& options) {
  TrackRule rule = rule_of_track(options.track ? *options.track : track_of(run.file.path).value_or(1));
  if (options.target) rule.target = *options.target;
  if (options.rule) rule.rule = *options.rule;
  return rule;
}

/// The step at which all runs end, if it is before their last planned one.
std::optional<std::int64_t> common_end(const std::vector<AuditedRun>& runs) {
  if (runs.size() < 2) return std::nullopt;
  for (const AuditedRun& run : runs) {
    if (run.validations.empty() || run.final_validation ||
        run.validations.back().step != runs.front().validations.back().step)
      return std::nullopt;
  }
  return runs.front().validations.back().step;
}

std::optional<results::NamedStep> named_step(const AuditGroup& group, const std::vector<results::NamedStep>& named,
                                             const PlannedSteps& known) {
  std::vector<results::LogFile> files;
  for (const AuditedRun& run : group.runs) files.push_back(run.file);
  const auto is_other = [&](const std::filesystem::path& linked) {
    const auto found = known.find(linked);
    return found != known.end() && found->second != group.planned_steps;
  };
  const std::optional<results::NamedStep> step = results::named_step_of(files, named, is_other);
  // The last step of a plan has no other name.
  return step && step->step != group.planned_steps ? step : std::nullopt;
}

void choose_step(AuditGroup& group, const AuditOptions& options, const std::vector<results::NamedStep>& named,
                 const PlannedSteps& known) {
  if (options.step) {
    group.judged_at = JudgedAt::kOption;
    group.judged_step = options.step;
  } else if (const std::optional<results::NamedStep> step = named_step(group, named, known)) {
    group.judged_at = JudgedAt::kNamed;
    group.judged_step = step->step;
  } else if (const std::optional<std::int64_t> end = common_end(group.runs)) {
    group.judged_at = JudgedAt::kCommonEnd;
    group.judged_step = end;
  }
}

/// The validation that counts; a reason is added to the run's problems if there is none.
std::optional<LoggedValidation> judged_validation(AuditedRun& run, const AuditGroup& group) {
  if (!group.judged_step) {
    if (run.early_end) run.problems.push_back({.kind = FlagKind::kCutShort, .end = run.early_end});
    return run.final_validation;
  }
  const std::int64_t step = *group.judged_step;
  for (const LoggedValidation& point : run.validations) {
    if (point.step == step) return point;
  }
  if (run.validations.empty()) return std::nullopt;
  const bool is_cut = run.validations.back().step < step;
  run.problems.push_back({.kind = is_cut ? FlagKind::kEndsBeforeStep : FlagKind::kLacksStep, .step = step});
  return std::nullopt;
}

void read_loss(AuditedRun& run, const AuditGroup& group) {
  const std::optional<LoggedValidation> point = judged_validation(run, group);
  if (!point) return;
  const double loss = point->ema_loss.value_or(point->loss);
  if (!std::isfinite(loss)) return;
  run.loss = loss;
  if (point->ema_loss) run.raw_loss = point->loss;
  run.train_ms = point->clock_ms;
  const bool is_last = point->step == run.validations.back().step;
  if (is_last && run.step_avg_ms) {
    run.step_ms = run.step_avg_ms;
  } else if (point->clock_ms && point->step > 0) {
    run.step_ms = *point->clock_ms / static_cast<double>(point->step);
  }
}

void describe_scripts(AuditGroup& group) {
  std::set<std::string> codes;
  std::set<std::string> texts;
  for (const AuditedRun& run : group.runs) {
    codes.insert(run.script.code);
    texts.insert(run.script_text);
  }
  const results::ScriptIdentity& first = group.runs.front().script;
  group.scripts = codes.size();
  group.texts = texts.size();
  if (codes.size() > 1) return;
  group.script_digest = first.code;
  for (std::size_t i = 0; i < results::kScriptParts; ++i) {
    const bool is_same = std::all_of(group.runs.begin(), group.runs.end(),
                                     [&](const AuditedRun& run) { return run.script.parts[i] == first.parts[i]; });
    if (!is_same) group.differing.push_back(static_cast<results::ScriptPart>(i));
  }
}

/// Inconclusive if the rule's test is not possible.
AuditVerdict verdict_of(const AuditGroup& group, const AuditOptions& options) {
  const bool is_z = group.rule.rule == AuditRule::kZ;
  if (!group.z || (!is_z && !group.t)) return AuditVerdict::kInconclusive;
  const bool meets = is_z ? group.z->passes : *group.loss.mean <= group.rule.target && group.t->p < options.p_limit;
  return meets ? AuditVerdict::kMeets : AuditVerdict::kDoesNotMeet;
}

void compare_times(AuditGroup& group) {
  group.record = results::find_published_record(group.folder);
  if (group.record == nullptr) return;
  group.before = results::record_before(*group.record);
  if (group.before == nullptr || !group.train_ms.mean) return;
  group.time_over_before = *group.train_ms.mean / (group.before->minutes * 60e3);
}

void evaluate(AuditGroup& group, const AuditOptions& options) {
  std::vector<double> losses;
  std::vector<double> times;
  for (const AuditedRun& run : group.runs) {
    if (!run.is_counted()) continue;
    losses.push_back(*run.loss);
    if (run.train_ms) times.push_back(*run.train_ms);
  }
  group.n = static_cast<int>(losses.size());
  group.loss = summarise(losses);
  group.train_ms = summarise(times);
  if (group.train_ms.sd && *group.train_ms.mean > 0) group.train_cv = *group.train_ms.sd / *group.train_ms.mean;
  group.t = one_sample_t(losses, group.rule.target);
  group.z = known_sigma_rule(losses, group.rule.target, {.threshold = options.z_threshold});
  compare_times(group);
  group.verdict = verdict_of(group, options);
}

}  // namespace

AuditedRun audited_run(const results::LogFile& file, const results::SpeedrunLog& log, std::size_t index) {
  AuditedRun item = run_in(file, log, index);
  if (index < log.runs.size()) {
    const SpeedrunRun& run = log.runs[index];
    item.planned_steps = run.planned_steps;
    add_problems(item, run.problems);
    item.validations = run.validations;
    item.final_validation = run.final_validation();
    item.early_end = run.early_end();
    item.step_avg_ms = run.step_avg_ms;
    if (!item.planned_steps && !run.validations.empty()) item.planned_steps = run.last_step();
    if (run.validations.size() >= kMinCurve) add_curve_digests(item);
  }
  add_problems(item, log.problems);
  return item;
}

AuditGroup group_of(std::vector<AuditedRun> runs, const AuditOptions& options,
                    const std::vector<results::NamedStep>& named, const PlannedSteps& known) {
  AuditGroup group;
  group.folder = runs.front().file.folder;
  group.subdir = runs.front().file.subdir;
  group.planned_steps = runs.front().planned_steps;
  group.hardware = runs.front().hardware;
  group.rule = rule_of(runs.front(), options);
  mark_repeats(runs);
  group.runs = std::move(runs);
  describe_scripts(group);
  choose_step(group, options, named, known);
  for (AuditedRun& run : group.runs) read_loss(run, group);
  evaluate(group, options);
  return group;
}

}  // namespace nanobench::reports

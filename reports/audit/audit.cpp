#include "reports/audit/audit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/base/digest.h"
#include "core/base/text.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kNamesShown = 3;

/// "a.txt, b.txt, c.txt and 4 more"; any range of strings or numbers.
template <class Items>
std::string named(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(joined(std::vector{item}));
  return listed_first(names, kNamesShown);
}

/// Collects sentences that several files share; each appears once with the files' names.
class FlagsByFile {
 public:
  void add(const std::string& sentence, const std::string& file) {
    const auto found =
        std::find_if(flags_.begin(), flags_.end(), [&](const auto& flag) { return flag.first == sentence; });
    if (found == flags_.end()) {
      flags_.push_back({sentence, {file}});
    } else {
      found->second.push_back(file);
    }
  }
  void append_to(std::vector<std::string>& flags) const {
    for (const auto& [sentence, files] : flags_) flags.push_back(sentence + " (" + named(files) + ")");
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> flags_;
};

void flag_runs(AuditGroup& group) {
  FlagsByFile flags;
  for (const AuditedRun& run : group.runs) {
    for (const std::string& problem : run.problems) flags.add(problem, run.file.name);
    if (!run.repeats.empty()) flags.add(run.repeats + ": counted once", run.file.name);
  }
  flags.append_to(group.flags);
}

/// An equal final loss with an equal time to the millisecond proves nothing, but deserves attention.
void flag_equal_ends(AuditGroup& group) {
  std::map<std::pair<double, double>, std::string> known;
  for (const AuditedRun& run : group.runs) {
    if (!run.is_counted() || !run.train_ms) continue;
    const auto [place, is_new] = known.emplace(std::pair(*run.loss, *run.train_ms), run.file.name);
    if (!is_new)
      group.flags.push_back("the same final loss and training time appear twice (" + place->second + ", " +
                            run.file.name + "): perhaps one run");
  }
}

void flag_numbers(AuditGroup& group) {
  if (group.n == 1) group.flags.emplace_back("n = 1");
  if (group.n == 0) group.flags.emplace_back("no run with a final loss");
  if (group.before != nullptr && group.time_over_before && *group.time_over_before >= 1) {
    group.flags.push_back("the mean time is not below the published time of record " + group.before->id + " (" +
                          format_significant(group.before->minutes, 4) +
                          " min); that time is from another machine, or this is a baseline");
  }
}

std::string place_of(const AuditGroup& group) {
  return group.subdir.empty() ? group.folder : group.folder + "/" + group.subdir;
}

/// Flags runs with the same losses or bytes as runs of another group: one set of runs in two places or two formats.
void flag_repeats_elsewhere(std::vector<AuditGroup>& groups) {
  std::map<std::string, const AuditGroup*> known;
  for (AuditGroup& group : groups) {
    std::map<std::string, std::vector<std::string>> files;
    for (const AuditedRun& run : group.runs) {
      const auto [entry, is_new] = known.emplace(run.curve.empty() ? run.content : run.curve, &group);
      const AuditGroup& other = *entry->second;
      if (is_new || &other == &group) continue;
      const std::string place = place_of(other);
      files[place == place_of(group) ? "appear in another group of this folder" : "appear in " + place].push_back(
          run.file.name);
    }
    for (const auto& [where, names] : files)
      group.flags.push_back("the same runs " + where + " (" + named(names) + ")");
  }
}

/// What differs between the groups of one folder and sub-directory.
struct FolderMix {
  std::set<std::string> hardware;
  std::set<std::int64_t> steps;
  std::set<std::string> scripts;
};

void flag_mixes(std::vector<AuditGroup>& groups) {
  std::map<std::pair<std::string, std::string>, FolderMix> folders;
  for (const AuditGroup& group : groups) {
    FolderMix& mix = folders[{group.folder, group.subdir}];
    mix.hardware.insert(group.hardware);
    if (group.planned_steps) mix.steps.insert(*group.planned_steps);
    mix.scripts.insert(group.script_digest);
  }
  for (AuditGroup& group : groups) {
    const FolderMix& mix = folders[{group.folder, group.subdir}];
    if (mix.hardware.size() > 1) {
      group.flags.push_back("different hardware in this folder: " + named(mix.hardware));
    }
    if (mix.steps.size() > 1) group.flags.push_back("different numbers of steps in this folder: " + named(mix.steps));
    if (mix.scripts.size() > 1) {
      group.flags.push_back(std::to_string(mix.scripts.size()) + " different scripts in this folder");
    }
  }
}

void add_flags(Audit& audit) {
  for (std::vector<AuditGroup>* groups : {&audit.groups, &audit.pooled}) {
    for (AuditGroup& group : *groups) {
      flag_numbers(group);
      flag_runs(group);
      flag_equal_ends(group);
    }
  }
  flag_mixes(audit.groups);
  flag_repeats_elsewhere(audit.groups);
  for (AuditGroup& group : audit.pooled) {
    group.flags.insert(group.flags.begin(), std::to_string(group.scripts) + " different scripts, pooled");
  }
}

using results::LoggedValidation;
using results::SpeedrunRun;

constexpr std::size_t kMinCurve = 3;  // fewer validations with four digits may agree by chance

AuditedRun audited_run(const results::LogFile& file, const results::SpeedrunLog& log, std::size_t index) {
  const SpeedrunRun& run = log.runs[index];
  AuditedRun item{.file = file, .index = index, .planned_steps = run.planned_steps};
  item.gpu = log.gpu;
  item.gpu_count = log.gpu_count;
  item.hardware = log.hardware();
  item.script_digest = log.script_digest;
  item.problems = run.problems;
  item.problems.insert(item.problems.end(), log.problems.begin(), log.problems.end());
  item.content = log.digest + "/" + std::to_string(index);
  if (!item.planned_steps && !run.validations.empty()) item.planned_steps = run.last_step();
  if (const std::optional<LoggedValidation> last = run.final_validation(); last && std::isfinite(last->loss)) {
    item.loss = last->loss;
    item.train_ms = last->clock_ms;
  }
  if (run.validations.size() >= kMinCurve) {
    core::Digest numbers;
    core::Digest curve;
    for (const LoggedValidation& point : run.validations) {
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
  return item;
}

/// A log with a script and without a step: it belongs to its folder, but holds no evidence.
AuditedRun empty_run(const results::LogFile& file, const results::SpeedrunLog& log) {
  AuditedRun item{.file = file};
  item.gpu = log.gpu;
  item.gpu_count = log.gpu_count;
  item.hardware = log.hardware();
  item.script_digest = log.script_digest;
  item.problems = log.problems;
  item.content = log.digest + "/0";
  return item;
}

auto place_of(const AuditedRun& run) {
  return std::tie(run.file.folder, run.file.subdir, run.planned_steps, run.gpu, run.gpu_count);
}

/// Marks the runs of the group that repeat an earlier one, so that evidence counts once.
void mark_repeats(std::vector<AuditedRun>& runs) {
  std::map<std::string, std::string> known;
  for (AuditedRun& run : runs) {
    const auto repeats = [&](const std::string& key, const char* how) {
      if (key.empty() || !run.repeats.empty()) return;
      const auto [place, is_new] = known.emplace(key, run.file.name);
      if (!is_new) run.repeats = std::string(how) + place->second;
    };
    repeats(run.content, "is byte for byte ");
    repeats(run.numbers.empty() ? "" : "numbers " + run.numbers, "holds the same losses and times as ");
    repeats(run.curve.empty() ? "" : "curve " + run.curve, "holds the same loss at every validation as ");
  }
}

void decide_by_t(AuditGroup& group, const AuditOptions& options) {
  if (!group.t) {
    group.reason = group.n == 1
                       ? "one run has no spread, so nothing can be tested"
                       : "all " + std::to_string(group.n) + " losses are equal, so there is no spread to test against";
    return;
  }
  const bool is_below = *group.loss.mean <= options.target;
  group.verdict = is_below && group.t->p < options.p_limit ? AuditVerdict::kMeets : AuditVerdict::kDoesNotMeet;
  const std::string limit = format_significant(options.p_limit, 1);
  group.reason = !is_below                               ? "the mean is above the target"
                 : group.verdict == AuditVerdict::kMeets ? "p < " + limit
                                                         : "the mean is below the target, but p is not below " + limit;
}

void decide_by_z(AuditGroup& group) {
  group.verdict = group.z->passes ? AuditVerdict::kMeets : AuditVerdict::kDoesNotMeet;
  group.reason = std::string("(target - mean) * sqrt(n) is ") + (group.z->passes ? "at least " : "below ") +
                 format_significant(group.z->threshold, 1);
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
  group.t = one_sample_t(losses, options.target);
  group.z = known_sigma_rule(losses, options.target, {.threshold = options.z_threshold});
  compare_times(group);
  if (!group.z) {
    group.reason = "no final loss";
  } else if (options.rule == AuditRule::kZ) {
    decide_by_z(group);
  } else {
    decide_by_t(group, options);
  }
}

AuditGroup group_of(std::vector<AuditedRun> runs, const AuditOptions& options) {
  AuditGroup group;
  const AuditedRun& first = runs.front();
  group.folder = first.file.folder;
  group.subdir = first.file.subdir;
  group.planned_steps = first.planned_steps;
  group.hardware = first.hardware;
  std::set<std::string> scripts;
  for (const AuditedRun& run : runs) scripts.insert(run.script_digest);
  group.scripts = scripts.size();
  if (scripts.size() == 1) group.script_digest = first.script_digest;
  mark_repeats(runs);
  group.runs = std::move(runs);
  evaluate(group, options);
  return group;
}

}  // namespace

std::string to_string(AuditVerdict verdict) {
  switch (verdict) {
    case AuditVerdict::kMeets: return "meets the rule";
    case AuditVerdict::kDoesNotMeet: return "does not meet the rule";
    case AuditVerdict::kInconclusive: break;
  }
  return "inconclusive";
}

AuditVerdict Audit::verdict() const {
  const auto has = [&](AuditVerdict verdict) {
    return std::any_of(groups.begin(), groups.end(), [&](const AuditGroup& group) { return group.verdict == verdict; });
  };
  if (has(AuditVerdict::kDoesNotMeet)) return AuditVerdict::kDoesNotMeet;
  return groups.empty() || has(AuditVerdict::kInconclusive) ? AuditVerdict::kInconclusive : AuditVerdict::kMeets;
}

void Auditor::add(const results::LogFile& file, const results::SpeedrunLog& log) {
  ++audit_.files;
  audit_.bytes += log.bytes;
  if (!log.is_log()) {
    ++audit_.other_files;
    if (file.is_named) audit_.problems.push_back(file.path.string() + " holds no line of a speedrun trainer");
    return;
  }
  for (std::size_t i = 0; i < log.runs.size(); ++i) runs_.push_back(audited_run(file, log, i));
  if (log.runs.empty()) runs_.push_back(empty_run(file, log));
}

Audit Auditor::finish() {
  std::map<std::tuple<std::string, std::string, std::optional<std::int64_t>, std::string, std::optional<int>>,
           std::map<std::string, std::vector<AuditedRun>>>
      places;
  for (const AuditedRun& run : runs_) places[place_of(run)][run.script_digest].push_back(run);
  for (const auto& [place, scripts] : places) {
    std::vector<AuditedRun> together;
    for (const auto& [script, runs] : scripts) {
      audit_.groups.push_back(group_of(runs, options_));
      together.insert(together.end(), runs.begin(), runs.end());
    }
    if (scripts.size() > 1) audit_.pooled.push_back(group_of(std::move(together), options_));
  }
  audit_.options = options_;
  add_flags(audit_);
  return std::move(audit_);
}

}  // namespace nanobench::reports

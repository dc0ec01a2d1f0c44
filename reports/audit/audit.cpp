#include "reports/audit/audit.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/base/text.h"
#include "reports/audit/arm_runs.h"
#include "reports/audit/audit_groups.h"
#include "reports/audit/audit_text.h"

namespace nanobench::reports {
namespace {

/// What several files share is one finding with all their names.
void add_for_file(std::vector<AuditFlag>& flags, const AuditFlag& flag, const std::string& file) {
  const auto same = std::find_if(flags.begin(), flags.end(), [&](AuditFlag known) {
    known.files.clear();
    return known == flag;
  });
  if (same != flags.end()) {
    same->files.push_back(file);
  } else {
    flags.push_back(flag);
    flags.back().files = {file};
  }
}

void flag_runs(AuditGroup& group) {
  std::vector<AuditFlag> flags;
  for (const AuditedRun& run : group.runs) {
    for (AuditFlag problem : run.problems) {
      problem.counts = run.loss.has_value();
      add_for_file(flags, problem, run.file.name);
    }
    if (run.repeats) add_for_file(flags, *run.repeats, run.file.name);
  }
  group.flags.insert(group.flags.end(), flags.begin(), flags.end());
}

/// An equal final loss with an equal time to the millisecond proves nothing, but deserves attention.
void flag_equal_ends(AuditGroup& group) {
  std::map<std::pair<double, double>, std::string> known;
  for (const AuditedRun& run : group.runs) {
    if (!run.is_counted() || !run.train_ms) continue;
    const auto [place, is_new] = known.emplace(std::pair(*run.loss, *run.train_ms), run.file.name);
    if (!is_new) group.flags.push_back({.kind = FlagKind::kSameEnds, .files = {place->second, run.file.name}});
  }
}

/// The loss is not that of the last planned step, or not the one called val_loss.
void flag_judged_loss(AuditGroup& group) {
  if (group.judged_step) {
    const std::int64_t step = *group.judged_step;
    if (group.judged_at == JudgedAt::kNamed) group.flags.push_back({.kind = FlagKind::kNamedStep, .step = step});
    if (group.judged_at == JudgedAt::kCommonEnd) group.flags.push_back({.kind = FlagKind::kCommonEnd, .step = step});
  }
  std::vector<double> raw;
  for (const AuditedRun& run : group.runs) {
    if (run.is_counted() && run.raw_loss) raw.push_back(*run.raw_loss);
  }
  if (const Summary summary = summarise(raw); summary.mean)
    group.flags.push_back({.kind = FlagKind::kAveragedLoss, .value = *summary.mean});
}

/// Texts of one script that do not change the training are pooled, and named.
void flag_texts(AuditGroup& group) {
  if (group.scripts > 1 || group.texts < 2) return;
  group.flags.push_back(
      {.kind = FlagKind::kOneScript, .count = static_cast<std::int64_t>(group.texts), .parts = group.differing});
}

void flag_numbers(AuditGroup& group) {
  if (group.n == 1) group.flags.push_back({.kind = FlagKind::kOneRun});
  if (group.n == 0) group.flags.push_back({.kind = FlagKind::kNoLoss});
  if (group.before != nullptr && group.time_over_before && *group.time_over_before >= 1)
    group.flags.push_back({.kind = FlagKind::kNoGain, .what = group.before->id, .value = group.before->minutes});
}

std::vector<std::string> step_texts(const std::set<std::int64_t>& steps) {
  std::vector<std::string> texts;
  for (const std::int64_t step : steps) texts.push_back(std::to_string(step));
  return texts;
}

std::string place_of(const AuditGroup& group) {
  return group.subdir.empty() ? group.folder : group.folder + "/" + group.subdir;
}

std::string key_of(const AuditedRun& run) {
  return run.curve.empty() ? run.content : run.curve;
}

/// Flags runs with the same losses or bytes as runs of another group, in both groups: one set of runs in two places or
/// two formats. In one folder, the later ones are copies.
void flag_repeats_elsewhere(std::vector<AuditGroup>& groups) {
  std::map<std::string, std::vector<const AuditGroup*>> holders;
  for (AuditGroup& group : groups) {
    for (AuditedRun& run : group.runs) {
      std::vector<const AuditGroup*>& known = holders[key_of(run)];
      run.is_copy = std::any_of(known.begin(), known.end(), [&](const AuditGroup* other) {
        return other != &group && other->folder == group.folder;
      });
      if (known.empty() || known.back() != &group) known.push_back(&group);
    }
  }
  for (AuditGroup& group : groups) {
    std::map<std::string, std::vector<std::string>> files;  // by place
    for (const AuditedRun& run : group.runs) {
      for (const AuditGroup* other : holders[key_of(run)]) {
        if (other == &group) continue;
        std::vector<std::string>& names = files[place_of(*other)];
        if (names.empty() || names.back() != run.file.name) names.push_back(run.file.name);
      }
    }
    std::vector<AuditFlag> flags;
    for (const auto& [place, names] : files) {
      const bool is_here = place == place_of(group);
      flags.push_back({.kind = is_here ? FlagKind::kAlsoInThisFolder : FlagKind::kAlsoElsewhere,
                       .files = names,
                       .what = is_here ? "" : place});
    }
    std::sort(flags.begin(), flags.end(), reads_before);
    group.flags.insert(group.flags.end(), flags.begin(), flags.end());
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
      group.flags.push_back({.kind = FlagKind::kFolderHardware, .names = {mix.hardware.begin(), mix.hardware.end()}});
    }
    if (mix.steps.size() > 1) group.flags.push_back({.kind = FlagKind::kFolderSteps, .names = step_texts(mix.steps)});
    if (mix.scripts.size() > 1)
      group.flags.push_back({.kind = FlagKind::kFolderScripts, .count = static_cast<std::int64_t>(mix.scripts.size())});
  }
}

void add_flags(Audit& audit) {
  for (std::vector<AuditGroup>* groups : {&audit.groups, &audit.pooled}) {
    for (AuditGroup& group : *groups) {
      flag_judged_loss(group);
      flag_texts(group);
      flag_runs(group);
      flag_equal_ends(group);
      group.run_flags = std::move(group.flags);
      group.flags.clear();
      flag_numbers(group);
      group.flags.insert(group.flags.end(), group.run_flags.begin(), group.run_flags.end());
    }
  }
  flag_mixes(audit.groups);
  flag_repeats_elsewhere(audit.groups);
  for (AuditGroup& group : audit.pooled) {
    group.flags.insert(group.flags.begin(),
                       AuditFlag{.kind = FlagKind::kPooledScripts, .count = static_cast<std::int64_t>(group.scripts)});
  }
}

/// Names that tell the arms of a folder apart: by sub-directory, steps, hardware and script where they differ.
std::vector<std::string> arm_names(const std::vector<const AuditGroup*>& groups) {
  const auto differ = [&](const auto& member) {
    return std::any_of(groups.begin(), groups.end(),
                       [&](const AuditGroup* group) { return group->*member != groups.front()->*member; });
  };
  std::vector<std::string> names;
  for (const AuditGroup* group : groups) {
    std::vector<std::string> parts;
    if (differ(&AuditGroup::subdir)) parts.push_back(group->subdir.empty() ? "(folder itself)" : group->subdir);
    if (differ(&AuditGroup::planned_steps))
      parts.push_back(group->planned_steps ? std::to_string(*group->planned_steps) + " steps" : "no steps");
    if (differ(&AuditGroup::hardware)) parts.push_back(group->hardware);
    if (differ(&AuditGroup::script_digest))
      parts.push_back("script " + (group->script_digest.empty() ? "none" : group->script_digest.substr(0, 8)));
    names.push_back(joined(parts));
  }
  return names;
}

FolderArms arms_of(const std::vector<const AuditGroup*>& groups) {
  FolderArms arms{.folder = groups.front()->folder};
  std::vector<const AuditGroup*> kept;
  for (const AuditGroup* group : groups) {
    LogArm arm{.hardware = group->hardware};
    add_runs(arm, *group);
    if (arm.losses.size() < 2) continue;
    arms.arms.push_back(std::move(arm));
    kept.push_back(group);
  }
  if (kept.size() < 2) return arms;
  const std::vector<std::string> names = arm_names(kept);
  for (std::size_t i = 0; i < names.size(); ++i) arms.arms[i].name = names[i];
  arms.pairs = all_pairs(arms.arms.size());
  arms.loss = arm_effects(arms.arms, arms.pairs, ArmMetric::kLoss);
  arms.time = arm_effects(arms.arms, arms.pairs, ArmMetric::kTrainTime);
  return arms;
}

void add_arms(Audit& audit) {
  std::map<std::string, std::vector<const AuditGroup*>> folders;
  for (const AuditGroup& group : audit.groups) folders[group.folder].push_back(&group);
  for (const auto& [folder, groups] : folders) {
    FolderArms arms = arms_of(groups);
    if (!arms.pairs.empty()) audit.arms.push_back(std::move(arms));
  }
}

auto place_of(const AuditedRun& run) {
  return std::tie(run.file.folder, run.file.subdir, run.planned_steps, run.gpu, run.gpu_count);
}

PlannedSteps planned_steps_of(const std::vector<AuditedRun>& runs) {
  PlannedSteps steps;
  for (const AuditedRun& run : runs)
    steps[std::filesystem::absolute(run.file.path).lexically_normal()] = run.planned_steps;
  return steps;
}

}  // namespace

AuditVerdict Audit::verdict() const {
  const auto has = [&](AuditVerdict verdict) {
    return std::any_of(groups.begin(), groups.end(), [&](const AuditGroup& group) { return group.verdict == verdict; });
  };
  if (has(AuditVerdict::kDoesNotMeet)) return AuditVerdict::kDoesNotMeet;
  return groups.empty() || !readme_only.empty() || has(AuditVerdict::kInconclusive) ? AuditVerdict::kInconclusive
                                                                                    : AuditVerdict::kMeets;
}

Auditor::Auditor(const AuditOptions& options) : options_(options) {
  if (options.track) rule_of_track(*options.track);
}

void Auditor::add(const results::LogFile& file, const results::SpeedrunLog& log) {
  ++audit_.files;
  audit_.bytes += log.bytes;
  if (!log.is_log()) {
    ++audit_.other_files;
    if (file.is_named) audit_.problems.push_back(file.path.string() + " holds no line of a speedrun trainer");
    return;
  }
  const std::size_t runs = std::max(log.runs.size(), std::size_t{1});
  for (std::size_t i = 0; i < runs; ++i) runs_.push_back(audited_run(file, log, i));
}

Audit Auditor::finish() {
  std::map<std::tuple<std::string, std::string, std::optional<std::int64_t>, std::string, std::optional<int>>,
           std::map<std::string, std::vector<AuditedRun>>>
      places;
  const PlannedSteps known = planned_steps_of(runs_);
  const auto group = [&](std::vector<AuditedRun> runs) {
    return group_of(std::move(runs), options_, named_steps_, known);
  };
  for (const AuditedRun& run : runs_) places[place_of(run)][run.script.code].push_back(run);
  for (const auto& [place, scripts] : places) {
    std::vector<AuditedRun> together;
    for (const auto& [script, runs] : scripts) {
      audit_.groups.push_back(group(runs));
      together.insert(together.end(), runs.begin(), runs.end());
    }
    if (scripts.size() > 1) audit_.pooled.push_back(group(std::move(together)));
  }
  audit_.options = options_;
  add_flags(audit_);
  add_arms(audit_);
  return std::move(audit_);
}

}  // namespace nanobench::reports

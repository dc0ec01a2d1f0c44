#include "reports/audit/audit.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/base/text.h"
#include "reports/audit/arm_runs.h"
#include "reports/audit/audit_groups.h"

namespace nanobench::reports {
namespace {

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
    for (const std::string& problem : run.problems)
      flags.add(problem + (run.loss ? "" : "; it does not count"), run.file.name);
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

/// The loss is not that of the last planned step, or not the one called val_loss.
void flag_judged_loss(AuditGroup& group) {
  if (group.judged_step) {
    const std::string step = std::to_string(*group.judged_step);
    if (group.judged_at == JudgedAt::kNamed) group.flags.push_back("judged at step " + step + ", which a README names");
    if (group.judged_at == JudgedAt::kCommonEnd)
      group.flags.push_back("judged at step " + step + ", where all its runs end");
  }
  std::vector<double> raw;
  for (const AuditedRun& run : group.runs) {
    if (run.is_counted() && run.raw_loss) raw.push_back(*run.raw_loss);
  }
  if (const Summary summary = summarise(raw); summary.mean)
    group.flags.push_back("judged by val_ema_loss; the mean of val_loss is " + format_fixed(*summary.mean, 5));
}

/// Texts of one script that do not change the training are pooled, and named.
void flag_texts(AuditGroup& group) {
  if (group.scripts > 1 || group.texts < 2) return;
  std::vector<std::string> parts;
  for (const results::ScriptPart part : group.differing) parts.emplace_back(enum_name(part));
  group.flags.push_back(std::to_string(group.texts) + " texts of one script, which differ in " +
                        (parts.empty() ? "layout" : listed(parts)) + " only");
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
    std::map<std::string, std::vector<std::string>> files;
    for (const AuditedRun& run : group.runs) {
      for (const AuditGroup* other : holders[key_of(run)]) {
        if (other == &group) continue;
        const std::string place = place_of(*other);
        files[place == place_of(group) ? "appear in another group of this folder" : "appear in " + place].push_back(
            run.file.name);
      }
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
    group.flags.insert(group.flags.begin(), std::to_string(group.scripts) + " different scripts, pooled");
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

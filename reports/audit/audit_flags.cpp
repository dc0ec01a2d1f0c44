#include "reports/audit/audit_flags.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kNamesShown = 3;

/// "a.txt, b.txt, c.txt and 4 more"
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kNamesShown; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamesShown) text += " and " + std::to_string(names.size() - kNamesShown) + " more";
  return text;
}

/// Sentences that several files share, each once with their names.
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
    for (const auto& [sentence, files] : flags_) flags.push_back(sentence + " (" + listed(files) + ")");
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

/// Equal final loss and equal time to the millisecond is no proof, but worth a look.
void flag_equal_ends(AuditGroup& group) {
  std::map<std::pair<double, double>, std::string> known;
  for (const AuditedRun& run : group.runs) {
    if (!run.is_counted() || !run.train_ms) continue;
    const auto [place, is_new] = known.emplace(std::pair(*run.loss, *run.train_ms), run.file.name);
    if (!is_new)
      group.flags.push_back("the same final loss and training time twice (" + place->second + ", " + run.file.name +
                            "): perhaps one run");
  }
}

void flag_numbers(AuditGroup& group) {
  if (group.n == 1) group.flags.emplace_back("n = 1");
  if (group.n == 0) group.flags.emplace_back("no run with a final loss");
  if (group.before != nullptr && group.time_over_before && *group.time_over_before >= 1) {
    group.flags.push_back("the mean time is not below the published time of record " + group.before->id + " (" +
                          format_significant(group.before->minutes, 4) +
                          " min); that was another machine, or this is a baseline");
  }
}

std::string place_of(const AuditGroup& group) {
  return group.subdir.empty() ? group.folder : group.folder + "/" + group.subdir;
}

/// Runs of other groups with the same losses or bytes: one set of runs, given in two places or two forms.
void flag_repeats_elsewhere(std::vector<AuditGroup>& groups) {
  std::map<std::string, const AuditGroup*> known;
  for (AuditGroup& group : groups) {
    std::map<std::string, std::vector<std::string>> files;
    for (const AuditedRun& run : group.runs) {
      const auto [entry, is_new] = known.emplace(run.curve.empty() ? run.content : run.curve, &group);
      const AuditGroup& other = *entry->second;
      if (is_new || &other == &group) continue;
      const std::string place = place_of(other);
      files[place == place_of(group) ? "are in another group of this folder" : "lie in " + place].push_back(
          run.file.name);
    }
    for (const auto& [where, names] : files)
      group.flags.push_back("the same runs " + where + " (" + listed(names) + ")");
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
      group.flags.push_back("different hardware in this folder: " +
                            listed(std::vector<std::string>(mix.hardware.begin(), mix.hardware.end())));
    }
    if (mix.steps.size() > 1) {
      std::vector<std::string> counts;
      for (const std::int64_t steps : mix.steps) counts.push_back(std::to_string(steps));
      group.flags.push_back("different numbers of steps in this folder: " + listed(counts));
    }
    if (mix.scripts.size() > 1) {
      group.flags.push_back(std::to_string(mix.scripts.size()) + " different scripts in this folder");
    }
  }
}

}  // namespace

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
    group.flags.insert(group.flags.begin(), std::to_string(group.scripts) + " different scripts taken together");
  }
}

}  // namespace nanobench::reports

#include "reports/audit/audit_text.h"

#include "core/base/enum_names.h"
#include "core/base/text.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kNamesShown = 3;  // in a sentence; further ones are counted

/// "a.txt, b.txt, c.txt and 4 more"
std::string named(const std::vector<std::string>& names) {
  return listed_first(names, kNamesShown);
}

std::string in_files(const AuditFlag& flag) {
  return " (" + named(flag.files) + ")";
}

/// For a run without a loss.
std::string loss_clause(const AuditFlag& flag) {
  return flag.counts ? "" : "; it does not count";
}

std::string parts_text(const std::vector<results::ScriptPart>& parts) {
  std::vector<std::string> names;
  for (const results::ScriptPart part : parts) names.emplace_back(enum_name(part));
  return names.empty() ? "layout" : listed(names);
}

std::string run_text(const AuditFlag& flag) {
  const std::string step = "no validation at step " + std::to_string(flag.step);
  switch (flag.kind) {
    case FlagKind::kLogProblem: return results::words_of(*flag.problem) + loss_clause(flag) + in_files(flag);
    case FlagKind::kCutShort: return "cut short: " + results::words_of(*flag.end) + loss_clause(flag) + in_files(flag);
    case FlagKind::kEndsBeforeStep: return "cut short: " + step + loss_clause(flag) + in_files(flag);
    case FlagKind::kLacksStep: return step + loss_clause(flag) + in_files(flag);
    case FlagKind::kSameEnds:
      return "the same final loss and training time appear twice" + in_files(flag) + ": perhaps one run";
    case FlagKind::kAlsoInThisFolder: return "the same runs appear in another group of this folder" + in_files(flag);
    case FlagKind::kAlsoElsewhere: return "the same runs appear in " + flag.what + in_files(flag);
    default: return repeat_text(flag) + ": counted once" + in_files(flag);
  }
}

std::string group_text(const AuditFlag& flag) {
  const std::string step = std::to_string(flag.step), count = std::to_string(flag.count);
  switch (flag.kind) {
    case FlagKind::kNamedStep: return "judged at step " + step + ", which a README names";
    case FlagKind::kCommonEnd: return "judged at step " + step + ", where all its runs end";
    case FlagKind::kAveragedLoss:
      return "judged by val_ema_loss; the mean of val_loss is " + format_fixed(flag.value, 5);
    case FlagKind::kOneRun: return "n = 1";
    case FlagKind::kNoLoss: return "no run with a final loss";
    case FlagKind::kOneScript:
      return count + " texts of one script, which differ in " + parts_text(flag.parts) + " only";
    case FlagKind::kNoGain:
      return "the mean time is not below the published time of record " + flag.what + " (" +
             format_significant(flag.value, 4) + " min); that time is from another machine, or this is a baseline";
    case FlagKind::kFolderHardware: return "different hardware in this folder: " + named(flag.names);
    case FlagKind::kFolderSteps: return "different numbers of steps in this folder: " + named(flag.names);
    case FlagKind::kFolderScripts: return count + " different scripts in this folder";
    default: return count + " different scripts, pooled";
  }
}

std::string other_length_text(const AuditFlag& flag) {
  const auto count = static_cast<std::int64_t>(flag.files.size());
  return counted(count, "run", "runs") + " of " + std::to_string(flag.step) +
         (count == 1 ? " steps is" : " steps are") + " left out, because " + std::to_string(flag.count) + " of " +
         std::to_string(flag.usual_step) + " steps count here" + in_files(flag);
}

std::string arm_text(const AuditFlag& flag) {
  switch (flag.kind) {
    case FlagKind::kOtherLength: return other_length_text(flag);
    case FlagKind::kOtherFiles: return counted(flag.count, "file holds", "files hold") + " no line of a trainer";
    case FlagKind::kHeldElsewhere:
      return flag.what + " holds the same " + (flag.files.size() == 1 ? "run, which counts" : "runs, which count") +
             " only there" + in_files(flag);
    case FlagKind::kArmHardware:
      return "its runs are from different hardware, so its times are not compared: " + listed(flag.names);
    default: return "its runs are of " + std::to_string(flag.count) + " different scripts";
  }
}

}  // namespace

std::string repeat_text(const AuditFlag& repeat) {
  switch (repeat.kind) {
    case FlagKind::kSameBytes: return "is byte for byte " + repeat.what;
    case FlagKind::kSameNumbers: return "holds the same losses and times as " + repeat.what;
    default: return "holds the same loss at every validation as " + repeat.what;
  }
}

std::string text_of(const AuditFlag& flag) {
  if (flag.kind < FlagKind::kNamedStep) return run_text(flag);
  return flag.kind < FlagKind::kOtherLength ? group_text(flag) : arm_text(flag);
}

namespace {

std::string t_text(const AuditGroup& group, const AuditOptions& options) {
  if (!group.t && group.n == 1) return "one run has no spread, so nothing can be tested";
  if (!group.t) return "all " + std::to_string(group.n) + " losses are equal, so there is no spread to test against";
  if (*group.loss.mean > group.rule.target) return "the mean is above the target";
  const std::string limit = format_significant(options.p_limit, 1);
  return group.verdict == AuditVerdict::kMeets ? "p < " + limit
                                               : "the mean is below the target, but p is not below " + limit;
}

}  // namespace

std::string verdict_text(const AuditGroup& group, const AuditOptions& options) {
  if (!group.z) return "no final loss";
  if (group.rule.rule != AuditRule::kZ) return t_text(group, options);
  return std::string("(target - mean) * sqrt(n) is ") + (group.z->passes ? "at least " : "below ") +
         format_significant(group.z->threshold, 1);
}

std::string text_of(ArmReason reason) {
  switch (reason) {
    case ArmReason::kNone: return "";
    case ArmReason::kOtherHardware: return "the arms ran on different hardware";
    case ArmReason::kTargetMissed: return "not all runs reach it";
    case ArmReason::kNoValue: return "an arm has no value";
    case ArmReason::kOneRun: return "an arm has one run, which has no spread";
    case ArmReason::kFewRuns: break;
  }
  return "a verdict needs " + std::to_string(kMinArmRuns) + " runs in each arm";
}

bool reads_before(const AuditFlag& a, const AuditFlag& b) {
  return text_of(a) < text_of(b);
}

std::vector<std::string> texts_of(const std::vector<AuditFlag>& flags) {
  std::vector<std::string> texts;
  for (const AuditFlag& flag : flags) texts.push_back(text_of(flag));
  return texts;
}

}  // namespace nanobench::reports

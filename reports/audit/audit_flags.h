/// What an audit finds about the runs of a group or an arm, as values; audit_text.h makes the sentences. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/import/script_identity.h"
#include "results/import/speedrun_log.h"

namespace nanobench::reports {

/// What was found, with the members of AuditFlag that belong to it.
enum class FlagKind {
  // About single runs: `files`.
  kLogProblem,        ///< `problem`; `counts`
  kCutShort,          ///< it ends at `end`, before its last planned step; `counts`
  kEndsBeforeStep,    ///< it ends before `step`, which counts; `counts`
  kLacksStep,         ///< no validation at `step`, which counts; `counts`
  kSameBytes,         ///< byte for byte the run `what` of the group
  kSameNumbers,       ///< the losses and times of the run `what` of the group
  kSameCurve,         ///< the losses of the run `what` of the group
  kSameEnds,          ///< two runs with one final loss and training time
  kAlsoInThisFolder,  ///< the same runs are in another group of this folder
  kAlsoElsewhere,     ///< the same runs are in the folder `what`

  // About where a group is judged.
  kNamedStep,     ///< at `step`, which a README names
  kCommonEnd,     ///< at `step`, where all its runs end
  kAveragedLoss,  ///< by the loss of averaged weights; `value`: mean of the other one

  // About a group.
  kOneRun,          ///< one run counts
  kNoLoss,          ///< no run with a final loss
  kOneScript,       ///< `count` texts of one script, which differ in `parts`
  kNoGain,          ///< no faster than the `value` minutes published for the record `what` before it
  kFolderHardware,  ///< `names`: kinds of hardware in its folder
  kFolderSteps,     ///< `names`: numbers of steps in its folder
  kFolderScripts,   ///< `count` scripts in its folder
  kPooledScripts,   ///< `count` scripts, pooled

  // About an arm.
  kOtherLength,    ///< `files`, of `step` steps, are left out, because `count` runs of `usual_step` steps count
  kOtherFiles,     ///< `count` files hold no line of a trainer
  kHeldElsewhere,  ///< `files` are runs of the arm `what` too, and count there
  kArmHardware,    ///< `names`: kinds of hardware
  kArmScripts,     ///< `count` scripts
};

/// One finding. Members that its kind does not name are as they are here.
struct AuditFlag {
  FlagKind kind = FlagKind::kOneRun;
  std::vector<std::string> files = {};  ///< names of the logs that it is about
  std::vector<std::string> names = {};
  std::string what = {};
  std::int64_t step = 0;
  std::int64_t usual_step = 0;
  std::int64_t count = 0;
  double value = 0.0;
  std::vector<results::ScriptPart> parts = {};
  std::optional<results::LogProblem> problem = {};
  std::optional<results::LogEnd> end = {};
  bool counts = true;  ///< false: a run without a loss for it

  bool operator==(const AuditFlag&) const = default;
};

}  // namespace nanobench::reports

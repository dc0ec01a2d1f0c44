#include "reports/comparison/remark_text.h"

#include <algorithm>

#include "core/base/enum_names.h"
#include "core/base/text.h"
#include "reports/comparison/conditions.h"
#include "reports/comparison/settled_clocks.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kRowsNamed = 4;
constexpr std::size_t kOutliersNamed = 10;
constexpr std::size_t kDisturbedNamed = 6;
constexpr std::size_t kLooksNamed = 6;
constexpr std::int64_t kFewRuns = 5;  // with fewer a standard deviation is itself uncertain

std::string replicate(const RemarkedRun& run) {
  return run.row + ", seed " + std::to_string(run.seed);
}

std::string floor_text(const Remark& remark) {
  std::string first = replicate(remark.runs.front()) + " has a validation loss of " + format_fixed(remark.value, 4) +
                      ", below the data's entropy floor of " + format_fixed(remark.limit, 4);
  if (remark.count > 0) first += ", and so do " + counted(remark.count, "more run");
  return first + ". No honest model can be there; look for a leak in data or evaluation.";
}

/// A busy machine affects times, but not losses.
std::string load_text(const Remark& remark) {
  return counted(remark.count, "run was", "runs were") + " disturbed (" + replicate(remark.runs.front()) + ": " +
         remark.names.front() + (remark.count > 1 ? "; ..." : "") +
         "). Losses count, times are doubtful; run again with --fresh on an idle machine.";
}

std::string other_code_text(const Remark& remark) {
  return "The times of " + counted(static_cast<std::int64_t>(remark.rows.size()), "row") + " (" +
         listed_first(remark.rows, kRowsNamed) +
         ") come from different code than the times they are compared with: the engine has a kernel for " +
         joined(remark.parts) + " on one side only. They decide nothing; " + kSameCodeRemedy + ".";
}

std::string looks_text(const Remark& remark) {
  const std::vector<int>& looks = remark.seeds;
  const std::size_t named = std::min(looks.size() - 1, kLooksNamed - 1);
  std::string seeds = joined(std::vector<int>(looks.begin(), looks.begin() + static_cast<std::ptrdiff_t>(named)));
  seeds += (looks.size() > kLooksNamed ? " ... and " : " and ") + std::to_string(looks.back());
  return "This is look " + std::to_string(looks.size()) + " at results to which seeds were added (" + seeds +
         " seeds). p-values and verdicts hold for one look only, so chance passes for an effect more often than they "
         "say; `run --until-decided` may look after every seed.";
}

std::string warning_text(const Remark& remark) {
  switch (remark.kind) {
    case RemarkKind::kBelowFloor: return floor_text(remark);
    case RemarkKind::kDisturbed: return load_text(remark);
    case RemarkKind::kHosts:
      return "The runs come from " + std::to_string(remark.count) +
             " hosts. Times are compared only between runs of one seed on one host, losses between all runs.";
    case RemarkKind::kMachines: return "The runs come from different machines: do not compare their times.";
    case RemarkKind::kGpus:
      return "The runs come from different GPUs or drivers (" + joined(remark.names, "; ") +
             "): do not compare their times.";
    case RemarkKind::kEngines: return "The runs come from different versions of the engine.";
    case RemarkKind::kOtherCode: return other_code_text(remark);
    case RemarkKind::kLooks: return looks_text(remark);
    default: break;
  }
  return "All runs of a cell have the same final loss, whatever their seed. Either the trainer does not use the seed, "
         "and these are copies of one run, on which the verdicts on losses rest; or it prints few digits.";
}

std::string spread_text(const Remark& remark) {
  if (remark.count >= kFewRuns) return "± is the standard deviation over n runs.";
  return "± is the standard deviation over n runs; with n = " + std::to_string(remark.count) +
         " it is itself uncertain.";
}

std::string seats_text(const Remark& remark) {
  return "The runs were made on " + std::to_string(remark.count) + " seats: " +
         (remark.kind == RemarkKind::kSeatsBySeed
              ? "all runs of a seed on the same one, so that a seat's speed is in no difference."
              : "those of a seed on several, so that only times of one seat are compared.");
}

/// "base, seed 3, run 17: val loss 3.4123, median 3.2811"
std::string outlier_text(const RemarkedRun& run) {
  const auto number = [&](double value) { return run.is_time ? format_significant(value, 4) : format_fixed(value, 4); };
  return replicate(run) + ", run " + std::to_string(run.run_id) + ": " + (run.is_time ? "step ms " : "val loss ") +
         number(run.value) + ", median " + number(run.median);
}

std::string outliers_text(const Remark& remark) {
  std::vector<std::string> names;
  for (const RemarkedRun& run : remark.runs) names.push_back(outlier_text(run));
  return "Outliers, flagged but kept in every mean: " + listed_first(names, kOutliersNamed, "; ") +
         (names.size() > kOutliersNamed ? " (--json names all)" : "") + ". Each is more than " +
         format_significant(kOutlierLimit, 2) +
         " robust standard deviations from its cell's median. By chance alone, one of 5 ordinary runs is flagged in "
         "every fifth cell, and one of 20 in every tenth.";
}

std::string disturbed_steps_text(const Remark& remark) {
  std::vector<std::string> names;
  for (const RemarkedRun& run : remark.runs)
    names.push_back(replicate(run) + ": " + counted(run.steps, "step") + ", " + format_significant(run.value, 3) +
                    " ms");
  return "Disturbed steps count as the other runs of the cell took them (" +
         listed_first(names, kDisturbedNamed, "; ") +
         " less than measured). What every run loses to such steps stays in the clocks.";
}

std::string without_turns_text(const Remark& remark) {
  const bool is_one = remark.count == 1;
  return counted(remark.count, "run") + (is_one ? " was" : " were") + " to take steps in turns, but " +
         (is_one ? "its engine takes" : "their engines take") +
         " none: each had the machine from start to end. Compare times with care.";
}

std::string turns_text(const Remark& remark) {
  const std::string others = remark.others == 0
                                 ? ""
                                 : " " + counted(remark.others, "other run") +
                                       " had the machine from start to end: compare their times with care.";
  return counted(remark.count, "run") + " took steps in turns, in " + counted(remark.blocks, "block") +
         " of runs that were resident together. First steps of turns count as the others of their turn (" +
         format_significant(remark.value, 2) +
         " % of the clock less), and slow moments of the machine are taken from the turns that they met." + others;
}

std::string note_text(const Remark& remark) {
  const std::vector<std::string>& rows = remark.rows;
  switch (remark.kind) {
    case RemarkKind::kOtherGpus:
      return "The times of " + rows[0] + " and " + rows[1] +
             " are not compared: they come from different GPUs or drivers.";
    case RemarkKind::kSkippedRow:
      return rows[0] + " is compared with " + rows[1] + ", because " + rows[2] + " has no completed run.";
    case RemarkKind::kNoSharedSeed:
      return rows[0] + " and " + rows[1] + " share no seed: their difference is that of the means, without a spread.";
    case RemarkKind::kOneRun:
      return "n = 1: one run has no spread, so a difference between two rows may be chance. --seeds 3 measures the "
             "spread.";
    case RemarkKind::kSpread: return spread_text(remark);
    case RemarkKind::kSeatsBySeed:
    case RemarkKind::kMixedSeats: return seats_text(remark);
    case RemarkKind::kOutliers: return outliers_text(remark);
    case RemarkKind::kRawClocks:
      return "Clocks are as measured: more than " + format_count(kMaxClockSamples) +
             " samples are not searched for disturbed steps.";
    case RemarkKind::kDisturbedSteps: return disturbed_steps_text(remark);
    case RemarkKind::kWithoutTurns: return without_turns_text(remark);
    case RemarkKind::kTurns: return turns_text(remark);
    default: break;
  }
  return counted(remark.count, "run") +
         " ran beside others (--jobs), so there are losses of them and no times. `nanobench run` without --jobs "
         "measures those.";
}

}  // namespace

std::string text_of(const Remark& remark) {
  return remark.kind < RemarkKind::kOtherGpus ? warning_text(remark) : note_text(remark);
}

std::vector<std::string> texts_of(const std::vector<Remark>& remarks) {
  std::vector<std::string> texts;
  for (const Remark& remark : remarks) texts.push_back(text_of(remark));
  return texts;
}

std::string text_of(const FailedRuns& failed) {
  const std::string end = enum_name(failed.outcome) + (failed.message.empty() ? "" : ": " + failed.message);
  return (failed.seeds.size() == 1 ? "seed " : "seeds ") + joined(failed.seeds) + " " + end;
}

std::string text_of(const TargetSource& source) {
  switch (source.kind) {
    case TargetSource::Kind::kNone: return "";
    case TargetSource::Kind::kOption: return "from the command line";
    case TargetSource::Kind::kSuite: return "from the suite";
    case TargetSource::Kind::kSpeedrun: return "the speedrun's target";
    case TargetSource::Kind::kFirstRow: break;
  }
  return "the final loss of the first row, " + source.row +
         (source.runs > 1 ? " (mean of " + std::to_string(source.runs) + ")" : "");
}

std::string different_code(const core::StepParts& parts) {
  return "times of different code: the engine has a kernel for " + joined(parts) + " in some of the cells only; " +
         kSameCodeRemedy;
}

}  // namespace nanobench::reports

#include "reports/kinds/bench_words.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"

namespace nanobench::reports {

std::string TimeUnit::text(double value_ms) const {
  return format_significant(value_ms / ms, 4);
}

std::string TimeUnit::like(double value_ms, const Summary& mean) const {
  const std::string model = mean.mean ? text(*mean.mean) : "0.000";
  const std::size_t point = model.find('.');
  return format_fixed(value_ms / ms, point == std::string::npos ? 0 : static_cast<int>(model.size() - point - 1));
}

TimeUnit unit_of(const std::vector<CellMeasures>& cells) {
  double longest = 0.0;
  for (const CellMeasures& cell : cells) longest = std::max(longest, summarise(clocks(cell)).mean.value_or(0.0));
  return longest >= 1000.0 ? TimeUnit{.name = "s", .ms = 1000.0} : TimeUnit{};
}

std::string bench_verdict(const MeasuredEffect& effect) {
  switch (effect.verdict) {
    case Verdict::kImproved: return "faster";
    case Verdict::kRegressed: return "slower";
    case Verdict::kUnchanged: return "same";
    case Verdict::kNotWorse:
    case Verdict::kInconclusive: return "open";
    case Verdict::kMissing: break;
  }
  return "no result";
}

std::string ratio_interval_text(const MeasuredEffect& time) {
  if (!time.interval) return "";
  return " (" + format_ratio(std::exp(time.interval->low)) + " to " + format_ratio(std::exp(time.interval->high)) + ")";
}

std::string turn_text(double turn_ms) {
  return format_significant(turn_ms, 3) + " ms";
}

namespace {

/// "0.74 times as long (0.72 to 0.76)"
std::string times_as_long(const MeasuredEffect& time) {
  return format_ratio(std::exp(*time.value)) + " times as long" + ratio_interval_text(time);
}

std::string effect_sentence(const BenchData& data, const EffectResult& effect) {
  const MeasuredEffect& time = effect.log_time;
  const std::string name = effect.contrast.effect;
  switch (time.verdict) {
    case Verdict::kImproved:
    case Verdict::kRegressed:
      return name + " is " + bench_verdict(time) + " than " + data.reference + ": it takes " + times_as_long(time) +
             ".";
    case Verdict::kUnchanged:
      return name + " takes as long as " + data.reference + ", within " +
             format_significant_percent(data.settings.margin, 2) + ".";
    case Verdict::kMissing: return name + " has no result against " + data.reference + ".";
    default: break;
  }
  const std::string open = name + " against " + data.reference + " is open";
  if (!time.value) return open + ".";
  const bool is_short = time.n < data.rules.min_n;
  return open + ": it takes " + times_as_long(time) + (is_short ? ", and fewer than three rounds prove nothing." : ".");
}

/// "2 of 6 commands are faster than A, 1 is slower, ...: the quickest is B."
std::string counts_sentence(const BenchData& data) {
  std::vector<std::string> parts;
  const auto add = [&](std::initializer_list<Verdict> verdicts, const std::string& one, const std::string& many) {
    const auto count = std::count_if(data.effects.begin(), data.effects.end(), [&](const EffectResult& effect) {
      return std::find(verdicts.begin(), verdicts.end(), effect.log_time.verdict) != verdicts.end();
    });
    if (count > 0) parts.push_back(std::to_string(count) + (count == 1 ? " is " + one : " are " + many));
  };
  add({Verdict::kImproved}, "faster", "faster");
  add({Verdict::kRegressed}, "slower", "slower");
  add({Verdict::kUnchanged}, "the same within " + format_significant_percent(data.settings.margin, 2),
      "the same within " + format_significant_percent(data.settings.margin, 2));
  add({Verdict::kInconclusive, Verdict::kNotWorse}, "open", "open");
  add({Verdict::kMissing}, "without a result", "without a result");
  return "Of " + counted(static_cast<std::int64_t>(data.effects.size()), "command") + " against " + data.reference +
         " " + listed(parts) + ".";
}

}  // namespace

std::string bench_headline(const BenchData& data) {
  if (data.effects.empty()) {
    if (data.table.rows.empty() || !data.table.rows.front().clock_ms.mean) return "No run was completed.";
    const Summary& time = data.table.rows.front().clock_ms;
    const TimeUnit unit = unit_of(data.cells);
    std::string text = data.reference + " takes " + unit.text(*time.mean) + " " + unit.name;
    if (time.sd) text += ", with a standard deviation of " + unit.text(*time.sd) + " " + unit.name;
    return text + " (" + counted(time.n, "run") + ").";
  }
  if (data.effects.size() > kNamedCommands) return counts_sentence(data);
  std::vector<std::string> sentences;
  for (const EffectResult& effect : data.effects) sentences.push_back(effect_sentence(data, effect));
  return joined(sentences, " ");
}

std::string text_of(const BenchRemedy& remedy) {
  const std::string rounds = std::to_string(remedy.rounds);
  switch (remedy.kind) {
    case BenchRemedy::Kind::kNone: return "";
    case BenchRemedy::Kind::kMissing: return "no completed run of " + listed_first(remedy.commands, 2);
    case BenchRemedy::Kind::kSharedRound: return "no round in which both were completed";
    case BenchRemedy::Kind::kFirstRounds: return rounds + " rounds; there are " + std::to_string(remedy.have);
    case BenchRemedy::Kind::kRounds: return "about " + rounds + " rounds";
    case BenchRemedy::Kind::kEqualRounds: return "about " + rounds + " rounds, if there is no difference";
    case BenchRemedy::Kind::kQuietMachine: break;
  }
  return "more than " + rounds + " rounds with this noise: a quieter machine, or a wider --margin";
}

namespace {

std::string outliers_text(const BenchWarning& warning) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < warning.commands.size(); ++i)
    names.push_back(counted(warning.counts[i], "run") + " of " + warning.commands[i]);
  return "Outliers, more than 3.5 robust standard deviations from the median: " + listed_first(names, kNamedCommands) +
         ". They count; a quieter machine narrows the intervals.";
}

}  // namespace

std::string text_of(const BenchWarning& warning) {
  const std::string named = listed_first(warning.commands, kNamedCommands);
  switch (warning.kind) {
    case BenchWarning::Kind::kFailed:
      return warning.commands.front() + ": " + counted(warning.count, "run") + " failed: " + warning.reason;
    case BenchWarning::Kind::kBrief:
      return "Less than " + format_fixed(kStartUpMs, 0) + " ms: " + named +
             ". Much of that is the start of a process; let one run do the work many times.";
    case BenchWarning::Kind::kUnfinished:
      return counted(warning.count, "planned run was", "planned runs were") +
             " not made: the measurement was interrupted, or their command failed.";
    case BenchWarning::Kind::kColdStart:
      return "The first run of " + named +
             " took much longer than the others, as with cold caches; --warmup 3 leaves it out, and --prepare can make "
             "every run begin cold.";
    case BenchWarning::Kind::kOutliers: return outliers_text(warning);
    case BenchWarning::Kind::kOtherMachines: return "The runs come from different machines.";
    case BenchWarning::Kind::kIdleTurns:
      return "No command was paused: each ended within its first turn of " + turn_text(warning.turn_ms) +
             ", so the turns changed nothing; shorter ones are made with --turns=TIME.";
    case BenchWarning::Kind::kClocksInTurns: break;
  }
  return "The commands took turns, and a time or a speed that a command prints includes its pauses: compare such "
         "numbers without --turns.";
}

std::vector<std::string> bench_reading(const BenchData& data) {
  std::vector<std::string> reading = {
      "A round runs each command once, in an order that is drawn anew by the order seed. ± is the standard deviation "
      "of "
      "one run. Wall time runs from the start of the process to its end; user and system time are those of the process "
      "and the children that it waited for; the peak is the largest resident set of one of them."};
  if (data.settings.turn_ms) {
    reading.push_back(
        "The commands of a round were in memory at once, and one at a time ran, for " +
        turn_text(*data.settings.turn_ms) +
        ", in an order that is drawn anew for each pass. Wall time is the sum of a command's turns; what a "
        "command measures by its own clock includes its pauses.");
  }
  if (data.effects.empty()) return reading;
  reading.push_back(
      "Time ratio: the command's time over that of the reference in the same round, as a mean of logarithms; below 1 "
      "is "
      "faster. The intervals hold together at 95 %, and Holm adjusts the p-values over all commands. The same: proved "
      "to "
      "lie within " +
      format_significant_percent(data.settings.margin, 2) +
      " on both sides (--margin). Open: neither is proved. A verdict needs three rounds.");
  return reading;
}

}  // namespace nanobench::reports

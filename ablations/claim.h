/// A claim: one quantitative or testable statement of the five written analyses of the records' changes, as data: where
/// it appears, what it states, what would measure it here, and the rule that turns the measurement into a verdict. The
/// evidence from published scripts and logs is kept beside it, but separate.
///
/// Plain values; thread-safe when not modified. The file format is described in README.md of this folder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ablations/claim_rule.h"
#include "ablations/record.h"
#include "core/base/enum_names.h"
#include "core/base/json.h"
#include "core/protocol/run_choices.h"

namespace nanobench::ablations {

/// The claim's own number.
struct ClaimQuantity {
  /// Equal for a single number; for kFromTo the values before and after.
  double first = 0;
  double second = 0;
  std::string unit;  ///< "percent", "ms", "times", ...
  enum class Change { kDecrease, kIncrease, kLevel, kFromTo } change = Change::kLevel;
};
NB_ENUM_NAMES(ClaimQuantity::Change, {ClaimQuantity::Change::kDecrease, "decrease"},
              {ClaimQuantity::Change::kIncrease, "increase"}, {ClaimQuantity::Change::kLevel, "level"},
              {ClaimQuantity::Change::kFromTo, "from_to"});

enum class MeasureKind {
  kCells,         ///< training runs of the arms
  kBenchmark,     ///< one operation at stated shapes
  kCounter,       ///< counts from the engine or the block mask, without timing
  kConfig,        ///< a setting of the arms' resolved configuration
  kPublishedLog,  ///< the arms' published figures
  kNone,          ///< not measurable here; `why` gives the reason
};
NB_ENUM_NAMES(MeasureKind, {MeasureKind::kCells, "cells"}, {MeasureKind::kBenchmark, "benchmark"},
              {MeasureKind::kCounter, "counter"}, {MeasureKind::kConfig, "config"},
              {MeasureKind::kPublishedLog, "published_log"}, {MeasureKind::kNone, "none"});

/// One side of a measurement. Which members count depends on the kind.
struct MeasureArm {
  std::string record;                          ///< all kinds but benchmark
  FeatureSettings features;                    ///< cells, counter, config: settings on the record
  std::optional<core::KernelChoice> kernels;   ///< cells: how the arm computes; absent: as the other runs
  std::map<std::string, std::int64_t> shapes;  ///< benchmark
  core::Json patch = core::Json::object();     ///< benchmark: the settings that it uses, as a patch over TrainConfig
};

/// A benchmark's arms measured again at other sizes or in another metric: reported beside the measurement, but not
/// judged.
struct AlsoMeasured {
  std::map<std::string, std::int64_t> shapes;  ///< replace the arms' sizes with these names
  std::string metric;
};

struct ClaimMeasure {
  MeasureKind kind = MeasureKind::kNone;
  std::optional<MeasureArm> before;  ///< present if the rule's form needs it; so is `after`
  std::optional<MeasureArm> after;
  std::optional<MeasureArm> whole;   ///< cells, metric "share_of_saved_time": the state before the whole change
  std::string op;                    ///< benchmark
  std::vector<AlsoMeasured> also;    ///< benchmark
  std::string pointer;               ///< config: JSON pointer of the setting
  std::optional<core::Json> equals;  ///< config, metric "equals": the value that counts as 1
  std::string why;                   ///< none
};

struct PublishedEvidence {
  enum class Verdict { kSupported, kContradicted, kSilent } verdict = Verdict::kSilent;
  std::string text;             ///< one or two sentences; never empty unless silent
  std::optional<double> value;  ///< on the rule's scale, if the sources give it and no record's figures do
  std::string source;           ///< where to look it up
};
NB_ENUM_NAMES(PublishedEvidence::Verdict, {PublishedEvidence::Verdict::kSupported, "supported"},
              {PublishedEvidence::Verdict::kContradicted, "contradicted"},
              {PublishedEvidence::Verdict::kSilent, "silent"});

struct Claim {
  std::string id;        ///< the file's stem
  std::string analysis;  ///< "000" ... "004"
  std::string place;
  std::int64_t record = 0;  ///< number of the record whose change the analysis describes
  std::string statement;    ///< the analysis's statement in our words; not necessarily true
  std::optional<ClaimQuantity> quantity;
  std::vector<std::string> features;  ///< features that the statement is about
  ClaimMeasure measure;
  std::optional<ClaimRule> rule;  ///< absent only for kNone
  PublishedEvidence published;
  core::Json json;     ///< the file as it was read
  std::string source;  ///< the file it was read from, for messages
};

/// Reads one claim file. Throws Error{kInvalidArgument} with `source` and the JSON pointer: unknown or missing keys,
/// metrics that the measure's kind does not have, arms that the rule does not use, rules that cannot fail or hold.
Claim read_claim(const core::Json& json, const std::string& source);

/// What values of a metric depend on, and so which of them are comparable.
enum class MetricBasis {
  kOther,
  kMeanLoss,  ///< a mean of losses: all cells of a plan inform its spread, and machines do not matter
  kTime,      ///< a time, or a rate or share made of times: comparable within one machine and between equal code only
  kMachine,   ///< comparable within one machine only
};

/// Whether values are comparable within one machine only.
bool is_of_machine(MetricBasis basis);

/// One metric that rules may name, described for one kind of measure.
struct ClaimMetric {
  MeasureKind kind;
  const char* name;
  const char* unit;
  MetricRange range;
  const char* text;
  MetricBasis basis = MetricBasis::kOther;
  bool is_of_pair = false;  ///< compares the two arms itself; used only with RuleForm::kPair
  bool is_of_gpu = false;   ///< only runs on a GPU can be judged by it
};

std::span<const ClaimMetric> claim_metrics();

/// What the claim's training runs must be asked for.
core::AskedMetrics asked_metrics(const Claim& claim);

/// nullptr if this kind of measure has no such metric.
const ClaimMetric* find_claim_metric(MeasureKind kind, const std::string& name);

}  // namespace nanobench::ablations

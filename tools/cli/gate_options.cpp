#include "tools/cli/gate_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/base/text.h"
#include "results/store.h"
#include "tools/cli/git.h"
#include "tools/cli/quantity.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using reports::GateMetric;
using reports::GatePolicy;
using results::BaselineRecord;

constexpr double kLargestMargin = 100.0;
constexpr int kAncestors = 1000;
constexpr const char* kInstructions = "instructions";  // counted ones, which belong to the costs

/// Nats of loss ("0.002", "0.002nats"), or a share of another metric ("3%", "0.03").
std::optional<double> margin_in(const std::string& text, GateMetric metric) {
  const auto parts = number_with_unit(text);
  if (!parts) return std::nullopt;
  const bool is_loss = metric == GateMetric::kLoss;
  if (parts->unit.empty() || (is_loss && parts->unit == "nats")) return parts->value;
  return !is_loss && parts->unit == "%" ? std::optional(parts->value / 100.0) : std::nullopt;
}

[[noreturn]] void refuse_margin(const std::string& text) {
  throw Error(ErrorCode::kInvalidArgument,
              "--margin " + text + ": expected METRIC=NUMBER, such as loss=0.002 (nats) or time=3%");
}

void set_margin(GatePolicy& policy, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) refuse_margin(text);
  const std::string name = text.substr(0, equals);
  const bool is_instructions = name == kInstructions;
  const GateMetric metric =
      is_instructions ? GateMetric::kCost : reports::parse_gate_metric(name, "--margin " + text, {kInstructions});
  const std::optional<double> margin = margin_in(text.substr(equals + 1), metric);
  if (!margin || *margin > kLargestMargin) refuse_margin(text);
  (is_instructions ? policy.instructions_margin : policy.of(metric).margin) = *margin;
}

void set_only(GatePolicy& policy, const std::string& list) {
  for (const GateMetric metric : reports::all_gate_metrics()) policy.of(metric).gates = false;
  for (const std::string_view name : split_at(list, ','))
    policy.of(reports::parse_gate_metric(std::string(name), "--only " + list)).gates = true;
}

FoundBaseline from_record(const results::Store& store, const BaselineRecord& record, const std::string& why) {
  FoundBaseline found;
  found.arm = reports::read_arm(store, store.plan(record.plan_id), "baseline " + record.name);
  if (!record.revision.empty()) found.arm->revision = record.revision;
  found.plan_id = record.plan_id;
  found.how = "baseline " + record.name + " (" + why + ")";
  return found;
}

FoundBaseline from_file(const fs::path& file, const std::string& suite) {
  FoundBaseline found;
  found.how = "file " + file.string();
  if (!results::is_database(file)) {
    found.arm = reports::read_arm(core::read_json_file(file), file.string());
    return found;
  }
  const results::Store other(file, results::OpenMode::kReadOnly);
  if (const auto plan = other.newest_plan(suite)) {
    found.arm = reports::read_arm(other, *plan, file.string());
  } else {
    found.how = file.string() + " holds no results of the suite " + suite;
  }
  return found;
}

/// A revision such as "3f2a... (changed)" was never committed and equals no other.
bool is_revision(const BaselineRecord& record, const std::string& revision) {
  return record.revision == revision;
}

std::optional<FoundBaseline> from_merge_base(const results::Store& store, const std::vector<BaselineRecord>& known,
                                             const BaselineRequest& request) {
  const std::optional<std::string> base = merge_base(request.branch, request.folder);
  if (!base) return std::nullopt;
  for (const std::string& revision : first_parents(*base, kAncestors, request.folder)) {
    const auto found = std::find_if(known.rbegin(), known.rend(),
                                    [&](const BaselineRecord& record) { return is_revision(record, revision); });
    if (found == known.rend()) continue;
    const std::string where = revision == *base ? "of the merge base " : "of the merge base's ancestor ";
    return from_record(store, *found, where + revision.substr(0, 12));
  }
  return std::nullopt;
}

}  // namespace

void add_gate_policy_options(CLI::App& command, GatePolicyOptions& options) {
  command.add_option("--policy", options.file, "Gate policy as JSON: margins, and which metrics gate (docs/ci.md)")
      ->type_name("FILE");
  command
      .add_option("--margin", options.margins,
                  "Largest loss that does not matter: loss in nats; time, memory, cost, instructions as a share (3%)")
      ->type_name("METRIC=NUMBER");
  command
      .add_option("--only", options.only,
                  "Metrics that gate, of loss,time,memory,training_memory,cost; the others are only reported")
      ->type_name("LIST");
  add_share_option(command, "--alpha", [&options](double share) { options.alpha = share; },
                   "Chance of a false regression, and of each false pass (default: 5%)", {1e-6, 0.49});
  command.add_option("--least-runs", options.min_runs, "Minimum number of runs on each side (default: 2)")
      ->type_name("N");
}

reports::GatePolicy policy_of(const GatePolicyOptions& options) {
  GatePolicy policy = options.file.empty() ? GatePolicy{} : reports::read_gate_policy_file(options.file);
  for (const std::string& margin : options.margins) set_margin(policy, margin);
  if (!options.only.empty()) set_only(policy, options.only);
  const std::vector<GateMetric> metrics = reports::all_gate_metrics();
  if (std::none_of(metrics.begin(), metrics.end(), [&](GateMetric metric) { return policy.of(metric).gates; }))
    throw Error(ErrorCode::kInvalidArgument,
                "no metric of the policy gates; let at least one of loss, time, memory, training_memory and cost gate");
  if (options.alpha) policy.alpha = *options.alpha;
  if (options.min_runs) {
    if (*options.min_runs < 2) throw Error(ErrorCode::kInvalidArgument, "--least-runs: expected 2 or more");
    policy.min_runs = *options.min_runs;
  }
  return policy;
}

FoundBaseline find_baseline(const results::Store& store, const BaselineRequest& request) {
  if (!request.name.empty()) {
    if (const auto record = store.find_baseline(request.name))
      return from_record(store, *record, "saved " + record->created_at);
    if (fs::is_regular_file(request.name)) return from_file(request.name, request.suite);
    std::vector<std::string> names;
    for (const BaselineRecord& record : store.baselines()) names.push_back(record.name);
    return {.arm = std::nullopt,
            .plan_id = std::nullopt,
            .how = "there is no baseline and no file named " + request.name + core::suggestion(request.name, names) +
                   "; `nanobench baseline list` lists the stored ones"};
  }
  const std::vector<BaselineRecord> known = store.baselines(request.suite);
  if (std::optional<FoundBaseline> found = from_merge_base(store, known, request)) return *found;
  const auto accepted =
      std::find_if(known.rbegin(), known.rend(), [](const BaselineRecord& record) { return record.is_accepted; });
  if (accepted != known.rend()) return from_record(store, *accepted, "accepted " + accepted->created_at);
  return {.arm = std::nullopt,
          .plan_id = std::nullopt,
          .how = "no baseline of the suite " + request.suite +
                 ": none belongs to the merge base or its ancestors, and none was accepted; name one with --baseline, "
                 "run one in turn with --baseline-engine (--baseline-folder for a trainer of your own), or make one: "
                 "nanobench run " +
                 request.suite + " && nanobench baseline accept --reason \"first\""};
}

}  // namespace nanobench::tools

#include <cmath>

#include "core/base/step_profile.h"
#include "core/base/text.h"
#include "core/config/cost_model.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {
namespace {

using core::OpProfile;
using core::PhaseProfile;
using core::StepProfile;

TableCell share_cell(double part, double whole) {
  if (whole <= 0) return missing_cell();
  return percent_cell(part / whole, 1);
}

/// Billions per second; missing if nothing was counted.
TableCell rate_cell(double work, double ms) {
  if (work <= 0 || ms <= 0) return missing_cell();
  return fixed_cell(work / ms * 1e-6, 1);
}

TableCell amount_cell(double value) {
  return value > 0 ? number_cell(value, format_amount) : missing_cell();
}

std::optional<double> find(const std::map<std::string, double>& counters, const std::string& name) {
  const auto found = counters.find(name);
  return found == counters.end() ? std::nullopt : std::optional<double>(found->second);
}

void add_rates(FactList& list, const StepProfile& profile, const ProfiledRun& run) {
  const double step_ms = profile.steps_ms / static_cast<double>(profile.steps);
  const double rate = profile.flops() / profile.steps_ms * 1e-6;
  list.add("gflops", "GFLOP/s achieved", fixed_cell(rate, 1));
  if (profile.sgemm_gflops) {
    list.add("sgemm_gflops", "GFLOP/s of sgemm here", fixed_cell(*profile.sgemm_gflops, 1));
    list.add("share_of_sgemm", "share of sgemm", share_cell(rate, *profile.sgemm_gflops));
  }
  if (profile.gpu_gflops) {
    list.add("gpu_gflops", "GFLOP/s of the GPU's products", fixed_cell(*profile.gpu_gflops, 1));
    list.add("share_of_gpu", "share of these", share_cell(rate, *profile.gpu_gflops));
  }
  if (const auto flops = find(run.counters, "cost/flops_per_step")) {
    list.add("cost_flops_per_step", "FLOPs a step, cost model", amount_cell(*flops));
    list.add("cost_gflops", "GFLOP/s, cost model", fixed_cell(*flops / step_ms * 1e-6, 1));
  }
  if (const auto blocks = find(run.counters, "cost/visited_blocks_per_step"))
    list.add("visited_blocks_per_step", "attention blocks a step", number_cell(*blocks, format_amount));
}

std::vector<Fact> facts_of(const StepProfile& profile, const ProfiledRun& run) {
  FactList list;
  const double steps = static_cast<double>(profile.steps);
  list.add("threads", "threads", count_cell(run.hello.threads));
  list.add("parameters", "parameters", value_cell(format_count(run.hello.parameters), run.hello.parameters));
  const auto add_environment = [&](const char* key, const char* title) {
    const auto found = run.hello.environment.find(key);
    if (found != run.hello.environment.end()) list.add(key, title, text_cell(found->second));
  };
  add_environment("vector_path", "vector path");
  add_environment("blocks", "blocks");
  add_environment("attention", "attention");
  list.add("steps", "profiled steps", count_cell(profile.steps));
  if (profile.steps == 0) return list.facts;
  list.add("step_ms", "step ms (mean)", significant_cell(profile.steps_ms / steps, 4));
  add_rates(list, profile, run);
  TableCell unaccounted = significant_cell(profile.unaccounted_ms() / steps, 3);
  unaccounted.detail = "(" + share_cell(profile.unaccounted_ms(), profile.steps_ms).text + ")";
  list.add("unaccounted_ms", "outside any op, ms a step", std::move(unaccounted));
  list.add_if("trace", "trace", run.trace_file.value_or(""));
  return list.facts;
}

Table phase_table(const StepProfile& profile) {
  Table table{.id = "phases",
              .title = "Phases",
              .columns = {text_column("phase", "phase"), number_column("ms", "ms a step"),
                          number_column("share", "of step"), number_column("unaccounted_ms", "outside any op"),
                          number_column("flops", "FLOPs", 1), number_column("gflops", "GFLOP/s")}};
  const double steps = static_cast<double>(profile.steps);
  for (const PhaseProfile& phase : profile.phases) {
    table.rows.push_back({text_cell(phase.phase), fixed_cell(phase.total_ms / steps, 3),
                          share_cell(phase.total_ms, profile.steps_ms), fixed_cell(phase.self_ms / steps, 3),
                          amount_cell(phase.flops / steps), rate_cell(phase.flops, phase.total_ms)});
  }
  return table;
}

Table op_table(const StepProfile& profile) {
  Table table{.id = "ops",
              .title = "Ops, by their own time",
              .columns = {text_column("phase", "phase"), text_column("op", "op"), number_column("calls", "calls"),
                          number_column("self_ms", "ms a step"), number_column("total_ms", "with inner ops", 2),
                          number_column("share", "of step"), number_column("flops", "FLOPs", 1),
                          number_column("gflops", "GFLOP/s"), number_column("bytes", "bytes", 3),
                          number_column("gbytes_per_s", "GB/s")}};
  const double steps = static_cast<double>(profile.steps);
  for (const OpProfile& op : profile.ops) {
    table.rows.push_back({text_cell(op.phase), text_cell(op.op),
                          significant_cell(static_cast<double>(op.calls) / steps, 3), fixed_cell(op.self_ms / steps, 3),
                          fixed_cell(op.total_ms / steps, 3), share_cell(op.self_ms, profile.steps_ms),
                          amount_cell(op.flops / steps), rate_cell(op.flops, op.self_ms), amount_cell(op.bytes / steps),
                          rate_cell(op.bytes, op.self_ms)});
  }
  return table;
}

void add_cost_row(Table& table, const std::map<std::string, double>& counters, const char* kind,
                  const std::string& part) {
  const auto flops = find(counters, std::string("cost/flops_per_step/") + part);
  const auto bytes = find(counters, std::string("cost/bytes_per_step/") + part);
  if (!flops || !bytes) return;
  table.rows.push_back({text_cell(kind), text_cell(part), amount_cell(*flops),
                        share_cell(*flops, find(counters, "cost/flops_per_step").value_or(0)), amount_cell(*bytes),
                        share_cell(*bytes, find(counters, "cost/bytes_per_step").value_or(0))});
}

}  // namespace

std::string format_amount(double value) {
  static constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  while (std::abs(value) >= 1000 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return format_significant(value, 4) + kUnits[unit];
}

Table cost_table(const std::map<std::string, double>& counters) {
  Table table{.id = "cost",
              .title = "Work of a step, by the cost model",
              .columns = {text_column("by", "by"), text_column("part", "part"), number_column("flops", "FLOPs"),
                          number_column("flops_share", "share"), number_column("bytes", "bytes"),
                          number_column("bytes_share", "share")}};
  for (std::size_t i = 0; i < core::kOpFamilies; ++i)
    add_cost_row(table, counters, "family", enum_name(static_cast<core::OpFamily>(i)));
  for (std::size_t i = 0; i < core::kCostPhases; ++i)
    add_cost_row(table, counters, "phase", enum_name(static_cast<core::CostPhase>(i)));
  return table;
}

Document profile_report(const StepProfile& profile, const ProfiledRun& run) {
  Document document{.kind = "profile", .title = "Profile of " + run.name};
  Section& head = document.sections.emplace_back();
  head.facts = facts_of(profile, run);
  if (profile.steps == 0) {
    document.warnings.push_back("No step was profiled: the run ended before its first timed step.");
    return document;
  }
  head.tables.push_back(phase_table(profile));
  head.tables.push_back(op_table(profile));
  if (Table cost = cost_table(run.counters); !cost.rows.empty()) head.tables.push_back(std::move(cost));
  if (Table memory = counted_memory_table(run.counters); !memory.rows.empty()) head.tables.push_back(std::move(memory));
  document.notes.push_back(
      "Means over the profiled steps, on the training thread. Profiling itself costs time: compare shares, and take "
      "step "
      "times from `nanobench train`.");
  document.notes.push_back(
      "GFLOP/s: matrix products and attention's visited blocks over an op's own time. GB/s: what LibTorch's calls read "
      "and write, caches included.");
  return document;
}

}  // namespace nanobench::reports

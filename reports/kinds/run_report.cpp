#include <cmath>
#include <filesystem>
#include <tuple>

#include "core/base/text.h"
#include "reports/comparison/comparison.h"
#include "reports/comparison/conditions.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"
#include "results/loaded_files.h"
#include "results/metric.h"
#include "results/run_log.h"
#include "results/weights.h"

namespace nanobench::reports {
namespace {

using results::RunRecord;

TableCell loss_cell(const std::optional<double>& loss) {
  return fixed_cell(loss, 4);
}

std::string outcome_of(const RunRecord& run) {
  return run.result ? enum_name(run.result->outcome) : "running";
}

void add_identity(FactList& list, const RunRecord& run) {
  list.add("run", "run", count_cell(run.id));
  list.add("suite", "suite", run.suite);
  list.add("cell", "cell", run.cell);
  list.add("record", "record", text_or_missing(run.record.value_or("")));
  list.add("scale", "scale", told_unless(run.scale, kOfTrainer));
  list.add("seed", "seed", seed_cell(run.seed));
  list.add("data", "data", value_cell(run.data_name, run.data_name, "(digest " + run.data_digest + ")"));
  list.add("floor_nats", "entropy floor", loss_cell(run.data_floor_nats));
  list.add("dtype", "number type", run.dtype);
  list.add("threads", "threads", count_cell(run.threads));
  list.add("engine", "engine", run.engine_text() + " " + run.engine_version);
  list.add("hardware", "machine", run.hardware);
  list.add_if("gpu", "GPU", run.gpu);
  list.add("digest", "identity", run.digest);
  list.add("config_digest", "configuration", run.config_digest);
  list.add("started_at", "started", run.started_at);
  list.add("finished_at", "finished", text_or_missing(run.finished_at.value_or("")));
}

/// The files with what a failed run printed.
void add_logs(FactList& list, const std::map<std::string, std::string>& facts) {
  for (const auto& [name, key, title] : {std::tuple{results::kStdoutFile, "stdout_file", "standard output"},
                                         std::tuple{results::kStderrFile, "stderr_file", "standard error"}}) {
    if (const auto file = facts.find(name); file != facts.end()) list.add(key, title, file->second);
  }
}

/// The files of weights that are still in the run's folder; those of an interrupted run belong to the one that
/// continued it. nullopt if there are none.
std::optional<Section> weights_section(const results::Store& store, std::int64_t run_id,
                                       std::map<std::string, std::string>& facts) {
  Table table{.id = "weights",
              .columns = {number_column("step", "step"), wide_column("file", "file"), number_column("bytes", "size")}};
  const std::filesystem::path folder = results::weights_folder(store.file(), run_id);
  for (const results::KeptFile& kept : results::kept_files(facts)) {
    facts.erase(results::kWeightsFact + kept.name);
    std::error_code ignored;
    const std::filesystem::path file = folder / kept.name;
    if (!std::filesystem::exists(file, ignored)) continue;
    table.rows.push_back({count_cell(kept.step), text_cell(file.string()),
                          value_cell(format_bytes(static_cast<double>(kept.bytes)), kept.bytes)});
  }
  if (table.rows.empty()) return std::nullopt;
  Section section{.title = "Weights"};
  section.tables.push_back(std::move(table));
  return section;
}

void add_outcome(FactList& list, const RunMeasure& measure) {
  list.add("outcome", "outcome", outcome_of(measure.run));
  if (!measure.run.result) return;
  const results::RunResult& result = *measure.run.result;
  list.add_if("message", "why", result.message);
  list.add("final_val_loss", "final val loss", loss_cell(result.final_val_loss));
  const auto add = [&](const char* key, const char* title, const auto& value, TableCell cell) {
    if (value) list.add(key, title, std::move(cell));
  };
  const auto whole = [](double value) { return format_count(static_cast<std::int64_t>(value)); };
  const auto minutes = [](double ms) { return format_duration(ms / 1000.0); };
  add("step_ms", "step ms", measure.step_ms, significant_cell(measure.step_ms, 4));
  add("median_step_ms", "step ms (median)", measure.median_step_ms, significant_cell(measure.median_step_ms, 4));
  add("tokens_per_s", "tokens/s", measure.tokens_per_s, number_cell(measure.tokens_per_s, whole));
  add("train_ms", "training clock", result.train_ms, number_cell(result.train_ms, minutes));
  add("steps", "steps", result.steps, count_cell(result.steps));
  add("peak_bytes", "peak memory", result.peak_bytes, bytes_cell(result.peak_bytes));
  add("training_bytes", "of it the training's", measure.training_bytes,
      number_cell(measure.training_bytes, format_bytes));
  if (result.exit_code) list.add("exit_code", "engine's exit code", count_cell(*result.exit_code));
}

Table curve_table(const results::Store& store, std::int64_t run_id) {
  Table table{.id = "curve",
              .title = "Validations",
              .columns = {number_column("step", "step"), number_column("val_loss", "val loss"),
                          number_column("clock_s", "clock s")}};
  std::map<std::int64_t, double> clock;
  for (const results::Sample& sample : store.samples(run_id, results::kValClockMs)) clock[sample.step] = sample.value;
  for (const results::Sample& sample : store.samples(run_id, results::kValLoss)) {
    const auto at = clock.find(sample.step);
    table.rows.push_back({count_cell(sample.step), loss_cell(sample.value),
                          at == clock.end() ? missing_cell() : significant_cell(at->second / 1000.0, 4)});
  }
  return table;
}

/// The last value of each counter, by its name.
std::map<std::string, double> counters_of(const results::Store& store, std::int64_t run_id) {
  const std::string prefix = results::kCounterPrefix;
  std::map<std::string, double> counters;
  for (const std::string& metric : store.metrics(run_id)) {
    if (!metric.starts_with(prefix)) continue;
    const std::vector<results::Sample> samples = store.samples(run_id, metric);
    if (!samples.empty()) counters[metric.substr(prefix.size())] = samples.back().value;
  }
  return counters;
}

/// The cost model's counts of the run: equal configurations on equal data have equal counts.
void add_cost(Section& section, const std::map<std::string, double>& counters) {
  FactList list;
  const auto add = [&](const char* counter, const char* key, const char* title) {
    const auto found = counters.find(counter);
    if (found != counters.end()) list.add(key, title, number_cell(found->second, format_amount));
  };
  add("cost/flops", "flops", "FLOPs");
  add("cost/flops_per_step", "flops_per_step", "FLOPs a step");
  add("cost/bytes_per_step", "bytes_per_step", "bytes a step");
  add("cost/visited_blocks_per_step", "visited_blocks_per_step", "attention blocks a step");
  add("cost/visible_pairs_per_step", "visible_pairs_per_step", "visible pairs a step");
  section.facts.insert(section.facts.end(), list.facts.begin(), list.facts.end());
  if (Table table = cost_table(counters); !table.rows.empty()) section.tables.push_back(std::move(table));
  if (Table table = counted_memory_table(counters); !table.rows.empty()) section.tables.push_back(std::move(table));
}

/// The engine's counts besides the work: "communication/...", "gpu/..." (core/protocol/FORMAT.md).
Section counted_section(const std::map<std::string, double>& counters) {
  Section section{.title = "Counted during the run"};
  for (const auto& [name, value] : counters) {
    if (!name.starts_with("communication/") && !name.starts_with("gpu/")) continue;
    section.facts.push_back({.key = name, .title = name, .cell = number_cell(value, format_amount)});
  }
  return section;
}

/// "Completed: val loss 3.1172, 80.0 ms a step.", or why not.
std::string run_headline(const RunMeasure& measure) {
  if (!measure.run.result) return "Still running, or ended without a report.";
  const results::RunResult& result = *measure.run.result;
  if (!measure.run.is_completed()) {
    const std::string text =
        "No result: " + outcome_of(measure.run) + (result.message.empty() ? "" : ", " + result.message);
    return text.ends_with('.') ? text : text + ".";
  }
  std::string text;
  if (measure.val_loss && std::isfinite(*measure.val_loss)) text = "val loss " + format_fixed(*measure.val_loss, 4);
  if (result.steps) text += (text.empty() ? "" : " after ") + std::to_string(*result.steps) + " steps";
  if (measure.step_ms) text += (text.empty() ? "" : ", ") + format_significant(*measure.step_ms, 4) + " ms a step";
  return "Completed" + (text.empty() ? "" : ": " + text) + (measure.disturbance ? ", on a busy machine." : ".");
}

/// The files from elsewhere that a trainer loaded, with their digests.
std::map<std::string, std::string> take_loaded_files(std::map<std::string, std::string>& facts) {
  std::map<std::string, std::string> files;
  const std::string beginning = results::kLoadedFact;
  for (auto fact = facts.lower_bound(beginning); fact != facts.end() && fact->first.starts_with(beginning);) {
    files[fact->first.substr(beginning.size())] = fact->second;
    fact = facts.erase(fact);
  }
  return files;
}

Section facts_section(const std::string& title, const std::map<std::string, std::string>& facts) {
  Section section{.title = title};
  for (const auto& [key, value] : facts) section.facts.push_back({.key = key, .title = key, .cell = text_cell(value)});
  return section;
}

}  // namespace

Document runs_report(const results::Store& store, const results::RunFilter& filter) {
  Document document{.kind = "runs", .title = "Stored runs"};
  Table table{.id = "runs",
              .columns = {number_column("run", "run"), text_column("suite", "suite", 3), wide_column("cell", "cell"),
                          text_column("scale", "scale", 2), text_column("data", "data", 4),
                          number_column("seed", "seed"), text_column("outcome", "outcome"),
                          number_column("final_val_loss", "val loss"), text_column("started_at", "started", 1)}};
  for (const RunRecord& run : store.runs(filter)) {
    const std::optional<double> loss = run.result ? run.result->final_val_loss : std::nullopt;
    table.rows.push_back({count_cell(run.id), text_cell(run.suite), text_cell(run.cell), text_cell(run.scale),
                          text_cell(run.data_name), seed_cell(run.seed), text_cell(outcome_of(run)), loss_cell(loss),
                          text_cell(run.started_at)});
  }
  if (table.rows.empty()) {
    document.notes.push_back("No run is stored in " + store.file().string() + " yet.");
    document.next = {{.command = "run speedrun_history --scale smoke", .gain = "makes some, in seconds"}};
  } else {
    document.next = {{.command = "show " + table.rows.back().front().text, .gain = "the newest: provenance and curve"}};
  }
  document.sections.emplace_back().tables.push_back(std::move(table));
  return document;
}

Document plans_report(const results::Store& store, const std::optional<std::string>& suite,
                      const std::optional<std::int64_t>& limit) {
  Document document{.kind = "plans", .title = "Stored plans"};
  Table table{.id = "plans",
              .columns = {number_column("plan", "plan"), text_column("suite", "suite"),
                          text_column("design", "design", 2), text_column("scale", "scale", 1),
                          number_column("cells", "cells", 3), text_column("runs", "runs done"),
                          text_column("created_at", "made", 1), wide_column("title", "title", 4)}};
  std::vector<results::PlanRecord> plans = store.plans(suite);
  if (limit && plans.size() > static_cast<std::size_t>(*limit))
    plans.erase(plans.begin(), plans.end() - static_cast<std::ptrdiff_t>(*limit));
  for (const results::PlanRecord& plan : plans) {
    std::int64_t done = 0;
    for (const results::PlanLine& line : plan.lines) {
      const auto run = line.run_id ? store.glance(*line.run_id) : std::nullopt;
      done += run && run->is_evidence() ? 1 : 0;
    }
    const auto planned = static_cast<std::int64_t>(plan.lines.size());
    table.rows.push_back(
        {count_cell(plan.id), text_cell(plan.suite), text_cell(enum_name(plan.design)), text_cell(plan.scale),
         count_cell(static_cast<std::int64_t>(plan.cells.size())),
         value_cell(std::to_string(done) + " of " + std::to_string(planned), {{"done", done}, {"planned", planned}}),
         text_cell(plan.created_at), text_cell(plan.title)});
  }
  if (table.rows.empty()) {
    document.notes.push_back(suite ? "No plan of the suite " + *suite + " is stored in " + store.file().string() + "."
                                   : "No plan is stored in " + store.file().string() + " yet.");
    if (suite) document.next.push_back({.command = "list plans", .gain = "those of all suites"});
  } else {
    document.next.push_back(
        {.command = "report --plan " + std::to_string(plans.back().id), .gain = "what the newest of them showed"});
  }
  document.sections.emplace_back().tables.push_back(std::move(table));
  return document;
}

Document run_report(const results::Store& store, std::int64_t run_id) {
  const RunMeasure measure = measure_run(store, store.run(run_id));
  const RunRecord& run = measure.run;
  Document document{.kind = "run", .title = "Run " + std::to_string(run.id) + ": " + run.cell};
  document.headline = run_headline(measure);
  Section& head = document.sections.emplace_back();
  FactList list;
  add_identity(list, run);
  add_outcome(list, measure);
  std::map<std::string, std::string> facts = store.run_facts(run_id);
  add_logs(list, facts);
  for (const char* listed_above : {results::kStdoutFile, results::kStderrFile}) facts.erase(listed_above);
  std::optional<Section> weights = weights_section(store, run_id, facts);
  const std::map<std::string, std::string> loaded = take_loaded_files(facts);
  head.facts = std::move(list.facts);
  const std::map<std::string, double> counters = counters_of(store, run_id);
  add_cost(head, counters);
  head.tables.insert(head.tables.begin(), curve_table(store, run_id));
  if (weights) document.sections.push_back(*std::move(weights));
  if (run.environment_id) {
    if (const auto environment = store.environment(*run.environment_id)) {
      document.sections.push_back(facts_section("Measured by", environment->facts));
    }
  }
  if (!facts.empty()) document.sections.push_back(facts_section("During the run", facts));
  if (!loaded.empty()) document.sections.push_back(facts_section("Loaded from outside the trainer's folder", loaded));
  if (Section counted = counted_section(counters); !counted.facts.empty())
    document.sections.push_back(std::move(counted));
  for (const results::RunMessage& message : store.messages(run_id)) {
    document.notes.push_back(enum_name(message.kind) + ": " + message.text);
  }
  if (run.data_floor_nats && measure.lowest_val_loss < *run.data_floor_nats) {
    document.warnings.push_back(
        "A validation loss is below the data's entropy floor, which no honest model can reach.");
  }
  if (run.plan_id) {
    document.next = {
        {.command = "report --plan " + std::to_string(*run.plan_id), .gain = "the plan that it belongs to"}};
  }
  document.next.push_back({.command = "export --samples --run " + std::to_string(run_id) + " --out run.csv",
                           .gain = "its samples, step by step"});
  if (measure.disturbance)
    document.warnings.push_back("The run was disturbed: " + *measure.disturbance + "; its times are doubtful.");
  return document;
}

}  // namespace nanobench::reports

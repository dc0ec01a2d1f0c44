// Runs as CSV and JSON.
#include <charconv>
#include <cmath>

#include "core/base/json.h"
#include "results/csv_field.h"
#include "results/export.h"

namespace nanobench::results {
namespace {

using core::OrderedJson;

/// The shortest text that reads back as the same double; nothing for NaN and infinity.
std::string number_field(double value) {
  if (!std::isfinite(value)) return "";
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end);
}

template <class Value>
std::string field_of(const std::optional<Value>& value) {
  if (!value) return "";
  if constexpr (std::is_same_v<Value, std::string>)
    return csv_field(*value);
  else if constexpr (std::is_same_v<Value, double>)
    return number_field(value.value());
  else
    return std::to_string(*value);
}

std::string outcome_of(const RunRecord& run) {
  return run.result ? enum_name(run.result->outcome) : "running";
}

std::optional<double> mean_step_ms(const RunResult& result) {
  if (!result.train_ms || !result.timed_steps || *result.timed_steps <= 0) return std::nullopt;
  return *result.train_ms / static_cast<double>(*result.timed_steps);
}

constexpr const char* kRunHeader =
    "run,suite,cell,record,scale,seed,outcome,message,started_at,finished_at,final_val_loss,median_step_ms,mean_step_"
    "ms,"
    "train_ms,steps,timed_steps,peak_bytes,exit_code,data_name,data_digest,data_floor_nats,dtype,threads,engine,"
    "engine_version,hardware,digest,config_digest,plan,position\r\n";

std::vector<std::string> fields_of(const Store& store, const RunRecord& run) {
  const RunResult result = run.result.value_or(RunResult{});
  const RunSummary summary = run.is_completed() ? store.summary(run.id) : RunSummary{};
  return {std::to_string(run.id),
          csv_field(run.suite),
          csv_field(run.cell),
          field_of(run.record),
          csv_field(run.scale),
          std::to_string(run.seed),
          outcome_of(run),
          csv_field(result.message),
          run.started_at,
          run.finished_at.value_or(""),
          field_of(result.final_val_loss),
          field_of(summary.median_step_ms),
          field_of(mean_step_ms(result)),
          field_of(result.train_ms),
          field_of(result.steps),
          field_of(result.timed_steps),
          field_of(result.peak_bytes),
          field_of(result.exit_code),
          csv_field(run.data_name),
          csv_field(run.data_digest),
          field_of(run.data_floor_nats),
          csv_field(run.dtype),
          std::to_string(run.threads),
          csv_field(run.engine),
          csv_field(run.engine_version),
          csv_field(run.hardware),
          csv_field(run.digest),
          csv_field(run.config_digest),
          field_of(run.plan_id),
          field_of(run.position)};
}

template <class Value>
OrderedJson json_of(const std::optional<Value>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

/// The stored text as JSON; as a string when it is none.
OrderedJson config_of(const std::string& text) {
  OrderedJson config = OrderedJson::parse(text, nullptr, false);
  return config.is_discarded() ? OrderedJson(text) : config;
}

void add_result(OrderedJson& json, const RunRecord& run, const std::optional<RunSummary>& summary) {
  const RunResult result = run.result.value_or(RunResult{});
  json["outcome"] = outcome_of(run);
  json["message"] = result.message;
  json["started_at"] = run.started_at;
  json["finished_at"] = json_of(run.finished_at);
  json["final_val_loss"] = json_of(result.final_val_loss);
  json["median_step_ms"] = summary ? json_of(summary->median_step_ms) : OrderedJson(nullptr);
  json["mean_step_ms"] = json_of(mean_step_ms(result));
  json["train_ms"] = json_of(result.train_ms);
  json["steps"] = json_of(result.steps);
  json["timed_steps"] = json_of(result.timed_steps);
  json["peak_bytes"] = json_of(result.peak_bytes);
  json["exit_code"] = json_of(result.exit_code);
}

void add_identity(OrderedJson& json, const RunRecord& run) {
  json["data"] = {{"name", run.data_name}, {"digest", run.data_digest}, {"floor_nats", json_of(run.data_floor_nats)}};
  json["dtype"] = run.dtype;
  json["threads"] = run.threads;
  json["engine"] = run.engine;
  json["engine_version"] = run.engine_version;
  json["hardware"] = run.hardware;
  json["digest"] = run.digest;
  json["config_digest"] = run.config_digest;
  json["plan"] = json_of(run.plan_id);
  json["position"] = json_of(run.position);
  json["host"] = run.owner.host;
  json["config"] = config_of(run.config);
}

OrderedJson samples_of(const Store& store, std::int64_t run_id) {
  OrderedJson json = OrderedJson::object();
  for (const std::string& metric : store.metrics(run_id)) {
    OrderedJson steps = OrderedJson::array();
    OrderedJson values = OrderedJson::array();
    for (const Sample& sample : store.samples(run_id, metric)) {
      steps.push_back(sample.step);
      values.push_back(sample.value);  // NaN is printed as null
    }
    json[metric] = {{"steps", std::move(steps)}, {"values", std::move(values)}};
  }
  return json;
}

OrderedJson json_of_run(const Store& store, const RunRecord& run) {
  OrderedJson json = {{"run", run.id},      {"suite", run.suite}, {"cell", run.cell}, {"record", json_of(run.record)},
                      {"scale", run.scale}, {"seed", run.seed}};
  add_result(json, run, run.is_completed() ? std::optional(store.summary(run.id)) : std::nullopt);
  add_identity(json, run);
  const auto environment = run.environment_id ? store.environment(*run.environment_id) : std::nullopt;
  json["environment"] = environment ? OrderedJson(environment->facts) : OrderedJson(nullptr);
  json["facts"] = store.run_facts(run.id);
  json["messages"] = OrderedJson::array();
  for (const RunMessage& message : store.messages(run.id))
    json["messages"].push_back({{"kind", message.kind}, {"text", message.text}});
  json["samples"] = samples_of(store, run.id);
  return json;
}

}  // namespace

void export_csv(const Store& store, const std::vector<std::int64_t>& runs, std::ostream& out) {
  out << kRunHeader;
  for (const std::int64_t id : runs) {
    bool is_first = true;
    for (const std::string& field : fields_of(store, store.run(id))) {
      out << (is_first ? "" : ",") << field;
      is_first = false;
    }
    out << "\r\n";
  }
}

void export_samples_csv(const Store& store, const std::vector<std::int64_t>& runs, std::ostream& out) {
  out << "run,suite,cell,seed,metric,step,value\r\n";
  for (const std::int64_t id : runs) {
    const RunRecord run = store.run(id);
    const std::string start =
        std::to_string(id) + "," + csv_field(run.suite) + "," + csv_field(run.cell) + "," + std::to_string(run.seed);
    for (const std::string& metric : store.metrics(id)) {
      const std::string head = start + "," + csv_field(metric) + ",";
      for (const Sample& sample : store.samples(id, metric))
        out << head << sample.step << "," << number_field(sample.value) << "\r\n";
    }
  }
}

void export_json(const Store& store, const std::vector<std::int64_t>& runs, std::ostream& out) {
  out << "{\"schema_version\": " << kExportSchemaVersion << ", \"kind\": \"export\", \"runs\": [";
  bool is_first = true;
  for (const std::int64_t id : runs) {
    out << (is_first ? "\n" : ",\n")
        << json_of_run(store, store.run(id)).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
    is_first = false;
  }
  out << "\n]}\n";
}

}  // namespace nanobench::results

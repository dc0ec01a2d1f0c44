// Exports runs as CSV and JSON.
#include <charconv>
#include <cmath>

#include "core/base/json.h"
#include "results/export.h"
#include "results/output_file.h"
#include "results/run_columns.h"

namespace nanobench::results {
namespace {

using core::OrderedJson;

/// The shortest text that reads back as the same double; empty for NaN and infinity.
std::string number_field(double value) {
  if (!std::isfinite(value)) return "";
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end);
}

/// A run's figures by name, in the order of visit_run_figures; null for absent ones.
class FigureList {
 public:
  FigureList(const Store& store, const RunRecord& run) : store_(store), run_(run) { visit_run_figures(*this, run); }

  template <class Value>
  void column(const std::string& name, const Value& value) {
    const std::string shown = name == "id" ? "run" : name == "plan_id" ? "plan" : name;
    figures.emplace_back(shown, json_of(value));
  }
  template <class Value>
  void result(const std::string& name, const std::optional<RunResult>& result, Value RunResult::*member) {
    figures.emplace_back(name, result ? json_of(*result.*member) : OrderedJson());
    if (name == "outcome" && !result) figures.back().second = "running";
    if (name == "message" && !result) figures.back().second = "";
    if (name == "final_val_loss") add_step_times();
  }

  std::vector<std::pair<std::string, OrderedJson>> figures;

 private:
  void add_step_times() {
    const RunSummary summary = run_.is_completed() ? store_.summary(run_.id) : RunSummary{};
    figures.emplace_back("median_step_ms", json_of(summary.median_step_ms));
    figures.emplace_back("mean_step_ms", json_of(run_.result.value_or(RunResult{}).mean_step_ms()));
  }

  template <class Value>
  static OrderedJson json_of(const Value& value) {
    if constexpr (NamedEnum<Value>) {
      return enum_name(value);
    } else {
      return value;
    }
  }
  template <class Value>
  static OrderedJson json_of(const std::optional<Value>& value) {
    return value ? OrderedJson(*value) : OrderedJson();
  }
  static OrderedJson json_of(const std::optional<core::DeviceChoice>& device) {
    return device ? OrderedJson(to_string(*device)) : OrderedJson();
  }

  const Store& store_;
  const RunRecord& run_;
};

std::string csv_field_of(const OrderedJson& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return csv_field(value.get<std::string>());
  return value.is_number_float() ? number_field(value.get<double>()) : value.dump();
}

/// Writes a line of fields with the line end of RFC 4180.
void write_line(std::ostream& out, const std::vector<std::string>& fields) {
  out << joined(fields, ",") << "\r\n";
}

/// The stored text as JSON, or as a string if it is not JSON.
OrderedJson config_of(const std::string& text) {
  OrderedJson config = core::ordered_json_or_null(text);
  return config.is_null() ? OrderedJson(text) : config;
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
  OrderedJson json;
  for (auto& [name, value] : FigureList(store, run).figures) {
    if (name.starts_with("data_")) {
      json["data"][name.substr(5)] = std::move(value);
    } else {
      json[name] = std::move(value);
    }
  }
  json["host"] = run.owner.host;
  json["config"] = config_of(run.config);
  const auto environment = run.environment_id ? store.environment(*run.environment_id) : std::nullopt;
  json["environment"] = environment ? OrderedJson(environment->facts) : OrderedJson(nullptr);
  json["facts"] = store.run_facts(run.id);
  json["messages"] = OrderedJson::array();
  for (const RunMessage& message : store.messages(run.id))
    json["messages"].push_back({{"kind", enum_name(message.kind)}, {"text", message.text}});
  json["samples"] = samples_of(store, run.id);
  return json;
}

}  // namespace

void export_csv(const Store& store, const std::vector<std::int64_t>& runs, std::ostream& out) {
  const auto write = [&](const RunRecord& run, const auto& text_of) {
    std::vector<std::string> fields;
    for (const auto& [name, value] : FigureList(store, run).figures) fields.push_back(text_of(name, value));
    write_line(out, fields);
  };
  write(RunRecord{}, [](const std::string& name, const OrderedJson&) { return name; });
  for (const std::int64_t id : runs)
    write(store.run(id), [](const std::string&, const OrderedJson& value) { return csv_field_of(value); });
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
    out << (is_first ? "\n" : ",\n") << core::safe_dump(json_of_run(store, store.run(id)));
    is_first = false;
  }
  out << "\n]}\n";
}

}  // namespace nanobench::results

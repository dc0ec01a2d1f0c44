#include "suites/slurm/plan_file.h"

#include <limits>

#include "core/base/rethrow.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;
using core::JsonObject;

constexpr int kFormat = 1;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Json cell_json(const Cell& cell) {
  Json json = {{"label", cell.label}, {"record", cell.record}};
  json["config"] = Json(core::to_json(cell.config));
  if (cell.floor_nats) json["floor_nats"] = *cell.floor_nats;
  if (cell.operation) json["operation"] = core::to_json(*cell.operation);
  if (!cell.external.is_null()) json["external"] = cell.external;
  if (cell.arm > 0) json["arm"] = cell.arm;
  return json;
}

Cell read_cell(const Json& value, const std::string& source, const std::string& pointer) {
  JsonObject object(value, source, pointer);
  Cell cell;
  cell.label = object.string("label");
  cell.record = object.string("record");
  cell.config = core::read_train_config(object.at("config"), source + "#" + pointer + "/config");
  if (object.has("floor_nats")) cell.floor_nats = object.number("floor_nats", -1e300, 1e300);
  if (const Json* operation = object.find("operation"))
    cell.operation = core::read_operation_spec(*operation, source + "#" + pointer + "/operation");
  if (const Json* external = object.find("external")) cell.external = *external;
  cell.arm = object.integer_or("arm", 0, 0, kMost);
  object.find("floor_nats");
  object.finish();
  return cell;
}

PlannedRun read_run(const Json& value, const std::string& source, const std::string& pointer, std::size_t cells) {
  JsonObject object(value, source, pointer);
  PlannedRun run;
  run.position = static_cast<std::size_t>(object.integer("position", 0, kMost));
  run.cell = static_cast<std::size_t>(object.integer("cell", 0, static_cast<std::int64_t>(cells) - 1));
  run.digest = object.string("digest");
  run.spec = core::read_run_spec(object.at("spec"), source + "#" + pointer + "/spec");
  run.seed = run.spec.seed;
  object.finish();
  return run;
}

const Json& list_at(JsonObject& object, const std::string& key) {
  const Json& list = object.at(key);
  if (!list.is_array()) object.fail(key, "expected a list");
  return list;
}

Plan read_checked(const Json& value, const std::string& source) {
  JsonObject object(value, source);
  const std::int64_t format = object.integer("format", 0, kMost);
  if (format != kFormat) {
    throw Error(ErrorCode::kUnavailable, source + ": /format: this program reads " + std::to_string(kFormat) +
                                             ", the file has " + std::to_string(format) +
                                             "; use programs of one build");
  }
  Plan plan;
  plan.suite.name = object.string("suite");
  plan.suite.scale = object.string("scale");
  JsonObject limits = object.object("limits");
  plan.suite.limits = {.seconds_per_run = limits.number("seconds_per_run", 0, 1e12),
                       .silence_seconds = limits.number("silence_seconds", 0, 1e12)};
  plan.digest = object.string("digest");
  plan.hardware = object.string("hardware");
  plan.threads = static_cast<int>(object.integer("threads", 1, 4096));
  plan.data.name = object.string("data_name");
  plan.data.digest = object.string("data_digest");
  JsonObject engine = object.object("engine");
  plan.engine = {engine.strings_or_empty("command"), engine.string("name"), engine.string("version")};
  const Json& cells = list_at(object, "cells");
  for (std::size_t i = 0; i < cells.size(); ++i)
    plan.matrix.cells.push_back(read_cell(cells[i], source, "/cells/" + std::to_string(i)));
  const Json& runs = list_at(object, "runs");
  for (std::size_t i = 0; i < runs.size(); ++i)
    plan.runs.push_back(read_run(runs[i], source, "/runs/" + std::to_string(i), plan.matrix.cells.size()));
  object.finish();
  if (plan.engine.command.empty()) engine.fail("command", "expected a program");
  return plan;
}

}  // namespace

std::string plan_text(const Plan& plan) {
  Json json = {
      {"format", kFormat},
      {"suite", plan.suite.name},
      {"scale", plan.suite.scale},
      {"limits",
       {{"seconds_per_run", plan.suite.limits.seconds_per_run},
        {"silence_seconds", plan.suite.limits.silence_seconds}}},
      {"digest", plan.digest},
      {"hardware", plan.hardware},
      {"threads", plan.threads},
      {"data_name", plan.data.name},
      {"data_digest", plan.data.digest},
      {"engine", {{"command", plan.engine.command}, {"name", plan.engine.name}, {"version", plan.engine.version}}},
      {"cells", Json::array()},
      {"runs", Json::array()}};
  for (const Cell& cell : plan.matrix.cells) json["cells"].push_back(cell_json(cell));
  for (const PlannedRun& run : plan.runs) {
    json["runs"].push_back(
        {{"position", run.position}, {"cell", run.cell}, {"digest", run.digest}, {"spec", core::to_json(run.spec)}});
  }
  try {
    return json.dump();
  } catch (const Json::exception&) {
    throw Error(ErrorCode::kInvalidArgument,
                "--executor slurm: a path or a word of the suite " + plan.suite.name + " is not UTF-8; rename it");
  }
}

Plan read_plan(const Json& value, const std::string& source) {
  try {
    return read_checked(value, source);
  } catch (const Error& error) {
    rethrow_internal(error);
    if (error.code() == ErrorCode::kUnavailable) throw;
    throw Error(ErrorCode::kDataLoss, std::string(error.what()) + "; the file is damaged");
  }
}

}  // namespace nanobench::suites

#include "suites/slurm/task_files.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "results/check.h"
#include "results/merge.h"
#include "results/provenance.h"
#include "results/store.h"
#include "suites/run/warmup.h"
#include "suites/slurm/shared_folder.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Json;
using core::JsonObject;
using results::RunRecord;

constexpr int kTaskFormat = 2;
constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

Json cell_json(const Cell& cell) {
  Json json = {{"label", cell.label}, {"record", cell.record}};
  json["config"] = core::to_plain_json(cell.config);
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
  cell.arm = object.integer_or("arm", 0, 0, kAny);
  object.find("floor_nats");
  object.finish();
  return cell;
}

PlannedRun read_run(const Json& value, const std::string& source, const std::string& pointer, std::size_t cells) {
  JsonObject object(value, source, pointer);
  PlannedRun run;
  run.position = static_cast<std::size_t>(object.integer("position", 0, kAny));
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
  const std::int64_t format = object.integer("format", 0, kAny);
  if (format != kTaskFormat) {
    throw Error(ErrorCode::kUnavailable, source + ": /format: this program reads " + std::to_string(kTaskFormat) +
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
  if (object.boolean_or("has_seats", false)) plan.suite.external.emplace();
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

/// $TMPDIR may be inherited from the submitting machine and not exist here.
fs::path nodes_place() {
  std::error_code error;
  const fs::path named = fs::temp_directory_path(error);
  return error ? fs::path("/tmp") : named;
}

bool is_same_run(const RunRecord& a, const RunRecord& b) {
  return a.started_at == b.started_at && a.owner.host == b.owner.host && a.owner.boot_id == b.owner.boot_id &&
         a.owner.pid_namespace == b.owner.pid_namespace && a.owner.pid == b.owner.pid &&
         a.owner.pid_started == b.owner.pid_started;
}

}  // namespace

std::string plan_text(const Plan& plan) {
  Json json = {
      {"format", kTaskFormat},
      {"suite", plan.suite.name},
      {"scale", plan.suite.scale},
      {"limits",
       {{"seconds_per_run", plan.suite.limits.seconds_per_run},
        {"silence_seconds", plan.suite.limits.silence_seconds}}},
      {"digest", plan.digest},
      {"hardware", plan.hardware},
      {"threads", plan.threads},
      {"has_seats", plan.suite.external && !plan.suite.external->seats.empty()},
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

LocalStore::LocalStore(const PlanFolder& plan) : folder_("task", nodes_place(), "set TMPDIR to a folder of the node") {
  std::error_code error;
  if (!fs::copy_file(plan.plan_store(), file(), error) || error) {
    throw Error(ErrorCode::kIo, "cannot copy " + plan.plan_store().string() + " to " + folder_.path().string() +
                                    "; is the shared folder there, and has the disk space?");
  }
}

bool LocalStore::publish_to(const SubmissionFolder& submission, std::size_t position) const {
  results::make_movable(file());
  return publish(file(), submission.result(position));
}

Plan plan_of(const Plan& plan, const PlannedRun& run) {
  Plan one = plan;
  one.runs = {run};
  return one;
}

bool publish_end(const Plan& plan, const PlannedRun& run, const results::RunResult& result,
                 const SubmissionFolder& submission) {
  const LocalStore local(submission.plan());
  {
    results::Store store(local.file());
    results::NewRun row = stored_run(plan, run);
    row.plan_id = store.ensure_plan(stored_plan(plan, {}));
    const results::RunClaim claim = store.claim_run(row, results::this_process());
    const auto* claimed = std::get_if<results::Claimed>(&claim);
    NB_CHECK(claimed != nullptr, "a new store has this run already");
    store.finish_run(claimed->run_id, result);
  }
  return local.publish_to(submission, run.position);
}

std::vector<std::size_t> Collector::available(const SubmissionFolder& submission,
                                              const std::vector<std::size_t>& positions) {
  const std::set<std::string> names = names_in(submission.results());
  std::vector<std::size_t> found;
  for (const std::size_t position : positions) {
    if (names.contains(submission.result(position).filename().string())) found.push_back(position);
  }
  return found;
}

std::optional<RunRecord> Collector::read(const fs::path& file, const std::string& digest, std::string& trouble) const {
  try {
    if (const results::StoreCheck check = results::check_store(file); !check.is_fine()) {
      trouble = "it is not whole (" + check.problems.front().rule + ": " + check.problems.front().where.front() + ")";
      return std::nullopt;
    }
    const results::Store store(file, results::OpenMode::kReadOnly);
    std::vector<RunRecord> runs = store.runs();
    std::erase_if(runs, [](const RunRecord& run) { return run.suite == kWarmupSuite; });
    if (runs.size() == 1 && runs[0].digest == digest && runs[0].result) return std::move(runs[0]);
    trouble = "it does not hold this run alone";
  } catch (const Error& error) {
    rethrow_internal(error);
    trouble = error.what();
  }
  return std::nullopt;
}

RunRecord Collector::find(const RunRecord& theirs) const {
  for (RunRecord& run : store_.runs({.digest = theirs.digest})) {
    if (is_same_run(run, theirs)) return std::move(run);
  }
  throw Error(ErrorCode::kInternal, "a merged run of " + theirs.cell + " is not in " + store_.file().string());
}

RunRecord Collector::collect(const SubmissionFolder& submission, std::size_t position) {
  const PlannedRun& run = plan_.runs[position];
  const fs::path file = submission.result(position);
  std::string trouble;
  std::optional<RunRecord> theirs = read(file, run.digest, trouble);
  if (!theirs) {
    std::error_code ignored;
    fs::rename(file, file.string() + ".damaged", ignored);
    publish_end(plan_, run,
                {.outcome = core::RunOutcome::kCrashed,
                 .message = "the result file of its Slurm task cannot be used: " + trouble},
                submission);
    theirs = read(file, run.digest, trouble);
    if (!theirs) throw Error(ErrorCode::kDataLoss, "cannot read back " + file.string() + ": " + trouble);
  }
  results::merge_store(store_.file(), file);
  RunRecord ours = find(*theirs);
  store_.answer_line(plan_id_, static_cast<std::int64_t>(position), ours.id);
  return ours;
}

}  // namespace nanobench::suites

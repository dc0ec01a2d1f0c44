#include "results/schema.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/base/digest.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/protocol/operation_spec.h"
#include "results/checksums.h"
#include "results/identity.h"
#include "results/plan_rows.h"
#include "results/run_columns.h"
#include "results/store.h"

namespace nanobench::results {

namespace {

using core::Json;

constexpr std::int64_t kMaxArms = 64;  // in an a_a
constexpr int kMaxGpus = 16;           // in a machine, each with its own number

/// The current digest of a stored configuration; nullopt if it is not ours, or if its stored digest does not match the
/// text.
std::optional<std::string> renewed_config(const std::string& text, const std::string& digest) {
  const Json config = core::json_or_null(text);
  if (!config.is_object()) return std::nullopt;
  try {
    if (config.contains("operation")) {
      const core::OperationSpec operation = core::read_operation_spec(config.at("operation"), "stored run");
      if (core::digest_of(config.at("operation").dump()) != digest) return std::nullopt;
      return core::digest_of(core::changed_settings(operation).dump());
    }
    if (former::config_digest(config) != digest) return std::nullopt;
    return core::read_train_config(config, "stored run").digest();
  } catch (const core::Error& error) {
    if (error.code() == core::ErrorCode::kInternal) throw;
    return std::nullopt;
  } catch (const Json::exception&) {  // not a configuration
    return std::nullopt;
  }
}

/// The devices that a run on this class of machines may have requested.
std::vector<core::DeviceChoice> possible_devices(const std::string& hardware) {
  const bool has_gpu = std::count(hardware.begin(), hardware.end(), '|') > 2;  // hardware_class
  std::vector<core::DeviceChoice> devices = {core::kCpuDevice, core::kGpuDevice};
  if (has_gpu) std::swap(devices[0], devices[1]);
  for (int index = 0; index < kMaxGpus; ++index) devices.push_back({.is_gpu = true, .index = index});
  return devices;
}

/// The run with the device and arm that only its digest reveals; nullopt if none explain the digest.
std::optional<NewRun> with_hidden_parts(NewRun run) {
  if (run.engine != kNativeEngine) return std::nullopt;
  for (const core::DeviceChoice& device : possible_devices(run.hardware)) {
    run.device = device;
    for (run.arm = 0; run.arm <= kMaxArms; ++run.arm) {
      if (former::run_digest(run) == run.digest) return run;
    }
  }
  return std::nullopt;
}

class Renewal {
 public:
  explicit Renewal(Database& database) : database_(database) {}

  void run() {
    database_.execute(
        "UPDATE runs SET kernels = 'reference', engine = replace(engine, ', reference kernels', '') "
        "WHERE engine LIKE '%, reference kernels'");
    read_configs();
    read_runs();
    write_runs();
    renew_plans();
  }

 private:
  void read_configs() {
    Statement statement(database_, "SELECT DISTINCT config_digest, config FROM runs");
    while (statement.step()) {
      if (const auto digest = renewed_config(statement.text(1), statement.text(0)))
        configs_.emplace(statement.text(0), *digest);
    }
  }

  void read_runs() {
    Statement statement(database_, "SELECT " + run_columns() + " FROM runs WHERE engine = 'nanobench-train'");
    while (statement.step()) {
      const RunRecord row = read_run_row(statement);
      if (!configs_.contains(row.config_digest)) continue;
      if (std::optional<NewRun> run = with_hidden_parts(row)) {
        run->config.clear();
        runs_.emplace(row.id, std::move(*run));
      }
    }
  }

  /// The current identity of a run whose former parts are all known; nullopt if its configuration is not.
  std::optional<std::string> renewed(NewRun run) const {
    const auto config = configs_.find(run.config_digest);
    if (config == configs_.end()) return std::nullopt;
    run.config_digest = config->second;
    return run_digest(run);
  }

  void write_runs() {
    Statement run(database_, "UPDATE runs SET digest = ?, device = ?, arm = ? WHERE id = ?");
    for (const auto& [id, former_run] : runs_) {
      run.bind(*renewed(former_run), to_string(*former_run.device), former_run.arm, id);
      run.execute();
    }
    Statement config(database_, "UPDATE runs SET config_digest = ?2 WHERE config_digest = ?1");
    for (const auto& [before, now] : configs_) {
      config.rebind(1, before, now);
      config.execute();
    }
  }

  void renew_plans() {
    std::vector<PlanRecord> plans;
    {
      Statement statement(database_, "SELECT " + plan_columns() + " FROM plans");
      while (statement.step()) plans.push_back(read_plan_row(database_, statement));
    }
    for (PlanRecord& plan : plans) {
      bool is_whole = former::plan_digest(plan) == plan.digest;
      const std::map<std::string, std::string> lines = renewed_lines(plan);
      for (PlanLine& line : plan.lines) {
        const auto found = lines.find(line.digest);
        if (found == lines.end())
          is_whole = false;
        else
          line.digest = found->second;
      }
      for (PlanCell& cell : plan.cells) {
        const auto found = configs_.find(cell.config_digest);
        if (found == configs_.end())
          is_whole = false;
        else
          cell.config_digest = found->second;
      }
      if (is_whole) plan.digest = plan_digest(plan);
      update_identities(database_, plan);
    }
  }

  /// Former -> current digests of the plan's lines. The engine, data and machine of one of a plan's runs also apply to
  /// its other lines, including those that were never run; their former digest proves it.
  std::map<std::string, std::string> renewed_lines(const PlanRecord& plan) const {
    std::map<std::string, std::string> config_of;  // by cell
    for (const PlanCell& cell : plan.cells) config_of[cell.label] = cell.config_digest;
    std::map<std::string, const NewRun*> examples;  // by cell
    for (const PlanLine& line : plan.lines) {
      const auto run = line.run_id ? runs_.find(*line.run_id) : runs_.end();
      if (run != runs_.end()) examples.emplace(line.cell, &run->second);
    }
    std::map<std::string, std::string> renewed_digests;
    for (const PlanLine& line : plan.lines) {
      if (examples.empty()) break;
      const auto same_cell = examples.find(line.cell);
      NewRun run = same_cell == examples.end() ? *examples.begin()->second : *same_cell->second;
      run.seed = line.seed;
      run.config_digest = config_of[line.cell];
      if (former::run_digest(run) != line.digest) continue;
      if (const auto digest = renewed(run)) renewed_digests.emplace(line.digest, *digest);
    }
    return renewed_digests;
  }

  Database& database_;
  std::map<std::string, std::string> configs_;  ///< former digest -> current digest
  std::map<std::int64_t, NewRun> runs_;         ///< with their former digests, and without configurations
};

}  // namespace

void renew_identities(Database& database) {
  Renewal(database).run();
}

namespace {

using core::Error;
using core::ErrorCode;

// Version 2, the oldest supported one. Never edit what has been released: add a migration.
constexpr const char* kTables = R"sql(
CREATE TABLE environments (
  id          INTEGER PRIMARY KEY,
  digest      TEXT NOT NULL UNIQUE,
  facts       TEXT NOT NULL,
  created_at  TEXT NOT NULL
) STRICT;

CREATE TABLE plans (
  id          INTEGER PRIMARY KEY,
  digest      TEXT NOT NULL,
  suite       TEXT NOT NULL,
  title       TEXT NOT NULL,
  design      TEXT NOT NULL,
  scale       TEXT NOT NULL,
  data_name   TEXT NOT NULL,
  target      REAL,
  order_seed  INTEGER NOT NULL,
  cells       TEXT NOT NULL,
  messages    TEXT NOT NULL,
  argv        TEXT NOT NULL,
  created_at  TEXT NOT NULL,
  contrasts   TEXT NOT NULL DEFAULT '[]',
  sequential  TEXT
) STRICT;
-- The order in time decides which run or plan is the newest: numbers of merged ones say nothing.
CREATE INDEX plans_by_digest ON plans (digest, created_at);
CREATE INDEX plans_by_suite ON plans (suite, created_at);
CREATE INDEX plans_by_time ON plans (created_at);

CREATE TABLE runs (
  id               INTEGER PRIMARY KEY,
  digest           TEXT NOT NULL,
  suite            TEXT NOT NULL,
  cell             TEXT NOT NULL,
  record           TEXT,
  scale            TEXT NOT NULL,
  seed             INTEGER NOT NULL,
  outcome          TEXT CHECK (outcome IN ('completed', 'diverged', 'timed_out', 'crashed', 'out_of_memory',
                                           'unsupported', 'interrupted')),
  message          TEXT,
  started_at       TEXT NOT NULL,
  finished_at      TEXT,
  final_val_loss   REAL,
  train_ms         REAL,
  steps            INTEGER,
  timed_steps      INTEGER,
  peak_bytes       INTEGER,
  exit_code        INTEGER,
  config           TEXT NOT NULL,
  config_digest    TEXT NOT NULL,
  data_name        TEXT NOT NULL,
  data_digest      TEXT NOT NULL,
  data_floor_nats  REAL,
  dtype            TEXT NOT NULL,
  threads          INTEGER NOT NULL,
  engine           TEXT NOT NULL,
  engine_version   TEXT NOT NULL,
  hardware         TEXT NOT NULL,
  environment_id   INTEGER REFERENCES environments (id),
  plan_id          INTEGER REFERENCES plans (id),
  position         INTEGER,
  owner_host       TEXT NOT NULL,
  owner_boot       TEXT NOT NULL,
  owner_namespace  TEXT NOT NULL,
  owner_pid        INTEGER NOT NULL,
  owner_started    INTEGER NOT NULL,
  heartbeat_at     TEXT NOT NULL,
  CHECK ((outcome IS NULL) = (finished_at IS NULL))
) STRICT;
CREATE INDEX runs_by_digest ON runs (digest, started_at);
CREATE INDEX runs_by_suite ON runs (suite, cell);
CREATE INDEX runs_by_plan ON runs (plan_id);
CREATE INDEX runs_running ON runs (id) WHERE outcome IS NULL;
-- Two runners never work on the same run at once, whatever they believe.
CREATE UNIQUE INDEX runs_one_at_a_time ON runs (digest) WHERE outcome IS NULL;

CREATE TABLE plan_lines (
  plan_id   INTEGER NOT NULL REFERENCES plans (id),
  position  INTEGER NOT NULL,
  cell      TEXT NOT NULL,
  seed      INTEGER NOT NULL,
  digest    TEXT NOT NULL,
  run_id    INTEGER REFERENCES runs (id),
  PRIMARY KEY (plan_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE samples (
  run_id  INTEGER NOT NULL REFERENCES runs (id),
  metric  TEXT NOT NULL,
  step    INTEGER NOT NULL,
  value   REAL,
  PRIMARY KEY (run_id, metric, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
  id      INTEGER PRIMARY KEY,
  run_id  INTEGER NOT NULL REFERENCES runs (id),
  kind    TEXT NOT NULL,
  text    TEXT NOT NULL
) STRICT;
CREATE INDEX messages_by_run ON messages (run_id);

CREATE TABLE run_facts (
  run_id  INTEGER NOT NULL REFERENCES runs (id),
  name    TEXT NOT NULL,
  value   TEXT NOT NULL,
  PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE baselines (
  name        TEXT PRIMARY KEY,
  suite       TEXT NOT NULL,
  plan_id     INTEGER NOT NULL REFERENCES plans (id),
  created_at  TEXT NOT NULL,
  reason      TEXT NOT NULL DEFAULT '',
  revision    TEXT NOT NULL DEFAULT '',
  is_accepted INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- A report over thousands of runs cannot read all their steps.
CREATE TABLE run_summaries (
  run_id          INTEGER PRIMARY KEY REFERENCES runs (id),
  median_step_ms  REAL,
  timed_samples   INTEGER NOT NULL
) STRICT;
)sql";

// The parts of a run's identity that used to be only in its digest, or in the engine's name.
constexpr const char* kVersion3 = R"sql(
ALTER TABLE runs ADD COLUMN device TEXT;
ALTER TABLE runs ADD COLUMN kernels TEXT NOT NULL DEFAULT 'fused' CHECK (kernels IN ('fused', 'reference'));
ALTER TABLE runs ADD COLUMN arm INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN mock TEXT;
)sql";

// Lets every program that looks at a plan say the same time left.
constexpr const char* kVersion4 = R"sql(
CREATE TABLE plan_seconds (
  plan_id  INTEGER NOT NULL REFERENCES plans (id),
  cell     TEXT NOT NULL,
  seconds  REAL NOT NULL,
  PRIMARY KEY (plan_id, cell)
) STRICT, WITHOUT ROWID;
)sql";

// Changed and missing rows are noticed.
constexpr const char* kVersion5 = R"sql(
ALTER TABLE runs ADD COLUMN checksum TEXT;
ALTER TABLE plans ADD COLUMN checksum TEXT;
ALTER TABLE plan_lines ADD COLUMN checksum TEXT;
ALTER TABLE baselines ADD COLUMN checksum TEXT;
CREATE TABLE totals (
  kind  TEXT PRIMARY KEY,
  rows  INTEGER NOT NULL,
  sum   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
)sql";

void seal_former_rows(Database& database) {
  seal_everything(database, kFirstSealedSchema - 1);
}

// A plan that is asked for again becomes the newest, and stays the same plan.
constexpr const char* kVersion6 = R"sql(
CREATE TABLE plan_uses (
  plan_id  INTEGER PRIMARY KEY REFERENCES plans (id),
  used_at  TEXT NOT NULL
) STRICT;
CREATE INDEX plan_uses_by_time ON plan_uses (used_at);
)sql";

constexpr std::array kMigrations = {Migration{kVersion3, renew_identities}, Migration{kVersion4},
                                    Migration{kVersion5, seal_former_rows}, Migration{kVersion6}};
static_assert(kOldestSchema + static_cast<int>(kMigrations.size()) == kSchemaVersion);

}  // namespace

Schema schema() {
  return {kTables, kOldestSchema, kMigrations};
}

int check_identity(Database& database, int known_version) {
  // One snapshot: another process may be creating the tables right now.
  database.execute("SAVEPOINT identity");
  const std::int64_t mark = database.integer_of("PRAGMA application_id");
  const std::int64_t version = database.integer_of("PRAGMA user_version");
  const std::int64_t tables = database.integer_of("SELECT count(*) FROM sqlite_master");
  const std::string encoding = database.text_of("PRAGMA encoding");
  database.execute("RELEASE identity");
  const std::string path = database.file().string(), file = "database " + path;
  const bool is_empty = mark == 0 && version == 0 && tables == 0;
  if (encoding != "UTF-8" && (is_empty || mark == kApplicationId)) {
    throw core::Refusal(ErrorCode::kDataLoss, core::Reason::kOtherFormat,
                        file + " keeps its texts as " + encoding +
                            ", which nanobench never writes, and not as UTF-8; name another file with --db",
                        path);
  }
  if (is_empty) return 0;
  if (mark != kApplicationId) {
    throw core::Refusal(ErrorCode::kConflict, core::Reason::kForeignOwner,
                        file + " belongs to another program (it has " + std::to_string(tables) +
                            " tables or indexes and not nanobench's application id); name another file with --db",
                        path);
  }
  if (version > known_version) {
    throw core::Refusal(ErrorCode::kUnavailable, core::Reason::kNewerVersion,
                        file + " was written by a newer nanobench (schema " + std::to_string(version) +
                            ", this build knows " + std::to_string(known_version) +
                            "); update nanobench, or name another file with --db",
                        path);
  }
  if (version < kOldestSchema) {
    throw core::Refusal(ErrorCode::kUnavailable, core::Reason::kOlderVersion,
                        file + " is of schema " + std::to_string(version) +
                            ", which no release of nanobench has written, and this build reads " +
                            std::to_string(kOldestSchema) + " and later; name another file with --db, and measure anew",
                        path);
  }
  return static_cast<int>(version);
}

namespace {

/// Everything that the schema consists of, one line each.
std::set<std::string> structure_of(Database& database) {
  constexpr std::array kParts = {
      "SELECT type || ' ' || name FROM sqlite_master WHERE type IN ('view', 'trigger')",
      "SELECT type || ' ' || name || CASE strict WHEN 1 THEN '' ELSE ', not strict' END || CASE wr WHEN 1 THEN ', "
      "without rowid' ELSE '' END FROM pragma_table_list WHERE schema = 'main' AND type <> 'view' AND name NOT LIKE "
      "'sqlite\\_%' ESCAPE '\\'",
      "SELECT 'column ' || t.name || '.' || c.name || ' ' || c.type || CASE c.\"notnull\" WHEN 1 THEN ' NOT NULL' ELSE "
      "'' "
      "END || ifnull(' DEFAULT ' || c.dflt_value, '') || CASE c.pk WHEN 0 THEN '' ELSE ', key ' || c.pk END || CASE "
      "c.hidden WHEN 0 THEN '' ELSE ', generated' END FROM sqlite_master AS t, pragma_table_xinfo(t.name) AS c WHERE "
      "t.type = 'table'",
      "SELECT 'reference ' || t.name || '.' || f.\"from\" || ' to ' || f.\"table\" || ' (' || f.\"to\" || ') ' || "
      "f.on_delete || ' ' || f.on_update FROM sqlite_master AS t, pragma_foreign_key_list(t.name) AS f WHERE t.type = "
      "'table'",
      "SELECT 'index of ' || t.name || CASE i.origin WHEN 'c' THEN ', ' || i.name ELSE '' END || CASE i.\"unique\" "
      "WHEN 1 "
      "THEN ', unique' ELSE '' END || CASE i.partial WHEN 1 THEN ', partial' ELSE '' END || ', of ' || (SELECT "
      "group_concat(ifnull(x.name, '?')) FROM pragma_index_info(i.name) AS x) FROM sqlite_master AS t, "
      "pragma_index_list(t.name) AS i WHERE t.type = 'table'"};
  std::set<std::string> lines;
  for (const char* part : kParts) {
    Statement statement(database, part);
    while (statement.step()) lines.insert(statement.text(0));
  }
  return lines;
}

/// The statements that made tables and indexes, by "table runs", without white space. They also hold what SQLite does
/// not list otherwise: constraints, collations, orders, the rows of a partial index.
std::map<std::string, std::string> definitions_of(Database& database) {
  std::map<std::string, std::string> definitions;
  Statement statement(database, "SELECT type || ' ' || name, sql FROM sqlite_master WHERE sql IS NOT NULL");
  while (statement.step()) {
    std::string& sql = definitions[statement.text(0)] = statement.text(1);
    std::erase_if(sql, [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; });
  }
  return definitions;
}

struct Structure {
  std::set<std::string> lines;
  std::map<std::string, std::string> definitions;
};

/// What a file of this version consists of.
const Structure& expected_structure(int version) {
  static std::map<int, Structure> known;
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  Structure& structure = known[version];
  if (structure.lines.empty()) {
    Database model(":memory:", ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    model.set_known();
    model.execute(kTables);
    for (int i = kOldestSchema; i < version; ++i)
      model.execute(kMigrations[static_cast<std::size_t>(i - kOldestSchema)].sql);
    structure = {structure_of(model), definitions_of(model)};
  }
  return structure;
}

}  // namespace

void check_structure(Database& database, int version) {
  const auto& [expected, definitions] = expected_structure(version);
  const std::set<std::string> actual = structure_of(database);
  const auto refuse = [&](const std::string& what) {
    throw core::Refusal(ErrorCode::kDataLoss, core::Reason::kOtherFormat,
                        "database " + database.file().string() + " is not as nanobench makes it: " + what +
                            "; use another copy, or name another file with --db",
                        database.file().string());
  };
  for (const std::string& line : actual) {
    if (!expected.contains(line)) refuse("it has the " + line);
  }
  for (const std::string& line : expected) {
    if (!actual.contains(line)) refuse("it lacks the " + line);
  }
  for (const auto& [name, sql] : definitions_of(database)) {
    const auto found = definitions.find(name);
    if (found == definitions.end() || found->second != sql) refuse("its " + name + " is defined otherwise");
  }
  database.set_known();
}

void migrate(Database& database, const Schema& schema) {
  const int newest = schema.oldest + static_cast<int>(schema.migrations.size());
  if (check_identity(database, newest) == newest) return;
  database.set_known();
  Transaction transaction(database);
  int version = check_identity(database, newest);  // another process may have been first
  const bool is_new = version == 0;
  if (is_new) {
    database.execute(schema.tables);
    version = schema.oldest;
  }
  for (; version < newest; ++version) {
    const Migration& step = schema.migrations[static_cast<std::size_t>(version - schema.oldest)];
    database.execute(step.sql);
    if (step.then != nullptr && !is_new) step.then(database);
  }
  database.execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
  database.execute(("PRAGMA user_version = " + std::to_string(newest)).c_str());
  transaction.commit();
}

}  // namespace nanobench::results

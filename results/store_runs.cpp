// Store: the life of a run, from its claim to its result.
#include <algorithm>
#include <array>
#include <optional>

#include "core/base/digest.h"
#include "core/base/json.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "results/checksums.h"
#include "results/loaded_files.h"
#include "results/metric.h"
#include "results/provenance.h"
#include "results/run_columns.h"
#include "results/sqlite.h"
#include "results/store.h"

namespace nanobench::results {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;

/// An owner that cannot be observed (another host or container) counts as dead after this long without a heartbeat.
constexpr double kHeartbeatLimitSeconds = 120;

constexpr std::size_t kRowsAtOnce = 50;

struct RunningRow {
  std::int64_t id = 0;
  std::optional<std::int64_t> plan_id;
  std::string suite;
  Owner owner;
  double silent_seconds = 0;
};

std::vector<RunningRow> running_rows(Database& database, const std::optional<std::string>& digest) {
  Statement statement(database,
                      "SELECT id, plan_id, suite, owner_host, owner_boot, owner_namespace, owner_pid, owner_started, "
                      "(julianday('now') - julianday(heartbeat_at)) * 86400.0 FROM runs "
                      "WHERE outcome IS NULL AND (?1 IS NULL OR digest = ?1)");
  statement.bind(digest);
  std::vector<RunningRow> rows;
  while (statement.step()) {
    rows.push_back(
        {statement.integer(0),
         statement.optional_integer(1),
         statement.text(2),
         {statement.text(3), statement.text(4), statement.text(5), statement.integer(6), statement.integer(7)},
         statement.real(8)});
  }
  return rows;
}

bool is_gone(const RunningRow& row) {
  if (const std::optional<bool> is_living = is_alive(row.owner)) return !*is_living;
  return row.silent_seconds > kHeartbeatLimitSeconds;
}

/// Call inside a transaction. Returns the number of rows released.
std::int64_t release_dead(Database& database, const std::optional<std::string>& digest) {
  std::int64_t count = 0;
  for (const RunningRow& row : running_rows(database, digest)) {
    if (!is_gone(row)) continue;
    const std::string message = "the runner (process " + std::to_string(row.owner.pid) + " on " + row.owner.host +
                                ") ended before the run did; running the suite again continues";
    write_result(database, row.id, {.outcome = core::RunOutcome::kInterrupted, .message = message}, utc_now());
    ++count;
  }
  return count;
}

bool has_facts(Database& database, std::int64_t run_id, const std::map<std::string, std::string>& facts) {
  for (const auto& [name, value] : facts) {
    Statement statement(database, "SELECT 1 FROM run_facts WHERE run_id = ? AND name = ? AND value = ?");
    statement.bind(run_id, name, value);
    if (!statement.step()) return false;
  }
  return true;
}

bool has_metric(Database& database, std::int64_t run_id, const std::string& metric) {
  Statement statement(database, "SELECT EXISTS (SELECT 1 FROM samples WHERE run_id = ? AND metric = ?)");
  statement.bind(run_id, metric);
  return statement.step() && statement.integer(0) != 0;
}

std::optional<ChangedFile> change_of(Database& database, std::int64_t run_id, const std::filesystem::path& folder,
                                     LoadedFiles& files) {
  const std::string beginning = kLoadedFact, end = beginning.substr(0, beginning.size() - 1) + '0';  // follows '/'
  Statement statement(database,
                      "SELECT name, value, (SELECT owner_host FROM runs WHERE id = run_id) FROM run_facts WHERE run_id "
                      "= ? AND name >= ? AND name < ?");
  statement.bind(run_id, beginning, end);
  Facts facts;
  std::string host;
  while (statement.step()) {
    facts[statement.text(0)] = statement.text(1);
    host = statement.text(2);
  }
  if (facts.empty()) return std::nullopt;
  return files.first_change(facts, folder, host == this_process().host);
}

/// The newest first.
std::vector<std::int64_t> evidence_of(Database& database, const std::string& digest, const EvidenceNeed& need,
                                      LoadedFiles& files) {
  Statement statement(database,
                      "SELECT id, outcome = 'completed' FROM runs WHERE digest = ? AND outcome IN ('completed', "
                      "'diverged') AND (? = 0 OR NOT "
                      "EXISTS (SELECT 1 FROM run_facts WHERE run_id = runs.id AND name IN (?, ?))) "
                      "ORDER BY started_at DESC, id DESC");
  statement.bind(digest, static_cast<std::int64_t>(need.times ? 1 : 0), kJobProcessors, kColdCaches);
  std::vector<std::int64_t> ids;
  while (statement.step()) {
    const std::int64_t id = statement.integer(0);
    const bool is_completed = statement.integer(1) != 0;
    const bool is_enough = std::all_of(need.metrics.begin(), need.metrics.end(), [&](const std::string& metric) {
      return !is_completed || has_metric(database, id, metric);
    });
    if (!is_enough || !has_facts(database, id, need.facts)) continue;
    if (!need.trainer_folder || !change_of(database, id, *need.trainer_folder, files)) ids.push_back(id);
  }
  return ids;
}

/// The newest evidence that matches its checksum; what does not is added to `damaged`.
std::optional<std::int64_t> intact_evidence(Database& database, const std::string& digest, const EvidenceNeed& need,
                                            LoadedFiles& files, std::vector<std::int64_t>& damaged) {
  for (const std::int64_t id : evidence_of(database, digest, need, files)) {
    if (is_run_intact(database, id)) return id;
    damaged.push_back(id);
  }
  return std::nullopt;
}

void answer_line_of(Database& database, const NewRun& run, std::int64_t run_id) {
  if (!run.plan_id || !run.position) return;
  answer_plan_line(database, *run.plan_id, *run.position, run_id);
}

std::int64_t insert_run(Database& database, const NewRun& run, const Owner& owner) {
  RunRecord row{run};
  row.started_at = utc_now();
  row.heartbeat_at = row.started_at;
  row.owner = owner;
  return insert_run_row(database, row);
}

/// Inserts a run's samples of one metric `rows` at a time: one statement for many rows takes half the time.
class SampleInsert {
 public:
  SampleInsert(Database& database, std::size_t rows) : rows_(rows), statement_(database, sql(rows)) {}

  /// Inserts from values[first] on while there are enough for whole statements; returns the index of the first one
  /// left.
  std::size_t insert(std::int64_t run_id, const std::string& metric, const std::vector<Sample>& values,
                     std::size_t first) {
    statement_.rebind(1, run_id, metric);
    for (; first + rows_ <= values.size(); first += rows_) {
      for (std::size_t i = 0; i < rows_; ++i)
        statement_.rebind(static_cast<int>(3 + 2 * i), values[first + i].step, values[first + i].value);
      statement_.execute();
    }
    return first;
  }

 private:
  static std::string sql(std::size_t rows) {
    std::string text = "INSERT INTO samples (run_id, metric, step, value) VALUES ";
    for (std::size_t i = 0; i < rows; ++i) {
      const std::string step = std::to_string(3 + 2 * i);
      const std::string value = std::to_string(4 + 2 * i);
      text += (i == 0 ? "(?1, ?2, ?" : ", (?1, ?2, ?") + step + ", ?" + value + ")";
    }
    return text;
  }

  std::size_t rows_;
  Statement statement_;
};

void insert_batch(Database& database, std::int64_t run_id, const RunBatch& batch) {
  std::optional<SampleInsert> many;
  SampleInsert one(database, 1);
  for (const auto& [metric, values] : batch.samples) {
    if (values.size() >= kRowsAtOnce && !many) many.emplace(database, kRowsAtOnce);
    const std::size_t left = many ? many->insert(run_id, metric, values, 0) : 0;
    one.insert(run_id, metric, values, left);
  }
  Statement message(database, "INSERT INTO messages (run_id, kind, text) VALUES (?, ?, ?)");
  for (const RunMessage& item : batch.messages) {
    message.bind(run_id, enum_name(item.kind), item.text);
    message.execute();
  }
  Statement fact(database,
                 "INSERT INTO run_facts (run_id, name, value) VALUES (?, ?, ?) ON CONFLICT (run_id, name) DO UPDATE "
                 "SET value = excluded.value");
  for (const auto& [name, value] : batch.facts) {
    fact.bind(run_id, name, value);
    fact.execute();
  }
}

/// A running row that prevents us from starting: of the same run, or (`is_machine_ours`) of another process on this
/// machine.
std::optional<std::int64_t> find_rival(Database& database, const std::string& digest, const Owner& owner,
                                       bool is_machine_ours) {
  if (const auto same = running_rows(database, digest); !same.empty()) return same.front().id;
  if (!is_machine_ours) return std::nullopt;
  for (const RunningRow& row : running_rows(database, std::nullopt)) {
    if (row.owner != owner && is_alive(row.owner).value_or(false)) return row.id;
  }
  return std::nullopt;
}

}  // namespace

RunClaim Store::claim_run(const NewRun& run, const Owner& owner, bool is_fresh, bool is_machine_ours,
                          const EvidenceNeed& need) {
  Transaction transaction(*database_);
  release_dead(*database_, run.digest);
  std::vector<std::int64_t> damaged;
  const std::optional<std::int64_t> done =
      is_fresh ? std::nullopt : intact_evidence(*database_, run.digest, need, loaded_files_, damaged);
  RunClaim claim;
  if (done) {
    answer_line_of(*database_, run, *done);
    claim = AlreadyDone{this->run(*done)};
  } else if (const auto rival = find_rival(*database_, run.digest, owner, is_machine_ours)) {
    claim = AlreadyRunning{this->run(*rival)};
  } else {
    const std::int64_t id = insert_run(*database_, run, owner);
    answer_line_of(*database_, run, id);
    claim = Claimed{id, std::move(damaged)};
  }
  transaction.commit();
  return claim;
}

void Store::answer_line(std::int64_t plan_id, std::int64_t position, std::int64_t run_id) {
  Transaction transaction(*database_);
  if (!answer_plan_line(*database_, plan_id, position, run_id)) {
    throw core::Refusal(
        ErrorCode::kNotFound, core::Reason::kNoLine,
        "database " + file_.string() + ": plan " + std::to_string(plan_id) + " has no line " + std::to_string(position),
        std::to_string(position));
  }
  transaction.commit();
}

std::optional<RunRecord> Store::living_run() const {
  for (const RunningRow& row : running_rows(*database_, std::nullopt)) {
    if (!is_gone(row)) return run(row.id);
  }
  return std::nullopt;
}

std::vector<RunningRun> Store::running() const {
  std::vector<RunningRun> runs;
  for (RunningRow& row : running_rows(*database_, std::nullopt)) {
    const bool is_owner_gone = is_gone(row);
    runs.push_back({row.id, row.plan_id, std::move(row.suite), std::move(row.owner), is_owner_gone});
  }
  return runs;
}

std::int64_t Store::release_dead_runs() {
  Transaction transaction(*database_);
  const std::int64_t count = release_dead(*database_, std::nullopt);
  transaction.commit();
  return count;
}

void Store::add_batch(std::int64_t run_id, const RunBatch& batch) {
  Transaction transaction(*database_);
  beat(run_id);
  insert_batch(*database_, run_id, batch);
  transaction.commit();
}

void Store::beat(std::int64_t run_id) {
  Statement statement(*database_, "UPDATE runs SET heartbeat_at = ? WHERE id = ? AND outcome IS NULL");
  statement.bind(utc_now(), run_id);
  statement.execute();
  if (sqlite3_changes(database_->handle()) == 1) return;
  throw core::Refusal(ErrorCode::kConflict, core::Reason::kEnded,
                      "database " + file_.string() + ": run " + std::to_string(run_id) +
                          " is unknown or has ended already; a finished run never changes",
                      std::to_string(run_id));
}

void Store::add_samples(std::int64_t run_id, const std::vector<NewSample>& samples) {
  RunBatch batch;
  for (const NewSample& sample : samples) batch.samples[sample.metric].push_back({sample.step, sample.value});
  add_batch(run_id, batch);
}

std::int64_t Store::set_environment(std::int64_t run_id, const std::map<std::string, std::string>& facts) {
  Transaction transaction(*database_);
  beat(run_id);
  const std::string text = core::safe_dump(Json(facts));
  const std::string digest = core::digest_of(text);
  Statement insert(*database_,
                   "INSERT INTO environments (digest, facts, created_at) VALUES (?, ?, ?) ON CONFLICT (digest) DO "
                   "NOTHING");
  insert.bind(digest, text, utc_now());
  insert.execute();
  Statement find(*database_, "SELECT id FROM environments WHERE digest = ?");
  find.bind(digest);
  find.step();
  const std::int64_t id = find.integer(0);
  find.reset();
  Statement update(*database_, "UPDATE runs SET environment_id = ? WHERE id = ?");
  update.bind(id, run_id);
  update.execute();
  transaction.commit();
  return id;
}

void Store::finish_run(std::int64_t run_id, const RunResult& result, const RunBatch& last) {
  Transaction transaction(*database_);
  insert_batch(*database_, run_id, last);
  if (!write_result(*database_, run_id, result, utc_now())) {
    throw core::Refusal(ErrorCode::kConflict, core::Reason::kEnded,
                        "database " + file_.string() + ": run " + std::to_string(run_id) +
                            " is unknown or has ended already; a finished run is never overwritten",
                        std::to_string(run_id));
  }
  if (result.outcome == core::RunOutcome::kCompleted) store_summary(*database_, run_id);
  transaction.commit();
}

std::vector<AddedRun> Store::add_finished_runs(const std::vector<FinishedRun>& runs, const Owner& owner) {
  Transaction transaction(*database_);
  Statement known(*database_, "SELECT max(id) FROM runs WHERE digest = ? AND outcome IS NOT NULL");
  std::vector<AddedRun> added;
  for (const FinishedRun& item : runs) {
    known.bind(item.run.digest);
    known.step();
    const std::optional<std::int64_t> id = known.optional_integer(0);
    known.reset();
    added.push_back({.run_id = id ? *id : insert_run(*database_, item.run, owner), .is_new = !id});
    if (id) continue;
    insert_batch(*database_, added.back().run_id, item.batch);
    write_result(*database_, added.back().run_id, item.result, utc_now());
  }
  transaction.commit();
  return added;
}

std::optional<std::int64_t> Store::find_evidence(const std::string& digest, const EvidenceNeed& need) const {
  const std::vector<std::int64_t> ids = evidence_of(*database_, digest, need, loaded_files_);
  return ids.empty() ? std::nullopt : std::optional(ids.front());
}

std::optional<ChangedFile> Store::changed_file(std::int64_t run_id, const std::filesystem::path& trainer_folder) const {
  return change_of(*database_, run_id, trainer_folder, loaded_files_);
}

}  // namespace nanobench::results

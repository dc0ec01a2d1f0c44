#include "results/merge.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/atomic_write.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "results/checksums.h"
#include "results/open_file.h"
#include "results/schema.h"
#include "results/weights.h"

namespace nanobench::results {
namespace {

using core::Error;
using core::ErrorCode;

constexpr std::size_t kRunsAtOnce = 32;  // per transaction: other writers get their turns in between

/// Source ids -> ids in our store.
using IdMap = std::map<std::int64_t, std::int64_t>;

/// The first place that differs from its checksum; nullopt if there is none.
std::optional<std::string> first_changed_place(Database& database) {
  database.execute("BEGIN");  // one state of a store that somebody may be writing to
  const std::vector<StoreProblem> problems = checksum_problems(database);
  database.execute("COMMIT");
  return problems.empty() ? std::nullopt : std::optional(problems.front().where.front());
}

void refuse_changed_rows(Database& database) {
  if (const std::optional<std::string> place = first_changed_place(database)) {
    throw core::Refusal(ErrorCode::kDataLoss, core::Reason::kChanged,
                        "database " + database.file().string() + " was changed after it was written (" + *place +
                            "), so nothing of it was merged; `nanobench db check` lists what is wrong",
                        *place);
  }
}

/// Refuses a source that could not be copied completely, before anything is written. Returns its schema version.
int check_source(const std::filesystem::path& from) {
  check_file(from, OpenMode::kReadOnly);
  Database database(from, read_only_uri(from), SQLITE_OPEN_READONLY);
  const std::string file = "database " + from.string();
  const int version = check_identity(database, kSchemaVersion);
  if (version == 0)
    throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kEmpty,
                        file + " is empty; there is nothing to merge", from.string());
  check_structure(database, version);
  if (const std::string answer = database.text_of("PRAGMA quick_check(1)"); answer != "ok") {
    throw core::Refusal(
        ErrorCode::kDataLoss, core::Reason::kDamaged,
        file + " is damaged (" + answer + "), so nothing of it was merged; `nanobench db check` lists what is wrong",
        from.string());
  }
  if (!database.text_of("PRAGMA foreign_key_check").empty()) {
    throw core::Refusal(
        ErrorCode::kDataLoss, core::Reason::kDangling,
        file + " has rows that point to nothing, so nothing of it was merged; `nanobench db check` lists them",
        from.string());
  }
  if (version == kSchemaVersion) refuse_changed_rows(database);
  return version;
}

/// A copy at this build's version, whose rows have current identities; the file itself is only read.
std::filesystem::path renewed_copy(const std::filesystem::path& from, const std::filesystem::path& folder) {
  std::filesystem::path copy = folder / "renewed.db";
  {
    Database database(from, read_only_uri(from), SQLITE_OPEN_READONLY);
    Statement statement(database, "VACUUM INTO ?");
    statement.bind(copy.string());
    statement.execute();
  }
  open_for_writing(copy);
  return copy;
}

class Merge {
 public:
  /// `name`: the name of the file `from` in messages.
  Merge(const std::filesystem::path& into, const std::filesystem::path& from, const std::filesystem::path& name)
      : from_(name), database_(open_for_writing(into)) {
    const std::string uri = read_only_uri(from);
    Statement attach(*database_, "ATTACH ? AS other");
    attach.bind(uri + (uri.find('?') == std::string::npos ? "?" : "&") + "mode=ro");
    attach.execute();
  }

  MergeResult run() {
    copy_environments();
    copy_plans();
    copy_runs();
    answer_lines();
    copy_baselines();
    if (result_.runs_running > 0) {
      result_.messages.push_back(std::to_string(result_.runs_running) +
                                 (result_.runs_running == 1 ? " run of " : " runs of ") + from_.string() +
                                 " without an outcome stayed behind; merge again when its runner has ended");
    }
    return result_;
  }

  void run_plan_only(std::int64_t id) {
    Transaction transaction(*database_);
    copy_plan(id);
    transaction.commit();
  }

 private:
  std::string names_of(const std::string& table, const std::vector<std::string>& without) {
    Statement statement(*database_,
                        "SELECT name FROM pragma_table_info(?1, 'main') INTERSECT "
                        "SELECT name FROM pragma_table_info(?1, 'other')");
    statement.bind(table);
    std::string names;
    while (statement.step()) {
      const std::string name = statement.text(0);
      if (std::find(without.begin(), without.end(), name) == without.end()) names += ", " + name;
    }
    return names;
  }

  /// Copies one row by its source id, with other values for some columns; returns its id in our store. Copies all
  /// columns that both files have, because they may have different versions.
  std::int64_t copy_row(const std::string& table, std::int64_t id,
                        const std::map<std::string, std::optional<std::int64_t>>& changed) {
    std::vector<std::string> without = {"id"};
    std::string names;
    std::string values;
    int number = 1;
    for (const auto& [name, value] : changed) {
      without.push_back(name);
      names += (names.empty() ? "" : ", ") + name;
      values += (values.empty() ? "?" : ", ?") + std::to_string(++number);
    }
    std::string rest = names_of(table, without);
    if (names.empty()) rest.erase(0, 2);
    Statement insert(*database_, "INSERT INTO main." + table + " (" + names + rest + ") SELECT " + values + rest +
                                     " FROM other." + table + " WHERE id = ?1");
    insert.bind(id);
    for (const auto& [name, value] : changed) insert.bind(value);
    insert.execute();
    return database_->last_insert_id();
  }

  std::optional<std::int64_t> mapped(const IdMap& map, const std::optional<std::int64_t>& id) const {
    if (!id) return std::nullopt;
    const auto found = map.find(*id);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  }

  void copy_environments() {
    Transaction transaction(*database_);
    Statement there(*database_,
                    "SELECT theirs.id, ours.id FROM other.environments AS theirs LEFT JOIN main.environments AS ours "
                    "ON ours.digest = theirs.digest ORDER BY theirs.id");
    while (there.step()) {
      const std::optional<std::int64_t> known = there.optional_integer(1);
      environments_[there.integer(0)] = known ? *known : copy_row("environments", there.integer(0), {});
    }
    transaction.commit();
  }

  void copy_plans() {
    Transaction transaction(*database_);
    Statement there(*database_,
                    "SELECT theirs.id, (SELECT min(ours.id) FROM main.plans AS ours WHERE ours.digest = theirs.digest "
                    "AND ours.created_at = theirs.created_at) FROM other.plans AS theirs ORDER BY theirs.id");
    while (there.step()) {
      const std::int64_t id = there.integer(0);
      const std::optional<std::int64_t> known = there.optional_integer(1);
      plans_[id] = known ? *known : copy_plan(id);
      copy_use(id, plans_[id]);
      ++(known ? result_.plans_known : result_.plans_added);
    }
    transaction.commit();
  }

  /// Its lines do not point to runs yet.
  std::int64_t copy_plan(std::int64_t id) {
    const std::int64_t here = copy_row("plans", id, {});
    const std::string names = names_of("plan_lines", {"plan_id", "run_id", "checksum"});
    Statement lines(*database_, "INSERT INTO main.plan_lines (plan_id" + names + ") SELECT ?1" + names +
                                    " FROM other.plan_lines WHERE plan_id = ?2");
    lines.bind(here, id);
    lines.execute();
    Statement seconds(*database_,
                      "INSERT INTO main.plan_seconds (plan_id, cell, seconds) SELECT ?1, cell, seconds "
                      "FROM other.plan_seconds WHERE plan_id = ?2");
    seconds.bind(here, id);
    seconds.execute();
    seal_plan(*database_, here);
    return here;
  }

  /// The later of both.
  void copy_use(std::int64_t there, std::int64_t here) {
    Statement use(
        *database_,
        "INSERT INTO main.plan_uses (plan_id, used_at) SELECT ?1, used_at FROM other.plan_uses WHERE plan_id = "
        "?2 ON CONFLICT (plan_id) DO UPDATE SET used_at = max(used_at, excluded.used_at)");
    use.bind(here, there);
    use.execute();
  }

  void copy_runs() {
    tables_of_runs_ = tables_of_runs();
    result_.runs_running = database_->integer_of("SELECT count(*) FROM other.runs WHERE outcome IS NULL");
    for (std::int64_t last = 0;;) {
      Transaction transaction(*database_);
      const std::size_t count = copy_some_runs(last);
      transaction.commit();
      if (count < kRunsAtOnce) return;
    }
  }

  /// Copies the next runs after the id `last`, and advances `last`.
  std::size_t copy_some_runs(std::int64_t& last) {
    Statement there(*database_,
                    "SELECT theirs.id, theirs.environment_id, theirs.plan_id, (SELECT min(ours.id) FROM main.runs AS "
                    "ours WHERE ours.digest = theirs.digest AND ours.started_at = theirs.started_at AND "
                    "ours.owner_host = theirs.owner_host AND ours.owner_boot = theirs.owner_boot AND "
                    "ours.owner_namespace = theirs.owner_namespace AND ours.owner_pid = theirs.owner_pid AND "
                    "ours.owner_started = theirs.owner_started) FROM other.runs AS theirs "
                    "WHERE theirs.id > ? AND theirs.outcome IS NOT NULL ORDER BY theirs.id LIMIT ?");
    there.bind(last, static_cast<std::int64_t>(kRunsAtOnce));
    std::size_t count = 0;
    for (; there.step(); ++count) {
      last = there.integer(0);
      const std::optional<std::int64_t> known = there.optional_integer(3);
      runs_[last] = known ? *known
                          : copy_run(last, {{"environment_id", mapped(environments_, there.optional_integer(1))},
                                            {"plan_id", mapped(plans_, there.optional_integer(2))}});
      ++(known ? result_.runs_known : result_.runs_added);
    }
    return count;
  }

  std::int64_t copy_run(std::int64_t id, const std::map<std::string, std::optional<std::int64_t>>& changed) {
    const std::int64_t here = copy_row("runs", id, changed);
    for (const auto& [table, names] : tables_of_runs_) {
      Statement rows(*database_, "INSERT INTO main." + table + " (run_id" + names + ") SELECT ?1" + names +
                                     " FROM other." + table + " WHERE run_id = ?2");
      rows.bind(here, id);
      rows.execute();
      if (table == "samples") result_.samples_added += sqlite3_changes(database_->handle());
    }
    forget_weights(here);
    seal_run(*database_, here);
    answer_own_line(here);
    return here;
  }

  /// Answers the run's line of its plan, so that a reader between two transactions, or after the merge was killed,
  /// finds no run without its line. answer_lines() has the last word.
  void answer_own_line(std::int64_t run_here) {
    Statement line(*database_,
                   "SELECT line.plan_id, line.position FROM main.runs AS run JOIN main.plan_lines AS line "
                   "ON line.plan_id = run.plan_id AND line.position = run.position AND line.digest = run.digest "
                   "WHERE run.id = ? AND run.outcome IN ('completed', 'diverged') AND line.run_id IS NULL");
    line.bind(run_here);
    if (!line.step()) return;
    const std::int64_t plan_id = line.integer(0), position = line.integer(1);
    line.reset();
    answer_plan_line(*database_, plan_id, position, run_here);
  }

  /// The files stay beside the other store.
  void forget_weights(std::int64_t run_here) {
    Statement facts(*database_, "DELETE FROM main.run_facts WHERE run_id = ? AND name GLOB ? || '*'");
    facts.bind(run_here, kWeightsFact);
    facts.execute();
  }

  /// Every table with rows of a run, and the columns to copy: samples, messages, facts, summaries.
  std::map<std::string, std::string> tables_of_runs() {
    Statement statement(*database_,
                        "SELECT ours.name FROM main.sqlite_master AS ours JOIN other.sqlite_master AS theirs ON "
                        "theirs.type = 'table' AND theirs.name = ours.name WHERE ours.type = 'table' AND EXISTS "
                        "(SELECT 1 FROM pragma_table_info(ours.name, 'main') WHERE name = 'run_id')");
    std::map<std::string, std::string> tables;
    while (statement.step()) {
      if (statement.text(0) != "plan_lines") tables[statement.text(0)] = names_of(statement.text(0), {"id", "run_id"});
    }
    return tables;
  }

  /// Whichever answer to a line is evidence wins, ours or theirs, else the one that started later: a line that was
  /// merged while its run had failed is answered by the run that took its place.
  void answer_lines() {
    Transaction transaction(*database_);
    Statement there(*database_,
                    "SELECT plan_id, position, digest, run_id FROM other.plan_lines WHERE run_id IS NOT NULL");
    Statement line(*database_,
                   "SELECT 1 FROM main.plan_lines AS line LEFT JOIN main.runs AS ours ON ours.id = line.run_id "
                   "JOIN main.runs AS theirs ON theirs.id = ?4 "
                   "WHERE line.plan_id = ?1 AND line.position = ?2 AND line.digest = ?3 AND (line.run_id IS NULL OR "
                   "(theirs.outcome IN ('completed', 'diverged'), theirs.started_at) > "
                   "(coalesce(ours.outcome, '') IN ('completed', 'diverged'), ours.started_at))");
    while (there.step()) {
      const std::optional<std::int64_t> run_id = mapped(runs_, there.integer(3));
      if (!run_id) continue;
      const std::int64_t plan_id = plans_.at(there.integer(0));
      line.rebind(1, plan_id, there.integer(1), there.text(2), *run_id);
      const bool is_better = line.step();
      line.reset();
      if (is_better) answer_plan_line(*database_, plan_id, there.integer(1), *run_id);
    }
    transaction.commit();
  }

  void copy_baselines() {
    Transaction transaction(*database_);
    Statement there(*database_, "SELECT name, plan_id FROM other.baselines ORDER BY name");
    while (there.step()) {
      const std::string name = there.text(0);
      const std::int64_t plan_id = plans_.at(there.integer(1));
      const std::optional<std::string> free = free_name(name, there.integer(1), plan_id);
      if (!free) continue;
      const std::string names = names_of("baselines", {"name", "plan_id", "checksum"});
      Statement insert(*database_, "INSERT INTO main.baselines (name, plan_id" + names + ") SELECT ?1, ?2" + names +
                                       " FROM other.baselines WHERE name = ?3");
      insert.bind(*free, plan_id, name);
      insert.execute();
      seal_baseline(*database_, *free);
      ++result_.baselines_added;
      if (*free == name) continue;
      result_.messages.push_back("the baseline " + name + " of " + from_.string() +
                                 " is another plan than ours; it is kept as " + *free);
    }
    transaction.commit();
  }

  /// The baseline's name in our store; nullopt if this plan already has it. If the name is taken, the other machine's
  /// name is added.
  std::optional<std::string> free_name(const std::string& name, std::int64_t plan_there, std::int64_t plan_here) {
    Statement known(*database_, "SELECT plan_id FROM main.baselines WHERE name = ?");
    std::string candidate = name;
    for (int i = 1;; ++i) {
      known.rebind(1, candidate);
      const bool is_taken = known.step();
      const bool is_ours = is_taken && known.integer(0) == plan_here;
      known.reset();
      if (!is_taken) return candidate;
      if (is_ours) return std::nullopt;
      candidate = name + "@" + host_of(plan_there) + (i > 1 ? "-" + std::to_string(i) : "");
    }
  }

  /// The host where a plan was run; the file's name if none of it was run.
  std::string host_of(std::int64_t plan_there) {
    Statement statement(*database_,
                        "SELECT owner_host FROM other.runs WHERE plan_id = ? AND owner_host <> '' ORDER BY id LIMIT 1");
    statement.bind(plan_there);
    return statement.step() ? statement.text(0) : from_.stem().string();
  }

  std::filesystem::path from_;
  std::unique_ptr<Database> database_;
  IdMap environments_;
  IdMap plans_;
  IdMap runs_;
  std::map<std::string, std::string> tables_of_runs_;  ///< ", column, ..." by table
  MergeResult result_;
};

}  // namespace

MergeResult merge_store(const std::filesystem::path& into, const std::filesystem::path& from) {
  std::error_code ignored;
  if (std::filesystem::equivalent(into, from, ignored)) {
    throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kSameFile,
                        from.string() + " is the database to merge into; name the others after it", from.string());
  }
  if (check_source(from) == kSchemaVersion) return Merge(into, from, from).run();
  const core::TemporaryFolder folder("merge");
  return Merge(into, renewed_copy(from, folder.path()), from).run();
}

std::optional<std::string> changed_place(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  check_file(file, OpenMode::kReadOnly);
  Database database(file, read_only_uri(file), SQLITE_OPEN_READONLY);
  const int version = check_identity(database, kSchemaVersion);
  if (version != kSchemaVersion) return std::nullopt;
  check_structure(database, version);
  return first_changed_place(database);
}

void copy_plan(const std::filesystem::path& into, const std::filesystem::path& from, std::int64_t plan_id) {
  Merge(into, from, from).run_plan_only(plan_id);
}

void make_movable(const std::filesystem::path& file) {
  const std::unique_ptr<Database> database = open_for_writing(file);
  if (database->text_of("PRAGMA journal_mode = DELETE") != "delete") {
    throw core::Refusal(ErrorCode::kIo, core::Reason::kInUse,
                        "database " + file.string() + " is in use, so it cannot be moved", file.string());
  }
}

}  // namespace nanobench::results

#include "results/checksums.h"

#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "core/base/digest.h"
#include "results/store.h"

namespace nanobench::results {
namespace {

/// Values with their types, so that no two different rows are the same bytes.
class RowDigest {
 public:
  /// All columns of the statement's row but those; the order of columns does not matter.
  void add_row(const Statement& row, const std::set<std::string>& without = {}) {
    std::map<std::string, std::string> columns;
    for (int i = 0; i < row.columns(); ++i) {
      if (!without.contains(row.name(i)) && !row.bytes(i).empty()) columns.emplace(row.name(i), row.bytes(i));
    }
    for (const auto& [name, bytes] : columns) {
      add(name);
      add(bytes);
    }
    add("");  // end of the row
  }
  /// All columns of all rows, in order.
  void add_rows(Statement& statement) {
    while (statement.step()) {
      for (int i = 0; i < statement.columns(); ++i) add(statement.bytes(i));
    }
    add("");
  }
  std::string hex() const { return digest_.hex(); }

 private:
  void add(const std::string& text) {
    const std::uint64_t size = text.size();
    digest_.update(&size, sizeof size);
    digest_.update(text.data(), text.size());
  }
  core::Digest digest_;
};

/// Rows of `select`, whose only parameter is the run's or plan's number.
void add_rows_of(Database& database, RowDigest& digest, const char* select, std::int64_t id) {
  Statement statement(database, select);
  statement.bind(id);
  digest.add_rows(statement);
}

/// nullopt if there is no such row.
std::optional<std::string> run_hash(Database& database, std::int64_t id) {
  Statement row(database, "SELECT * FROM runs WHERE id = ?");
  row.bind(id);
  if (!row.step()) return std::nullopt;
  RowDigest digest;
  digest.add_row(row, {"id", "plan_id", "environment_id", "checksum"});
  add_rows_of(database, digest,
              "SELECT digest, created_at FROM plans WHERE id = (SELECT plan_id FROM runs WHERE id = ?)", id);
  add_rows_of(database, digest,
              "SELECT digest, facts FROM environments WHERE id = (SELECT environment_id FROM runs WHERE id = ?)", id);
  add_rows_of(database, digest, "SELECT metric, step, value FROM samples WHERE run_id = ? ORDER BY metric, step", id);
  add_rows_of(database, digest, "SELECT kind, text FROM messages WHERE run_id = ? ORDER BY id", id);
  add_rows_of(database, digest, "SELECT name, value FROM run_facts WHERE run_id = ? ORDER BY name", id);
  return digest.hex();
}

std::optional<std::string> plan_hash(Database& database, std::int64_t id) {
  Statement row(database, "SELECT * FROM plans WHERE id = ?");
  row.bind(id);
  if (!row.step()) return std::nullopt;
  RowDigest digest;
  digest.add_row(row, {"id", "checksum"});
  add_rows_of(database, digest,
              "SELECT position, cell, seed, digest FROM plan_lines WHERE plan_id = ? ORDER BY position", id);
  return digest.hex();
}

std::optional<std::string> baseline_hash(Database& database, const std::string& name) {
  Statement row(database,
                "SELECT baselines.*, plans.digest AS plan_digest, plans.created_at AS plan_created_at FROM baselines "
                "LEFT JOIN plans ON plans.id = plan_id WHERE name = ?");
  row.bind(name);
  if (!row.step()) return std::nullopt;
  RowDigest digest;
  digest.add_row(row, {"plan_id", "checksum"});
  return digest.hex();
}

/// The hash of the plan, the line and the run that answers it, by what a merge keeps of them.
std::string answer_hash(Database& database, std::int64_t plan_id, std::int64_t position) {
  Statement row(
      database,
      "SELECT plans.digest AS plan_digest, plans.created_at, plan_lines.position, runs.digest, started_at, owner_host, "
      "owner_boot, owner_namespace, owner_pid, owner_started FROM plan_lines JOIN plans ON plans.id = "
      "plan_lines.plan_id LEFT JOIN runs ON runs.id = run_id WHERE plan_lines.plan_id = ? AND plan_lines.position = ?");
  row.bind(plan_id, position);
  RowDigest digest;
  if (row.step()) digest.add_row(row);
  return digest.hex();
}

std::string tagged(int schema, const std::optional<std::string>& hash) {
  return std::to_string(schema) + ":" + hash.value_or("none");
}

/// Whether a stored checksum is that of `hash`, whatever schema wrote it.
bool is_of(const std::optional<std::string>& checksum, const std::optional<std::string>& hash) {
  if (!checksum || !hash) return false;
  const std::size_t colon = checksum->find(':');
  return colon != std::string::npos && checksum->substr(colon + 1) == *hash;
}

// --- counts of rows ---

/// The kinds of rows of which none may vanish, and the query of their checksums.
struct Kind {
  const char* name;
  const char* checksums;
};
constexpr Kind kRuns{"runs", "SELECT checksum FROM runs WHERE outcome IS NOT NULL"};
constexpr Kind kPlans{"plans", "SELECT checksum FROM plans"};
constexpr Kind kBaselines{"baselines", "SELECT checksum FROM baselines"};
constexpr std::array kKinds = {kRuns, kPlans, kBaselines};

/// Number of rows, and the exclusive or of their checksums: rows can be added and taken away in any order.
struct Total {
  std::int64_t rows = 0;
  std::int64_t sum = 0;

  void change(int by, const std::string& checksum) {
    constexpr std::size_t kDigits = 15;  // 60 bits, never negative
    const std::size_t colon = checksum.find(':');
    const std::string digits = colon == std::string::npos ? "" : checksum.substr(colon + 1, kDigits);
    rows += by;
    sum ^= static_cast<std::int64_t>(std::strtoull(digits.c_str(), nullptr, 16));
  }
  bool operator==(const Total&) const = default;
};

Total stored_total(Database& database, const Kind& kind) {
  Statement row(database, "SELECT rows, sum FROM totals WHERE kind = ?");
  row.bind(kind.name);
  return row.step() ? Total{row.integer(0), row.integer(1)} : Total{};
}

Total actual_total(Database& database, const Kind& kind) {
  Statement statement(database, kind.checksums);
  Total total;
  while (statement.step()) total.change(1, statement.text(0));
  return total;
}

void store_total(Database& database, const Kind& kind, const Total& total) {
  Statement statement(database, "INSERT OR REPLACE INTO totals (kind, rows, sum) VALUES (?, ?, ?)");
  statement.bind(kind.name, total.rows, total.sum);
  statement.execute();
}

void count_row(Database& database, const Kind& kind, int by, const std::string& checksum) {
  Total total = stored_total(database, kind);
  total.change(by, checksum);
  store_total(database, kind, total);
}

// --- writing ---

template <class Key>
void write_checksum(Database& database, const char* update, const std::string& checksum, const Key& key) {
  Statement statement(database, update);
  statement.bind(checksum, key);
  statement.execute();
}
constexpr const char* kUpdateRun = "UPDATE runs SET checksum = ? WHERE id = ?";
constexpr const char* kUpdatePlan = "UPDATE plans SET checksum = ? WHERE id = ?";
constexpr const char* kUpdateBaseline = "UPDATE baselines SET checksum = ? WHERE name = ?";

void seal_answer(Database& database, std::int64_t plan_id, std::int64_t position, int schema) {
  Statement statement(database, "UPDATE plan_lines SET checksum = ? WHERE plan_id = ? AND position = ?");
  statement.bind(tagged(schema, answer_hash(database, plan_id, position)), plan_id, position);
  statement.execute();
}

std::vector<std::int64_t> numbers(Database& database, const char* select) {
  Statement statement(database, select);
  std::vector<std::int64_t> all;
  while (statement.step()) all.push_back(statement.integer(0));
  return all;
}

// --- checking ---

void keep_if_broken(std::vector<StoreProblem>& problems, StoreProblem problem) {
  if (problem.count > 0) problems.push_back(std::move(problem));
}

/// `rows`: key and checksum of each row.
StoreProblem mismatches(Database& database, const std::string& rule, const std::string& text, const char* rows,
                        const std::function<std::optional<std::string>(const Statement&)>& hash) {
  StoreProblem problem{.rule = rule, .text = text};
  Statement statement(database, rows);
  while (statement.step()) {
    if (is_of(statement.optional_text(0), hash(statement))) continue;
    problem.add(statement.text(1));
  }
  return problem;
}

StoreProblem total_problem(Database& database) {
  StoreProblem problem{.rule = "totals", .text = "No finished run, plan or baseline is missing or was put in by hand."};
  for (const Kind& kind : kKinds) {
    const Total counted = stored_total(database, kind), actual = actual_total(database, kind);
    if (counted == actual) continue;
    problem.add(std::string(kind.name) + ": " + std::to_string(actual.rows) + ", of " + std::to_string(counted.rows) +
                " that were written" + (actual.rows == counted.rows ? ", and not the same ones" : ""));
  }
  return problem;
}

}  // namespace

void seal_run(Database& database, std::int64_t run_id) {
  const std::string checksum = tagged(kSchemaVersion, run_hash(database, run_id));
  write_checksum(database, kUpdateRun, checksum, run_id);
  count_row(database, kRuns, 1, checksum);
}

void seal_plan(Database& database, std::int64_t plan_id) {
  const std::string checksum = tagged(kSchemaVersion, plan_hash(database, plan_id));
  write_checksum(database, kUpdatePlan, checksum, plan_id);
  count_row(database, kPlans, 1, checksum);
}

void seal_baseline(Database& database, const std::string& name) {
  const std::string checksum = tagged(kSchemaVersion, baseline_hash(database, name));
  write_checksum(database, kUpdateBaseline, checksum, name);
  count_row(database, kBaselines, 1, checksum);
}

void release_baseline(Database& database, const std::string& name) {
  Statement known(database, "SELECT checksum FROM baselines WHERE name = ?");
  known.bind(name);
  if (!known.step()) return;
  const std::string checksum = known.text(0);
  known.reset();
  count_row(database, kBaselines, -1, checksum);
}

bool answer_plan_line(Database& database, std::int64_t plan_id, std::int64_t position, std::int64_t run_id) {
  Statement statement(database, "UPDATE plan_lines SET run_id = ? WHERE plan_id = ? AND position = ?");
  statement.bind(run_id, plan_id, position);
  statement.execute();
  if (sqlite3_changes(database.handle()) != 1) return false;
  seal_answer(database, plan_id, position, kSchemaVersion);
  return true;
}

bool is_run_intact(Database& database, std::int64_t run_id) {
  Statement statement(database, "SELECT checksum FROM runs WHERE id = ?");
  statement.bind(run_id);
  return statement.step() && is_of(statement.optional_text(0), run_hash(database, run_id));
}

std::vector<StoreProblem> checksum_problems(Database& database) {
  std::vector<StoreProblem> problems;
  keep_if_broken(problems, mismatches(database, "run_checksum", "A finished run is as it was when it ended.",
                                      "SELECT checksum, 'run ' || id, id FROM runs WHERE outcome IS NOT NULL",
                                      [&](const Statement& row) { return run_hash(database, row.integer(2)); }));
  keep_if_broken(problems, mismatches(database, "plan_checksum", "A plan is as it was when it was made.",
                                      "SELECT checksum, 'plan ' || id, id FROM plans",
                                      [&](const Statement& row) { return plan_hash(database, row.integer(2)); }));
  keep_if_broken(
      problems,
      mismatches(database, "answer_checksum", "A plan's line is answered by the run that was written there.",
                 "SELECT checksum, 'plan ' || plan_id || ', line ' || position, plan_id, position FROM plan_lines "
                 "WHERE run_id IS NOT NULL OR checksum IS NOT NULL",
                 [&](const Statement& row) { return answer_hash(database, row.integer(2), row.integer(3)); }));
  keep_if_broken(problems, mismatches(database, "baseline_checksum", "A baseline is as it was when it was saved.",
                                      "SELECT checksum, 'baseline ' || name, name FROM baselines",
                                      [&](const Statement& row) { return baseline_hash(database, row.text(2)); }));
  keep_if_broken(problems, total_problem(database));
  return problems;
}

void seal_everything(Database& database, int schema) {
  for (const std::int64_t id : numbers(database, "SELECT id FROM runs WHERE outcome IS NOT NULL"))
    write_checksum(database, kUpdateRun, tagged(schema, run_hash(database, id)), id);
  std::vector<std::pair<std::int64_t, std::int64_t>> answered;
  {
    Statement lines(database, "SELECT plan_id, position FROM plan_lines WHERE run_id IS NOT NULL");
    while (lines.step()) answered.emplace_back(lines.integer(0), lines.integer(1));
  }
  for (const auto& [plan_id, position] : answered) seal_answer(database, plan_id, position, schema);
  for (const std::int64_t id : numbers(database, "SELECT id FROM plans"))
    write_checksum(database, kUpdatePlan, tagged(schema, plan_hash(database, id)), id);
  std::vector<std::string> baselines;
  {
    Statement names(database, "SELECT name FROM baselines");
    while (names.step()) baselines.push_back(names.text(0));
  }
  for (const std::string& name : baselines)
    write_checksum(database, kUpdateBaseline, tagged(schema, baseline_hash(database, name)), name);
  for (const Kind& kind : kKinds) store_total(database, kind, actual_total(database, kind));
}

}  // namespace nanobench::results

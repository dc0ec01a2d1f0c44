#include "results/store.h"

#include <chrono>
#include <cstdlib>

#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "results/checksums.h"
#include "results/open_file.h"
#include "results/plan_rows.h"
#include "results/provenance.h"
#include "results/sqlite.h"

namespace nanobench::results {
namespace {

using core::Error;
using core::ErrorCode;

constexpr const char* kBaselineColumns = "name, suite, plan_id, created_at, reason, revision, is_accepted";

BaselineRecord read_baseline(const Statement& row) {
  return {.name = row.text(0),
          .suite = row.text(1),
          .plan_id = row.integer(2),
          .created_at = row.text(3),
          .reason = row.text(4),
          .revision = row.text(5),
          .is_accepted = row.integer(6) != 0};
}

std::int64_t bytes_of(const std::filesystem::path& file) {
  std::int64_t bytes = 0;
  for (const char* end : {"", "-wal"}) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file.string() + end, error);
    if (!error) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

}  // namespace

Store::Store(const std::filesystem::path& file, OpenMode mode) : file_(file), mode_(mode) {
  switch (mode) {
    case OpenMode::kCreate: database_ = open_for_writing(file); break;
    case OpenMode::kReadOnly: database_ = open_for_reading(file); break;
    case OpenMode::kGlance: database_ = open_for_reading(file, std::chrono::milliseconds(500)); break;
  }
}

Store::~Store() = default;

std::optional<PlanRecord> Store::find_plan(const std::string& digest) const {
  Statement statement(*database_, "SELECT " + plan_columns() +
                                      " FROM plans WHERE digest = ? ORDER BY created_at DESC, id DESC LIMIT 1");
  statement.bind(digest);
  if (!statement.step()) return std::nullopt;
  return read_plan_row(*database_, statement);
}

std::optional<PlanRecord> Store::newest_plan(const std::optional<std::string>& suite) const {
  const std::optional<std::int64_t> id = newest_plan_id(suite);
  return id ? std::optional(plan(*id)) : std::nullopt;
}

std::vector<PlanRecord> Store::plans(const std::optional<std::string>& suite) const {
  Statement statement(*database_,
                      "SELECT " + plan_columns() + " FROM plans " + (suite ? "WHERE suite = ? " : "") + "ORDER BY id");
  if (suite) statement.bind(*suite);
  std::vector<PlanRecord> plans;
  while (statement.step()) plans.push_back(read_plan_row(*database_, statement));
  return plans;
}

PlanRecord Store::plan(std::int64_t id) const {
  Statement statement(*database_, "SELECT " + plan_columns() + " FROM plans WHERE id = ?");
  statement.bind(id);
  if (!statement.step()) {
    throw core::Refusal(ErrorCode::kNotFound, core::Reason::kNoPlan,
                        "database " + file_.string() + " has no plan " + std::to_string(id) + "; " +
                            held_ids(*database_, "plan", file_),
                        std::to_string(id));
  }
  return read_plan_row(*database_, statement);
}

std::int64_t Store::ensure_plan(const NewPlan& plan, bool is_fresh) {
  return ensure_plans({plan}, is_fresh).front();
}

std::vector<std::int64_t> Store::ensure_plans(const std::vector<NewPlan>& plans, bool is_fresh) {
  Transaction transaction(*database_);
  std::vector<std::int64_t> ids;
  for (const NewPlan& plan : plans) {
    const std::optional<PlanRecord> known = is_fresh ? std::nullopt : find_plan(plan.digest);
    ids.push_back(known ? known->id : insert_plan(*database_, plan));
    if (known) note_plan_use(*database_, known->id);
  }
  transaction.commit();
  return ids;
}

void Store::note_use(std::int64_t plan_id) {
  Transaction transaction(*database_);
  note_plan_use(*database_, plan_id);
  transaction.commit();
}

void Store::set_expected_seconds(std::int64_t plan_id, const std::map<std::string, double>& seconds) {
  Transaction transaction(*database_);
  Statement statement(*database_, "INSERT OR REPLACE INTO plan_seconds (plan_id, cell, seconds) VALUES (?, ?, ?)");
  for (const auto& [cell, value] : seconds) {
    statement.bind(plan_id, cell, value);
    statement.execute();
  }
  transaction.commit();
}

std::map<std::string, double> Store::expected_seconds(std::int64_t plan_id) const {
  Statement statement(*database_, "SELECT cell, seconds FROM plan_seconds WHERE plan_id = ?");
  statement.bind(plan_id);
  std::map<std::string, double> seconds;
  while (statement.step()) seconds.emplace(statement.text(0), statement.real(1));
  return seconds;
}

// --- baselines ---

void Store::set_baseline(const std::string& name, std::int64_t plan_id, const BaselineNotes& notes) {
  const PlanRecord plan = this->plan(plan_id);
  Transaction transaction(*database_);
  release_baseline(*database_, name);
  Statement statement(*database_, std::string("INSERT OR REPLACE INTO baselines (") + kBaselineColumns +
                                      ") VALUES (?, ?, ?, ?, ?, ?, ?)");
  statement.bind(name, plan.suite, plan_id, utc_now(), notes.reason, notes.revision,
                 static_cast<std::int64_t>(notes.is_accepted ? 1 : 0));
  statement.execute();
  seal_baseline(*database_, name);
  transaction.commit();
}

std::optional<BaselineRecord> Store::find_baseline(const std::string& name) const {
  Statement statement(*database_, std::string("SELECT ") + kBaselineColumns + " FROM baselines WHERE name = ?");
  statement.bind(name);
  if (!statement.step()) return std::nullopt;
  return read_baseline(statement);
}

std::vector<BaselineRecord> Store::baselines(const std::optional<std::string>& suite) const {
  Statement statement(*database_, std::string("SELECT ") + kBaselineColumns + " FROM baselines " +
                                      (suite ? "WHERE suite = ? " : "") + "ORDER BY created_at, name");
  if (suite) statement.bind(*suite);
  std::vector<BaselineRecord> baselines;
  while (statement.step()) baselines.push_back(read_baseline(statement));
  return baselines;
}

// --- upkeep ---

VacuumResult Store::vacuum() {
  if (const std::optional<RunRecord> run = living_run()) {
    throw core::Refusal(ErrorCode::kConflict, core::Reason::kInUse,
                        "database " + file_.string() + " is in use: process " + std::to_string(run->owner.pid) +
                            " on " + run->owner.host + " is running " + run->cell + " (seed " +
                            std::to_string(run->seed) + "); try again when it has ended",
                        std::to_string(run->owner.pid));
  }
  VacuumResult result;
  result.bytes_before = bytes_of(file_);
  result.summaries_made = complete_summaries();
  database_->execute("PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  result.bytes_after = bytes_of(file_);
  return result;
}

std::filesystem::path default_store_file(const std::optional<std::string>& option,
                                         const std::filesystem::path& source_root) {
  if (option && !option->empty()) return *option;
  if (const char* variable = std::getenv("NANOBENCH_DB"); variable != nullptr && *variable != '\0') return variable;
  return source_root / "results" / "nanobench.db";
}

}  // namespace nanobench::results

#include "results/store.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/base/error.h"
#include "core/base/json.h"
#include "results/open_file.h"
#include "results/plan_json.h"
#include "results/provenance.h"
#include "results/sqlite.h"

namespace nanobench::results {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;

std::vector<PlanLine> read_lines(Database& database, std::int64_t plan_id) {
  Statement statement(
      database, "SELECT position, cell, seed, digest, run_id FROM plan_lines WHERE plan_id = ? ORDER BY position");
  statement.bind(plan_id);
  std::vector<PlanLine> lines;
  while (statement.step()) {
    lines.push_back({statement.integer(0), statement.text(1), static_cast<std::uint64_t>(statement.integer(2)),
                     statement.text(3), statement.optional_integer(4)});
  }
  return lines;
}

constexpr const char* kPlanColumns =
    "SELECT id, digest, suite, title, design, scale, data_name, target, order_seed, cells, messages, argv, created_at, "
    "contrasts, sequential FROM plans ";

PlanRecord read_plan(Database& database, const Statement& row) {
  PlanRecord plan;
  plan.id = row.integer(0);
  plan.digest = row.text(1);
  plan.suite = row.text(2);
  plan.title = row.text(3);
  plan.design = read_design(row.text(4));
  plan.scale = row.text(5);
  plan.data_name = row.text(6);
  plan.target = row.optional_real(7);
  plan.order_seed = static_cast<std::uint64_t>(row.integer(8));
  plan.cells = read_cells(row.text(9));
  plan.messages = read_messages(row.text(10));
  plan.argv = Json::parse(row.text(11)).get<std::vector<std::string>>();
  plan.created_at = row.text(12);
  plan.contrasts = read_contrasts(row.text(13));
  plan.sequential = read_sequential(row.optional_text(14));
  plan.lines = read_lines(database, plan.id);
  return plan;
}

/// The time of day, and of no other plan of this digest: by these two a plan is known when files are merged.
std::string new_plans_time(Database& database, const std::string& digest) {
  Statement taken(database, "SELECT 1 FROM plans WHERE digest = ? AND created_at = ?");
  for (;;) {
    std::string now = utc_now();
    taken.rebind(1, digest, now);
    if (!taken.step()) return now;
    taken.reset();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::int64_t insert_plan(Database& database, const NewPlan& plan) {
  Statement row(database,
                "INSERT INTO plans (digest, suite, title, design, scale, data_name, target, order_seed, cells, "
                "messages, argv, created_at, contrasts, sequential) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  row.bind(plan.digest, plan.suite, plan.title, core::enum_name(plan.design), plan.scale, plan.data_name, plan.target,
           plan.order_seed, text_of(plan.cells), text_of(plan.messages), Json(plan.argv).dump(),
           new_plans_time(database, plan.digest), text_of(plan.contrasts), text_of(plan.sequential));
  row.execute();
  const std::int64_t id = database.last_insert_id();
  Statement line(database,
                 "INSERT INTO plan_lines (plan_id, position, cell, seed, digest, run_id) VALUES (?, ?, ?, ?, ?, ?)");
  for (const PlanLine& item : plan.lines) {
    line.bind(id, item.position, item.cell, item.seed, item.digest, item.run_id);
    line.execute();
  }
  return id;
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
  Statement statement(*database_,
                      std::string(kPlanColumns) + "WHERE digest = ? ORDER BY created_at DESC, id DESC LIMIT 1");
  statement.bind(digest);
  if (!statement.step()) return std::nullopt;
  return read_plan(*database_, statement);
}

std::optional<PlanRecord> Store::newest_plan(const std::optional<std::string>& suite) const {
  Statement statement(*database_, std::string(kPlanColumns) + (suite ? "WHERE suite = ? " : "") +
                                      "ORDER BY created_at DESC, id DESC LIMIT 1");
  if (suite) statement.bind(*suite);
  if (!statement.step()) return std::nullopt;
  return read_plan(*database_, statement);
}

std::vector<PlanRecord> Store::plans(const std::optional<std::string>& suite) const {
  Statement statement(*database_, std::string(kPlanColumns) + (suite ? "WHERE suite = ? " : "") + "ORDER BY id");
  if (suite) statement.bind(*suite);
  std::vector<PlanRecord> plans;
  while (statement.step()) plans.push_back(read_plan(*database_, statement));
  return plans;
}

PlanRecord Store::plan(std::int64_t id) const {
  Statement statement(*database_, std::string(kPlanColumns) + "WHERE id = ?");
  statement.bind(id);
  if (!statement.step()) {
    throw Error(ErrorCode::kNotFound, "database " + file_.string() + " has no plan " + std::to_string(id) +
                                          "; `nanobench list` shows what it has");
  }
  return read_plan(*database_, statement);
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
  }
  transaction.commit();
  return ids;
}

std::filesystem::path default_store_file(const std::optional<std::string>& option,
                                         const std::filesystem::path& source_root) {
  if (option && !option->empty()) return *option;
  if (const char* variable = std::getenv("NANOBENCH_DB"); variable != nullptr && *variable != '\0') return variable;
  return source_root / "results" / "nanobench.db";
}

}  // namespace nanobench::results

#include "results/store.h"

#include <chrono>
#include <cstdlib>

#include "core/base/error.h"
#include "results/open_file.h"
#include "results/plan_rows.h"
#include "results/sqlite.h"

namespace nanobench::results {
namespace {

using core::Error;
using core::ErrorCode;

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
  Statement statement(*database_, "SELECT " + plan_columns() + " FROM plans " + (suite ? "WHERE suite = ? " : "") +
                                      "ORDER BY created_at DESC, id DESC LIMIT 1");
  if (suite) statement.bind(*suite);
  if (!statement.step()) return std::nullopt;
  return read_plan_row(*database_, statement);
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
    throw Error(ErrorCode::kNotFound, "database " + file_.string() + " has no plan " + std::to_string(id) +
                                          "; `nanobench list` shows what it has");
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

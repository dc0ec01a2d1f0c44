// Names for plans that others are compared with.
#include "results/provenance.h"
#include "results/sqlite.h"
#include "results/store.h"

namespace nanobench::results {
namespace {

constexpr const char* kColumns =
    "SELECT name, suite, plan_id, created_at, reason, revision, is_accepted FROM baselines ";

BaselineRecord read_baseline(const Statement& row) {
  return {.name = row.text(0),
          .suite = row.text(1),
          .plan_id = row.integer(2),
          .created_at = row.text(3),
          .reason = row.text(4),
          .revision = row.text(5),
          .is_accepted = row.integer(6) != 0};
}

}  // namespace

void Store::set_baseline(const std::string& name, std::int64_t plan_id, const BaselineNotes& notes) {
  const PlanRecord plan = this->plan(plan_id);
  Transaction transaction(*database_);
  Statement statement(
      *database_,
      "INSERT INTO baselines (name, suite, plan_id, created_at, reason, revision, is_accepted) VALUES (?, ?, ?, ?, ?, "
      "?, "
      "?) ON CONFLICT (name) DO UPDATE SET suite = excluded.suite, plan_id = excluded.plan_id, created_at = "
      "excluded.created_at, reason = excluded.reason, revision = excluded.revision, is_accepted = "
      "excluded.is_accepted");
  statement.bind(name, plan.suite, plan_id, utc_now(), notes.reason, notes.revision,
                 static_cast<std::int64_t>(notes.is_accepted ? 1 : 0));
  statement.execute();
  transaction.commit();
}

std::optional<BaselineRecord> Store::find_baseline(const std::string& name) const {
  Statement statement(*database_, std::string(kColumns) + "WHERE name = ?");
  statement.bind(name);
  if (!statement.step()) return std::nullopt;
  return read_baseline(statement);
}

std::vector<BaselineRecord> Store::baselines(const std::optional<std::string>& suite) const {
  Statement statement(*database_,
                      std::string(kColumns) + (suite ? "WHERE suite = ? " : "") + "ORDER BY created_at, name");
  if (suite) statement.bind(*suite);
  std::vector<BaselineRecord> baselines;
  while (statement.step()) baselines.push_back(read_baseline(statement));
  return baselines;
}

}  // namespace nanobench::results

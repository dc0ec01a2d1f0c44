#include "results/plan_rows.h"

#include <chrono>
#include <thread>

#include "core/base/json.h"
#include "results/plan_json.h"
#include "results/provenance.h"

namespace nanobench::results {
namespace {

using core::Json;

/// The one list of the columns of `plans`. Visitor requirement: column(name, member).
template <class Visitor, class Plan>
void visit_plan(Visitor& v, Plan& plan) {
  v.column("digest", plan.digest);
  v.column("suite", plan.suite);
  v.column("title", plan.title);
  v.column("design", plan.design);
  v.column("scale", plan.scale);
  v.column("data_name", plan.data_name);
  v.column("target", plan.target);
  v.column("order_seed", plan.order_seed);
  v.column("cells", plan.cells);
  v.column("messages", plan.messages);
  v.column("argv", plan.argv);
  v.column("created_at", plan.created_at);
  v.column("contrasts", plan.contrasts);
  v.column("sequential", plan.sequential);
}

struct NameList {
  template <class Value>
  void column(const char* name, const Value&) {
    names.emplace_back(name);
  }
  std::vector<std::string> names;
};

const std::vector<std::string>& names() {
  static const std::vector<std::string> all = [] {
    NameList list;
    const PlanRecord plan;
    visit_plan(list, plan);
    return list.names;
  }();
  return all;
}

struct Binder {
  void column(const char*, const std::string& member) { statement.bind(member); }
  void column(const char*, const std::optional<double>& member) { statement.bind(member); }
  void column(const char*, std::uint64_t member) { statement.bind(member); }
  void column(const char*, const std::vector<std::string>& member) { statement.bind(Json(member).dump()); }
  void column(const char*, Design member) { statement.bind(enum_name(member)); }
  void column(const char*, const std::vector<PlanCell>& member) { statement.bind(text_of(member)); }
  void column(const char*, const std::vector<PlanContrast>& member) { statement.bind(text_of(member)); }
  void column(const char*, const std::vector<core::Message>& member) { statement.bind(text_of(member)); }
  void column(const char*, const std::optional<SequentialLook>& member) { statement.bind(text_of(member)); }
  Statement& statement;
};

struct RowReader {
  void column(const char*, std::string& member) { member = row.text(next++); }
  void column(const char*, std::optional<double>& member) { member = row.optional_real(next++); }
  void column(const char*, std::uint64_t& member) { member = static_cast<std::uint64_t>(row.integer(next++)); }
  void column(const char*, std::vector<std::string>& member) {
    member = Json::parse(row.text(next++)).get<std::vector<std::string>>();
  }
  void column(const char*, Design& member) { member = read_design(row.text(next++)); }
  void column(const char*, std::vector<core::Message>& member) { member = read_messages(row.text(next++)); }
  void column(const char*, std::vector<PlanCell>& member) { member = read_cells(row.text(next++)); }
  void column(const char*, std::vector<PlanContrast>& member) { member = read_contrasts(row.text(next++)); }
  void column(const char*, std::optional<SequentialLook>& member) {
    member = read_sequential(row.optional_text(next++));
  }
  const Statement& row;
  int next = 0;
};

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

}  // namespace

std::string plan_columns() {
  return "id, " + joined(names());
}

PlanRecord read_plan_row(Database& database, const Statement& row) {
  PlanRecord plan;
  plan.id = row.integer(0);
  RowReader reader{.row = row, .next = 1};
  visit_plan(reader, plan);
  plan.lines = read_lines(database, plan.id);
  return plan;
}

std::int64_t insert_plan(Database& database, const NewPlan& plan) {
  PlanRecord record{plan};
  record.created_at = new_plans_time(database, plan.digest);
  Statement row(database, "INSERT INTO plans (" + joined(names()) + ") VALUES (" +
                              joined(std::vector<std::string>(names().size(), "?")) + ")");
  Binder binder{row};
  visit_plan(binder, record);
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

void update_identities(Database& database, const PlanRecord& plan) {
  Statement row(database, "UPDATE plans SET digest = ?, cells = ? WHERE id = ?");
  row.bind(plan.digest, text_of(plan.cells), plan.id);
  row.execute();
  Statement line(database, "UPDATE plan_lines SET digest = ? WHERE plan_id = ? AND position = ?");
  for (const PlanLine& item : plan.lines) {
    line.bind(item.digest, plan.id, item.position);
    line.execute();
  }
}

}  // namespace nanobench::results

#include "results/plan_rows.h"

#include <chrono>
#include <thread>

#include "core/base/json.h"
#include "results/provenance.h"

namespace nanobench::results {
namespace {

using core::Json;

Json to_json(const std::vector<PlanCell>& cells) {
  Json list = Json::array();
  for (const PlanCell& cell : cells) {
    list.push_back({{"label", cell.label},
                    {"record", cell.record ? Json(*cell.record) : Json(nullptr)},
                    {"changed", cell.changed},
                    {"features", cell.features},
                    {"config_digest", cell.config_digest}});
  }
  return list;
}

std::vector<PlanCell> read_cells(const std::string& text) {
  std::vector<PlanCell> cells;
  for (const Json& item : Json::parse(text)) {
    PlanCell cell;
    cell.label = item.at("label").get<std::string>();
    if (!item.at("record").is_null()) cell.record = item.at("record").get<std::string>();
    cell.changed = item.at("changed").get<std::string>();
    cell.features = item.at("features").get<std::map<std::string, std::string>>();
    cell.config_digest = item.at("config_digest").get<std::string>();
    cells.push_back(std::move(cell));
  }
  return cells;
}

Json to_json(const std::vector<PlanContrast>& contrasts) {
  Json list = Json::array();
  for (const PlanContrast& contrast : contrasts) {
    list.push_back({{"effect", contrast.effect},
                    {"kind", contrast.kind},
                    {"meaning", contrast.meaning},
                    {"coefficients", contrast.coefficients},
                    {"aliases", contrast.aliases}});
  }
  return list;
}

std::vector<PlanContrast> read_contrasts(const std::string& text) {
  std::vector<PlanContrast> contrasts;
  for (const Json& item : Json::parse(text)) {
    contrasts.push_back({.effect = item.at("effect").get<std::string>(),
                         .kind = item.at("kind").get<std::string>(),
                         .meaning = item.at("meaning").get<std::string>(),
                         .coefficients = item.at("coefficients").get<std::map<std::string, double>>(),
                         .aliases = item.at("aliases").get<std::vector<std::string>>()});
  }
  return contrasts;
}

std::optional<std::string> to_text(const std::optional<SequentialLook>& look) {
  if (!look) return std::nullopt;
  return Json{{"alpha", look->alpha}, {"family", look->family}, {"first", look->first},
              {"most", look->most},   {"step", look->step},     {"look", look->look}}
      .dump();
}

std::optional<SequentialLook> read_sequential(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const Json json = Json::parse(*text);
  return SequentialLook{.alpha = json.at("alpha").get<double>(),
                        .family = json.at("family").get<int>(),
                        .first = json.at("first").get<int>(),
                        .most = json.at("most").get<int>(),
                        .step = json.at("step").get<int>(),
                        .look = json.at("look").get<int>()};
}

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
  void column(const char*, const std::vector<PlanCell>& member) { statement.bind(to_json(member).dump()); }
  void column(const char*, const std::vector<PlanContrast>& member) { statement.bind(to_json(member).dump()); }
  void column(const char*, const std::optional<SequentialLook>& member) { statement.bind(to_text(member)); }
  Statement& statement;
};

struct RowReader {
  void column(const char*, std::string& member) { member = row.text(next++); }
  void column(const char*, std::optional<double>& member) { member = row.optional_real(next++); }
  void column(const char*, std::uint64_t& member) { member = static_cast<std::uint64_t>(row.integer(next++)); }
  void column(const char*, std::vector<std::string>& member) {
    member = Json::parse(row.text(next++)).get<std::vector<std::string>>();
  }
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
  row.bind(plan.digest, to_json(plan.cells).dump(), plan.id);
  row.execute();
  Statement line(database, "UPDATE plan_lines SET digest = ? WHERE plan_id = ? AND position = ?");
  for (const PlanLine& item : plan.lines) {
    line.bind(item.digest, plan.id, item.position);
    line.execute();
  }
}

}  // namespace nanobench::results

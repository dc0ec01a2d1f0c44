#include "results/plan_rows.h"

#include <chrono>
#include <thread>

#include "core/base/json.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"
#include "results/checksums.h"
#include "results/provenance.h"

namespace nanobench::results {

namespace {

using core::Json;
using core::Message;
using core::MessageKind;

Json parsed(const std::string& text) {
  return core::parse_json(text, "stored plan");
}

template <class Enum>
Enum known(const std::string& text, const char* what) {
  if (const std::optional<Enum> value = enum_value<Enum>(text)) return *value;
  throw core::Refusal(core::ErrorCode::kUnavailable, core::Reason::kUnknownName,
                      "a stored plan has the " + std::string(what) + " \"" + text + "\", and this version knows only " +
                          listed(enum_names<Enum>()) + "; use the version that stored it, or a newer one",
                      text);
}

Json to_json(const ContrastFactor& factor) {
  return {{"name", factor.name}, {"setting", factor.setting}, {"from", factor.from}, {"to", factor.to}};
}

/// Reads "a x b=2", the older form of interaction names: the factors, without levels, which were not stored.
std::vector<ContrastFactor> factors_of_name(const std::string& effect, ContrastKind kind) {
  constexpr std::string_view kTimes = " x ";
  std::vector<ContrastFactor> factors;
  std::string rest = effect;
  while (true) {
    const std::size_t at = kind == ContrastKind::kInteraction ? rest.find(kTimes) : std::string::npos;
    const std::string name = rest.substr(0, at);
    factors.push_back({.name = name, .setting = name.substr(0, name.find('=')), .from = "", .to = ""});
    if (at == std::string::npos) return factors;
    rest.erase(0, at + kTimes.size());
  }
}

std::vector<ContrastFactor> read_factors(const Json& contrast, const std::string& effect, ContrastKind kind) {
  if (!contrast.contains("factors")) return factors_of_name(effect, kind);
  std::vector<ContrastFactor> factors;
  for (const Json& item : contrast.at("factors")) {
    factors.push_back({.name = item.at("name").get<std::string>(),
                       .setting = item.at("setting").get<std::string>(),
                       .from = item.at("from").get<std::string>(),
                       .to = item.at("to").get<std::string>()});
  }
  return factors;
}

/// Older versions stored only sentences; those about a claim began with its name.
Message message_of(const std::string& sentence) {
  constexpr std::string_view kClaim = "claim ";
  const std::size_t end = sentence.find(": ");
  if (sentence.starts_with(kClaim) && end != std::string::npos)
    return {MessageKind::kNotMeasurable, sentence.substr(kClaim.size(), end - kClaim.size()), sentence};
  return {MessageKind::kNote, "", sentence};
}

/// The opposite of changes_text.
std::vector<std::string> read_changes(const std::string& text) {
  constexpr std::string_view kSeparator = "; ";
  std::vector<std::string> changes;
  if (text.empty()) return changes;
  std::size_t start = 0;
  for (std::size_t end = 0; (end = text.find(kSeparator, start)) != std::string::npos; start = end + kSeparator.size())
    changes.push_back(text.substr(start, end - start));
  changes.push_back(text.substr(start));
  return changes;
}

}  // namespace

std::string text_of(const std::vector<PlanCell>& cells) {
  Json list = Json::array();
  for (const PlanCell& cell : cells) {
    list.push_back({{"label", cell.label},
                    {"record", cell.record ? Json(*cell.record) : Json(nullptr)},
                    {"changed", changes_text(cell.changes)},
                    {"features", cell.features},
                    {"config_digest", cell.config_digest}});
  }
  return list.dump();
}

std::string text_of(const std::vector<PlanContrast>& contrasts) {
  Json list = Json::array();
  for (const PlanContrast& contrast : contrasts) {
    Json& item = list.emplace_back(Json{{"effect", contrast.effect},
                                        {"kind", enum_name(contrast.kind)},
                                        {"factors", Json::array()},
                                        {"meaning", contrast.meaning},
                                        {"coefficients", contrast.coefficients},
                                        {"aliases", contrast.aliases}});
    for (const ContrastFactor& factor : contrast.factors) item["factors"].push_back(to_json(factor));
  }
  return list.dump();
}

std::string text_of(const std::vector<Message>& messages) {
  Json list = Json::array();
  for (const Message& message : messages)
    list.push_back({{"kind", enum_name(message.kind)}, {"subject", message.subject}, {"text", message.text}});
  return list.dump();
}

std::optional<std::string> text_of(const std::optional<SequentialLook>& look) {
  if (!look) return std::nullopt;
  Json json = {{"alpha", look->alpha}, {"family", look->family}, {"first", look->first},
               {"most", look->most},   {"step", look->step},     {"look", look->look}};
  if (look->spending_power != 0.0) json["spending_power"] = look->spending_power;
  return json.dump();
}

Design read_design(const std::string& text) {
  return known<Design>(text, "design");
}

std::vector<PlanCell> read_cells(const std::string& text) {
  std::vector<PlanCell> cells;
  for (const Json& item : parsed(text)) {
    PlanCell cell;
    cell.label = item.at("label").get<std::string>();
    if (!item.at("record").is_null()) cell.record = item.at("record").get<std::string>();
    cell.changes = read_changes(item.at("changed").get<std::string>());
    cell.features = item.at("features").get<std::map<std::string, std::string>>();
    cell.config_digest = item.at("config_digest").get<std::string>();
    cells.push_back(std::move(cell));
  }
  return cells;
}

std::vector<PlanContrast> read_contrasts(const std::string& text) {
  std::vector<PlanContrast> contrasts;
  for (const Json& item : parsed(text)) {
    PlanContrast& contrast = contrasts.emplace_back();
    contrast.effect = item.at("effect").get<std::string>();
    contrast.kind = known<ContrastKind>(item.at("kind").get<std::string>(), "kind of contrast");
    contrast.factors = read_factors(item, contrast.effect, contrast.kind);
    contrast.meaning = item.at("meaning").get<std::string>();
    contrast.coefficients = item.at("coefficients").get<std::map<std::string, double>>();
    contrast.aliases = item.at("aliases").get<std::vector<std::string>>();
  }
  return contrasts;
}

std::vector<Message> read_messages(const std::string& text) {
  std::vector<Message> messages;
  for (const Json& item : parsed(text)) {
    if (item.is_string()) {
      messages.push_back(message_of(item.get<std::string>()));
      continue;
    }
    // A kind that only a newer version knows becomes a note: its text contains everything to show.
    const auto kind = enum_value<MessageKind>(item.at("kind").get<std::string>());
    messages.push_back(
        {kind.value_or(MessageKind::kNote), item.at("subject").get<std::string>(), item.at("text").get<std::string>()});
  }
  return messages;
}

std::optional<SequentialLook> read_sequential(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const Json json = parsed(*text);
  return SequentialLook{.alpha = json.at("alpha").get<double>(),
                        .family = json.at("family").get<int>(),
                        .first = json.at("first").get<int>(),
                        .most = json.at("most").get<int>(),
                        .step = json.at("step").get<int>(),
                        .look = json.at("look").get<int>(),
                        .spending_power = json.value("spending_power", 0.0)};
}

namespace {

using core::Json;

/// The single list of the columns of `plans`. Visitor requirement: column(name, member).
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

struct PlanNameList {
  template <class Value>
  void column(const char* name, const Value&) {
    names.emplace_back(name);
  }
  std::vector<std::string> names;
};

const std::vector<std::string>& plan_names() {
  static const std::vector<std::string> all = [] {
    PlanNameList list;
    const PlanRecord plan;
    visit_plan(list, plan);
    return list.names;
  }();
  return all;
}

struct PlanBinder {
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

struct PlanRowReader {
  void column(const char*, std::string& member) { member = row.text(next++); }
  void column(const char*, std::optional<double>& member) { member = row.optional_real(next++); }
  void column(const char*, std::uint64_t& member) { member = static_cast<std::uint64_t>(row.integer(next++)); }
  void column(const char*, std::vector<std::string>& member) {
    member = parsed(row.text(next++)).get<std::vector<std::string>>();
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

/// The current time, made unique among the plans of this digest: the two identify a plan when files are merged.
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
  return "id, " + joined(plan_names());
}

PlanRecord read_plan_row(Database& database, const Statement& row) {
  PlanRecord plan;
  plan.id = row.integer(0);
  const auto refuse = [&](const std::string& why) {
    const std::string id = std::to_string(plan.id);
    throw core::Refusal(core::ErrorCode::kDataLoss, core::Reason::kDamaged,
                        "database " + database.file().string() + ": plan " + id + " is not as nanobench wrote it (" +
                            why + "); `nanobench db check` lists what is wrong",
                        id);
  };
  PlanRowReader reader{.row = row, .next = 1};
  try {
    visit_plan(reader, plan);
  } catch (const Json::exception& error) {
    refuse(error.what());
  } catch (const core::Error& error) {
    if (error.code() != core::ErrorCode::kInvalidArgument) throw;
    refuse(error.what());
  }
  plan.lines = read_lines(database, plan.id);
  return plan;
}

std::int64_t insert_plan(Database& database, const NewPlan& plan) {
  PlanRecord record{plan};
  record.created_at = new_plans_time(database, plan.digest);
  Statement row(database, "INSERT INTO plans (" + joined(plan_names()) + ") VALUES (" +
                              joined(std::vector<std::string>(plan_names().size(), "?")) + ")");
  PlanBinder binder{row};
  visit_plan(binder, record);
  row.execute();
  const std::int64_t id = database.last_insert_id();
  Statement line(database, "INSERT INTO plan_lines (plan_id, position, cell, seed, digest) VALUES (?, ?, ?, ?, ?)");
  for (const PlanLine& item : plan.lines) {
    line.bind(id, item.position, item.cell, item.seed, item.digest);
    line.execute();
    if (item.run_id) answer_plan_line(database, id, item.position, *item.run_id);
  }
  seal_plan(database, id);
  return id;
}

void note_plan_use(Database& database, std::int64_t plan_id) {
  Statement statement(database, "INSERT OR REPLACE INTO plan_uses (plan_id, used_at) VALUES (?, ?)");
  statement.bind(plan_id, utc_now());
  statement.execute();
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

std::string held_ids(Database& database, const std::string& kind, const std::filesystem::path& file) {
  Statement row(database, "SELECT min(id), max(id) FROM " + kind + "s");
  row.step();
  const std::optional<std::int64_t> first = row.optional_integer(0), last = row.optional_integer(1);
  if (!first || !last) return "it holds none yet; `nanobench run SUITE` makes some";
  const std::string ids =
      *first == *last ? " " + std::to_string(*first) : "s " + std::to_string(*first) + " to " + std::to_string(*last);
  return "it holds " + kind + ids + " (`nanobench list " + kind + "s " + shell_words({"--db", file.string()}) + "`)";
}

}  // namespace nanobench::results

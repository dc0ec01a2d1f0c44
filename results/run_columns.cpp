#include "results/run_columns.h"

#include <vector>

#include "results/checksums.h"

namespace nanobench::results {
namespace {

template <class Value>
auto stored(const Value& value) {
  if constexpr (NamedEnum<Value>) {
    return enum_name(value);
  } else {
    return value;
  }
}
std::optional<std::string> stored(const std::optional<core::DeviceChoice>& device) {
  return device ? std::optional(to_string(*device)) : std::nullopt;
}

struct NameList {
  template <class Value>
  void column(const char* name, const Value&) {
    names.emplace_back(name);
  }
  template <class Value>
  void result(const char* name, const std::optional<RunResult>&, Value RunResult::*) {
    names.emplace_back(name);
  }
  std::vector<std::string> names;
};

/// Binds one parameter for each column except the id.
struct Binder {
  template <class Value>
  void column(const char* name, const Value& member) {
    if (name != std::string_view("id")) statement.bind(stored(member));
  }
  template <class Value>
  void result(const char*, const std::optional<RunResult>& result, Value RunResult::*member) {
    if (result) {
      statement.bind(stored(*result.*member));
    } else {
      statement.bind(std::optional<std::string>());
    }
  }
  Statement& statement;
};

/// Only the columns of the result: "outcome = ?, ..." and their values.
struct ResultUpdate {
  template <class Value>
  void column(const char*, const Value&) {}
  template <class Value>
  void result(const char* name, const std::optional<RunResult>& result, Value RunResult::*member) {
    if (statement == nullptr) {
      assignments.push_back(std::string(name) + " = ?");
    } else {
      statement->bind(stored(*result.*member));
    }
  }
  Statement* statement = nullptr;
  std::vector<std::string> assignments;
};

class RowReader {
 public:
  explicit RowReader(const Statement& row) : row_(row) {}

  template <class Value>
  void column(const char*, Value& member) {
    read(member);
  }
  /// The outcome comes first: without one there is no result.
  template <class Value>
  void result(const char*, std::optional<RunResult>& result, Value RunResult::*member) {
    if constexpr (std::is_same_v<Value, core::RunOutcome>) {
      if (row_.optional_text(next_)) result.emplace();
    }
    if (result) {
      read(*result.*member);
    } else {
      ++next_;
    }
  }

 private:
  void read(std::string& member) { member = row_.text(next_++); }
  void read(int& member) { member = static_cast<int>(row_.integer(next_++)); }
  void read(std::int64_t& member) { member = row_.integer(next_++); }
  void read(std::uint64_t& member) { member = static_cast<std::uint64_t>(row_.integer(next_++)); }
  void read(std::optional<std::string>& member) { member = row_.optional_text(next_++); }
  void read(std::optional<std::int64_t>& member) { member = row_.optional_integer(next_++); }
  void read(std::optional<double>& member) { member = row_.optional_real(next_++); }
  void read(core::RunOutcome& member) {
    member = enum_value<core::RunOutcome>(row_.text(next_++)).value_or(core::RunOutcome::kCrashed);
  }
  void read(core::KernelChoice& member) {
    member = enum_value<core::KernelChoice>(row_.text(next_++)).value_or(core::KernelChoice::kFused);
  }
  void read(std::optional<core::DeviceChoice>& member) {
    const std::optional<std::string> text = row_.optional_text(next_++);
    member = text ? core::device_choice(*text) : std::nullopt;
  }

  const Statement& row_;
  int next_ = 0;
};

template <class Visitor, class Run>
void visit_run(Visitor& visitor, Run& run) {
  visit_run_figures(visitor, run);
  visit_run_origin(visitor, run);
}

const std::vector<std::string>& names() {
  static const std::vector<std::string> all = [] {
    NameList list;
    const RunRecord run;
    visit_run(list, run);
    return list.names;
  }();
  return all;
}

}  // namespace

std::string run_columns() {
  return joined(names());
}

RunRecord read_run_row(const Statement& row) {
  RunRecord run;
  RowReader reader(row);
  visit_run(reader, run);
  return run;
}

std::int64_t insert_run_row(Database& database, const RunRecord& run) {
  const std::vector<std::string> columns(names().begin() + 1, names().end());  // all but the id
  Statement statement(database, "INSERT INTO runs (" + joined(columns) + ") VALUES (" +
                                    joined(std::vector<std::string>(columns.size(), "?")) + ")");
  Binder binder{statement};
  visit_run(binder, run);
  statement.execute();
  return database.last_insert_id();
}

bool write_result(Database& database, std::int64_t run_id, const RunResult& result, const std::string& finished_at) {
  RunRecord run;
  run.result = result;
  ResultUpdate update;
  visit_run_figures(update, run);
  Statement statement(database, "UPDATE runs SET " + joined(update.assignments) +
                                    ", finished_at = max(?, started_at) WHERE id = ? AND outcome IS NULL");
  update.statement = &statement;
  visit_run_figures(update, run);
  statement.bind(finished_at, run_id);
  statement.execute();
  if (sqlite3_changes(database.handle()) != 1) return false;
  seal_run(database, run_id);
  return true;
}

}  // namespace nanobench::results

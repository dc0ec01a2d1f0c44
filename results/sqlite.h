/// Small RAII wrappers over the SQLite C API: a database, a statement, a transaction. Every failure becomes one Error
/// that names the file and suggests a remedy. Not thread-safe: one Database per thread.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace nanobench::results {

class Database;

struct Finalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using StatementHandle = std::unique_ptr<sqlite3_stmt, Finalizer>;

/// A prepared statement. Bind with bind(), read with the column getters after step() returned true. The database keeps
/// it prepared for the next statement with the same text, because preparing costs more than looking up a row.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Binds the next parameters, left to right.
  template <class... Values>
  Statement& bind(const Values&... values) {
    (bind_at(++bound_, values), ...);
    return *this;
  }
  /// Binds the parameters from `first` on (counted from 1); the others keep their values.
  template <class... Values>
  void rebind(int first, const Values&... values) {
    bound_ = first - 1;
    bind(values...);
  }
  /// Returns true while there is a row.
  bool step();
  /// Runs to the end and resets the statement for new bindings.
  void execute();
  void reset();

  std::int64_t integer(int column) const;
  double real(int column) const;  ///< NaN for NULL
  std::string text(int column) const;
  std::optional<std::int64_t> optional_integer(int column) const;
  std::optional<double> optional_real(int column) const;
  std::optional<std::string> optional_text(int column) const;

  int columns() const;
  std::string name(int column) const;
  /// The type and the value as bytes, so that different values have different bytes; empty for NULL.
  std::string bytes(int column) const;

 private:
  void bind_at(int index, std::int64_t value);
  void bind_at(int index, int value) { bind_at(index, static_cast<std::int64_t>(value)); }
  void bind_at(int index, std::uint64_t value) { bind_at(index, static_cast<std::int64_t>(value)); }
  void bind_at(int index, double value);
  void bind_at(int index, const std::string& value);
  void bind_at(int index, const char* value) { bind_at(index, std::string(value)); }
  template <class Value>
  void bind_at(int index, const std::optional<Value>& value) {
    if (value)
      bind_at(index, *value);
    else
      bind_null(index);
  }
  void bind_null(int index);
  bool is_null(int column) const;
  void check(int code) const;

  Database* database_;
  StatementHandle handle_;
  int bound_ = 0;
};

/// An open SQLite file, which may come from anybody: views and triggers do nothing, functions in its schema are those
/// without side effects, and a statement that takes more steps than a file of this size can need ends with
/// Error{kDataLoss}.
class Database {
 public:
  /// `flags` as for sqlite3_open_v2; `uri` may differ from the file's path (immutable=1). Throws Error{kIo}.
  Database(const std::filesystem::path& file, const std::string& uri, int flags);

  /// Runs statements whose results are not needed.
  void execute(const char* sql);
  std::int64_t integer_of(const char* sql);
  std::string text_of(const char* sql);

  std::int64_t last_insert_id() const { return sqlite3_last_insert_rowid(handle_.get()); }
  sqlite3* handle() const { return handle_.get(); }
  const std::filesystem::path& file() const { return file_; }

  /// How long to wait for a lock held by another process: a minute, unless a test sets less.
  void set_patience(std::chrono::milliseconds patience) { waiting_->patience = patience; }

  /// Whether the file at this path is no longer the one that was opened.
  bool has_moved() const;
  /// Writes all that was committed to a file beside the one that was removed or replaced, or into the folder for
  /// temporary files if that fails, and removes the log of transactions that it has left beside another file. Throws
  /// Error{kIncomplete}, which says where it is.
  [[noreturn]] void rescue();

  /// To be called when the file's tables are known to be ours: from then on, a statement that SQLite does not
  /// understand is a bug; before, the file is damaged.
  void set_known() { is_known_ = true; }

  /// Throws the Error for a result code of this database.
  [[noreturn]] void fail(int code, const std::string& doing) const;

 private:
  void remove_own_log();
  friend class Statement;
  StatementHandle take(std::string_view sql);
  void keep(StatementHandle statement) noexcept;

  struct Waiting {
    std::chrono::steady_clock::time_point since;
    std::chrono::milliseconds patience{60'000};
  };
  static int wait_a_moment(void* waiting, int attempt);
  static int count_work(void* work);
  void harden();
  struct Closer {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  std::filesystem::path file_;
  bool is_known_ = false;
  /// How much a statement has done, in units of kWorkUnit.
  struct Work {
    std::filesystem::path file;
    std::int64_t done = 0;
    std::int64_t limit = 0;
    void set_limit();
  };
  std::unique_ptr<Waiting> waiting_;  ///< the busy handler's
  std::unique_ptr<Work> work_;        ///< the progress handler's
  std::unique_ptr<sqlite3, Closer> handle_;
  std::multimap<std::string, StatementHandle, std::less<>> kept_;  ///< statements not in use, by text
};

/// BEGIN IMMEDIATE now; ROLLBACK unless committed. Waits for its turn: SQLite's lock is not a queue, so one of many
/// writers may be passed over for a long time. It keeps trying while others make progress.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  /// Throws Error{kIncomplete}, after Database::rescue(), if the file was removed or replaced.
  void commit();

 private:
  Database& database_;
  bool is_open_ = true;
};

}  // namespace nanobench::results

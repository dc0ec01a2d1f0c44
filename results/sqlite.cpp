#include "results/sqlite.h"

#include <unistd.h>

#include <chrono>
#include <limits>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/process/resource_limits.h"

namespace nanobench::results {
namespace {

using core::Error;
using core::ErrorCode;
using core::Reason;

constexpr int kMaxTurns = 10;  // each as long as the patience, while other processes write
constexpr std::size_t kMaxKeptStatements = 64;
constexpr int kMaxValueBytes = 256 * 1024 * 1024;  // of one text or row
// A statement's work is counted in units of so many of SQLite's instructions. A report reads each sample a few times,
// at ten to fifty instructions; a sample has 10 bytes or more. Small files still get a second.
constexpr int kWorkUnit = 100'000;
constexpr std::int64_t kMinLimit = 1'000;
constexpr std::int64_t kBytesPerUnit = 100;

void sleep_for_random_ms(int least, int most) {
  static thread_local std::minstd_rand random(std::random_device{}());
  std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution<int>(least, most)(random)));
}

struct Explanation {
  ErrorCode code;
  Reason reason;
  std::string text;
};

Explanation explain(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return {ErrorCode::kIo, Reason::kDiskFull, "the disk is full; free some space and run the same command again"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return {ErrorCode::kIo, Reason::kReadOnly,
              "it cannot be written; check the permissions of the file and its folder"};
    case SQLITE_CANTOPEN:
      return {ErrorCode::kIo, Reason::kUnreadable,
              "it cannot be opened; check the path and the permissions of the file and its folder"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::kIo, Reason::kInUse,
              "another process has held it locked all the time; stop that process or try again later"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {ErrorCode::kDataLoss, Reason::kDamaged,
              "the file is damaged or not a database; move it away, or restore a copy, and run again"};
    case SQLITE_INTERRUPT:
      return {ErrorCode::kDataLoss, Reason::kEndless,
              "reading it takes far more work than a file of its size needs, so it is damaged or made to do harm"};
    case SQLITE_TOOBIG:
      return {ErrorCode::kDataLoss, Reason::kTooLarge, "it has a value that is larger than any nanobench writes"};
    case SQLITE_CONSTRAINT:
      return {ErrorCode::kConflict, Reason::kRepeated, "what is stored there is never overwritten"};
    case SQLITE_IOERR:
      return {ErrorCode::kIo, Reason::kSystem,
              "the file system reports an error; check the disk and run the same command again"};
    case SQLITE_NOMEM:
      return {ErrorCode::kIo, Reason::kNoMemory, "there is no memory left; close other programs and run again"};
    default: return {ErrorCode::kInternal, Reason::kNone, "this is a bug"};
  }
}

/// Whether one of the store's files cannot grow by one more transaction. SQLite does not tell such an error from
/// others.
bool is_at_size_limit(const std::filesystem::path& file) {
  constexpr std::uintmax_t kRoom = std::uintmax_t{1} << 18;
  const std::optional<std::uint64_t> limit = core::max_file_bytes();
  if (!limit) return false;
  for (const char* const ending : {"", "-wal", "-shm"}) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file.string() + ending, error);
    if (!error && size + kRoom > *limit) return true;
  }
  return false;
}

}  // namespace

/// Called by SQLite while the lock is taken. Gives old and new waiters equal chances: SQLite's own handler sleeps
/// longer and longer, so the longest waiters are passed over most. Returns 0 to give up.
int Database::wait_a_moment(void* waiting, int attempt) {
  using Clock = std::chrono::steady_clock;
  auto& wait = *static_cast<Waiting*>(waiting);
  if (attempt == 0) wait.since = Clock::now();
  if (Clock::now() - wait.since >= wait.patience) return 0;
  sleep_for_random_ms(1, attempt < 10 ? 4 : 16);
  return 1;
}

Database::Database(const std::filesystem::path& file, const std::string& uri, int flags)
    : file_(file), waiting_(std::make_unique<Waiting>()), work_(std::make_unique<Work>(Work{.file = file})) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(uri.c_str(), &handle, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) fail(code, "open");
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_handler(handle, wait_a_moment, waiting_.get());
  sqlite3_progress_handler(handle, kWorkUnit, count_work, work_.get());
  harden();
}

void Database::harden() {
  sqlite3* const handle = handle_.get();
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
}

void Database::Work::set_limit() {
  std::int64_t bytes = 0;
  for (const char* end : {"", "-wal"}) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file.string() + end, error);
    if (!error) bytes += static_cast<std::int64_t>(size);
  }
  limit = kMinLimit + bytes / kBytesPerUnit;
}

/// Called by SQLite after each unit of work. Returns 1 to give up.
int Database::count_work(void* work) {
  auto& so_far = *static_cast<Work*>(work);
  if (++so_far.done <= so_far.limit) return 0;
  so_far.set_limit();  // the file may have grown
  return so_far.done > so_far.limit ? 1 : 0;
}

bool Database::has_moved() const {
  int has_moved = 0;
  const int code = sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
  return code == SQLITE_OK && has_moved != 0;
}

void Database::rescue() {
  const std::string name = file_.stem().string() + ".rescued-" + std::to_string(getpid()) + ".db";
  const std::string gone = "database " + file_.string() + " was removed or replaced while it was in use";
  std::string why;
  std::vector<std::filesystem::path> folders = {std::filesystem::absolute(file_).parent_path()};
  std::error_code has_none;
  if (std::filesystem::path temporary = std::filesystem::temp_directory_path(has_none); !has_none)
    folders.push_back(std::move(temporary));
  for (const std::filesystem::path& folder : folders) {
    const std::filesystem::path to = folder / name;
    std::error_code ignored;
    std::filesystem::remove(to, ignored);  // ours, of the commit before
    try {
      Statement copy(*this, "VACUUM INTO ?");
      copy.bind(to.string());
      copy.execute();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kInternal) throw;
      why = error.what();
      continue;
    }
    remove_own_log();
    throw core::Refusal(
        ErrorCode::kIncomplete, Reason::kMoved,
        gone + "; all that was stored is in " + to.string() + ", which `nanobench db merge` puts into another",
        to.string());
  }
  throw core::Refusal(ErrorCode::kIncomplete, Reason::kMoved,
                      gone + ", and what was stored could not be saved: " + why);
}

/// SQLite finds a log by its name, and would apply this one to the file that has taken the database's place. A log of
/// another process under that name stays.
void Database::remove_own_log() {
  sqlite3_file* log = nullptr;
  if (sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK) return;
  if (log == nullptr || log->pMethods == nullptr) return;
  int has_moved = 0;
  if (log->pMethods->xFileControl(log, SQLITE_FCNTL_HAS_MOVED, &has_moved) != SQLITE_OK || has_moved != 0) return;
  std::error_code ignored;
  for (const char* end : {"-wal", "-shm"}) std::filesystem::remove(file_.string() + end, ignored);
}

void Database::execute(const char* sql) {
  work_->done = 0;
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code, sql);
}

std::int64_t Database::integer_of(const char* sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Database::text_of(const char* sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.text(0) : "";
}

void Database::fail(int code, const std::string& doing) const {
  const bool is_damaged = (code & 0xff) == SQLITE_ERROR && !is_known_;
  const Explanation explanation = explain(is_damaged ? SQLITE_CORRUPT : code);
  const bool is_last = handle_ && (sqlite3_errcode(handle_.get()) & 0xff) == (code & 0xff);
  const bool is_too_large = (code & 0xff) == SQLITE_IOERR && is_at_size_limit(file_);
  if (is_too_large) {
    throw core::Refusal(ErrorCode::kIo, Reason::kSizeLimit,
                        "database " + file_.string() +
                            " has grown to the largest file that is allowed here; raise that limit (ulimit -f) "
                            "and run the same command again",
                        file_.string());
  }
  const std::string reason = is_last ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
  const std::string at = explanation.code == ErrorCode::kInternal ? " in `" + doing + "`" : "";
  throw core::Refusal(explanation.code, explanation.reason,
                      "database " + file_.string() + ": " + reason + at + ": " + explanation.text, file_.string());
}

StatementHandle Database::take(std::string_view sql) {
  work_->done = 0;
  if (const auto found = kept_.find(sql); found != kept_.end()) {
    StatementHandle statement = std::move(found->second);
    kept_.erase(found);
    return statement;
  }
  sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &prepared, nullptr);
  StatementHandle statement(prepared);
  if (code != SQLITE_OK) fail(code, std::string(sql));
  return statement;
}

void Database::keep(StatementHandle statement) noexcept {
  if (!statement) return;
  sqlite3_reset(statement.get());
  sqlite3_clear_bindings(statement.get());
  try {
    if (kept_.size() < kMaxKeptStatements) kept_.emplace(sqlite3_sql(statement.get()), std::move(statement));
  } catch (const std::bad_alloc&) {  // then it is prepared again the next time
  }
}

Statement::Statement(Database& database, std::string_view sql) : database_(&database), handle_(database.take(sql)) {}

Statement::~Statement() {
  database_->keep(std::move(handle_));
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) check(code);
  return false;
}

void Statement::execute() {
  while (step()) {
  }
  reset();
}

void Statement::reset() {
  sqlite3_reset(handle_.get());
  bound_ = 0;
  database_->work_->done = 0;
}

void Statement::check(int code) const {
  if (code == SQLITE_OK) return;
  const std::string sql = sqlite3_sql(handle_.get());
  try {
    database_->fail(code, sql);
  } catch (...) {
    sqlite3_reset(handle_.get());  // frees the locks of a failed statement
    throw;
  }
}

void Statement::bind_at(int index, std::int64_t value) {
  check(sqlite3_bind_int64(handle_.get(), index, value));
}
void Statement::bind_at(int index, double value) {
  check(sqlite3_bind_double(handle_.get(), index, value));
}
void Statement::bind_at(int index, const std::string& value) {
  check(sqlite3_bind_text(handle_.get(), index, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT));
}
void Statement::bind_null(int index) {
  check(sqlite3_bind_null(handle_.get(), index));
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
}
std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}
double Statement::real(int column) const {
  return is_null(column) ? std::numeric_limits<double>::quiet_NaN() : sqlite3_column_double(handle_.get(), column);
}
std::string Statement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(handle_.get(), column);
  if (bytes == nullptr) return "";
  return std::string(reinterpret_cast<const char*>(bytes),
                     static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column)));
}
std::optional<std::int64_t> Statement::optional_integer(int column) const {
  return is_null(column) ? std::nullopt : std::optional(integer(column));
}
std::optional<double> Statement::optional_real(int column) const {
  return is_null(column) ? std::nullopt : std::optional(real(column));
}
std::optional<std::string> Statement::optional_text(int column) const {
  return is_null(column) ? std::nullopt : std::optional(text(column));
}

int Statement::columns() const {
  return sqlite3_column_count(handle_.get());
}
std::string Statement::name(int column) const {
  return sqlite3_column_name(handle_.get(), column);
}
std::string Statement::bytes(int column) const {
  switch (sqlite3_column_type(handle_.get(), column)) {
    case SQLITE_NULL: return "";
    case SQLITE_INTEGER: {
      const std::int64_t value = integer(column);
      return "i" + std::string(reinterpret_cast<const char*>(&value), sizeof value);
    }
    case SQLITE_FLOAT: {
      const double value = sqlite3_column_double(handle_.get(), column);
      return "r" + std::string(reinterpret_cast<const char*>(&value), sizeof value);
    }
    default: return "t" + text(column);
  }
}

Transaction::Transaction(Database& database) : database_(database) {
  for (int turn = 1;; ++turn) {
    const std::int64_t version = database_.integer_of("PRAGMA data_version");
    const int code = sqlite3_exec(database_.handle(), "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return;
    // The version changes when another connection commits: then the lock is not stuck, we were only unlucky.
    const bool is_passed_over = (code & 0xff) == SQLITE_BUSY && database_.integer_of("PRAGMA data_version") != version;
    if (!is_passed_over || turn == kMaxTurns) database_.fail(code, "BEGIN IMMEDIATE");
    sleep_for_random_ms(1, 100);
  }
}

Transaction::~Transaction() {
  // SQLite itself has rolled back after some errors (full disk); then this one fails, harmlessly.
  if (is_open_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  const bool has_moved = database_.has_moved();
  database_.execute("COMMIT");
  is_open_ = false;
  if (has_moved) database_.rescue();
}

}  // namespace nanobench::results

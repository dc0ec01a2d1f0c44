#include "results/open_file.h"

#include <unistd.h>

#include <chrono>
#include <string_view>
#include <thread>

#include "core/base/input_file.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "results/schema.h"

namespace nanobench::results {
namespace {

using core::Error;
using core::ErrorCode;

constexpr std::string_view kMark("SQLite format 3\0", 16);

void make_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw core::Refusal(ErrorCode::kIo, core::Reason::kSystem,
                        "cannot make the folder " + folder.string() + " for the database: " + error.message() +
                            "; name another file with --db",
                        folder.string());
  }
  if (eaccess(folder.c_str(), W_OK) != 0) {
    throw core::Refusal(ErrorCode::kIo, core::Reason::kReadOnly,
                        "the folder " + folder.string() +
                            " cannot be written, so the database cannot be kept there; name another file with --db",
                        folder.string());
  }
}

/// Switching to WAL needs exclusive access for a moment, which SQLite's busy timeout does not cover.
void use_wal(Database& database) {
  for (int attempt = 0;; ++attempt) {
    try {
      database.execute("PRAGMA journal_mode = WAL");
      return;
    } catch (const Error&) {
      if (sqlite3_errcode(database.handle()) != SQLITE_BUSY || attempt == 600) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
}

std::string uri_of(const std::filesystem::path& file) {
  std::string escaped;
  for (const char c : std::filesystem::absolute(file).string()) {
    escaped += c == '%' ? "%25" : c == '?' ? "%3f" : c == '#' ? "%23" : std::string(1, c);
  }
  return "file:" + escaped;
}

/// For reading the file as it is, without locks.
std::string unchanging_uri(const std::filesystem::path& file) {
  return uri_of(file) + "?immutable=1";
}

/// SQLite opens what lies under these names, and waits for ever for somebody to write into a pipe.
void check_side_files(const std::filesystem::path& file) {
  std::error_code ignored;
  const std::filesystem::path linked = std::filesystem::weakly_canonical(file, ignored);  // they lie beside that
  for (const char* end : {"-journal", "-wal", "-shm"}) {
    const std::string side = (linked.empty() ? file : linked).string() + end;
    const std::filesystem::file_status status = std::filesystem::status(side, ignored);  // others make and remove them
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
      throw core::Refusal(ErrorCode::kIo, core::Reason::kNotAFile,
                          side + " is no regular file, where database " + file.string() +
                              " has its log; remove it, or name another file with --db",
                          side);
    }
  }
}

bool has_log(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::file_size(file.string() + "-wal", error) > 0 && !error;
}

/// The beginning: as many bytes as SQLite's file header has, or fewer if the file is shorter.
std::string begin_of(const std::filesystem::path& file) {
  return core::read_beginning(file, kMark.size()).value_or("");
}

/// Throws Error for a schema that this build does not read.
void check_version(Database& database) {
  const int version = check_identity(database, kSchemaVersion);
  if (version == kSchemaVersion) return check_structure(database, version);
  throw core::Refusal(ErrorCode::kUnavailable, core::Reason::kOlderVersion,
                      "database " + database.file().string() + " is empty or of an older version (schema " +
                          std::to_string(version) + ", this build reads " + std::to_string(kSchemaVersion) +
                          "); `nanobench run` or `nanobench db vacuum` brings it up to date",
                      database.file().string());
}

}  // namespace

bool is_database(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(file, ignored) && begin_of(file) == kMark;
}

void check_file(const std::filesystem::path& file, OpenMode mode) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    throw core::Refusal(ErrorCode::kIo, core::Reason::kNotAFile,
                        "database " + file.string() + " is a folder; name a file with --db", file.string());
  if (!std::filesystem::exists(file, ignored)) {
    if (mode == OpenMode::kReadOnly) {
      throw core::Refusal(
          ErrorCode::kNotFound, core::Reason::kMissingFile,
          "database " + file.string() + " does not exist; run a suite first, or name another file with --db",
          file.string());
    }
    return check_side_files(file);
  }
  if (!std::filesystem::is_regular_file(file, ignored))
    throw core::Refusal(ErrorCode::kIo, core::Reason::kNotAFile,
                        "database " + file.string() + " is a device or a pipe; name a file with --db", file.string());
  check_side_files(file);
  if (const std::string begin = begin_of(file); !begin.empty() && begin != kMark) {
    throw core::Refusal(
        ErrorCode::kDataLoss, core::Reason::kOtherFormat,
        "database " + file.string() +
            " is not an SQLite file, or its beginning is damaged; move it away, or name another file with --db",
        file.string());
  }
}

std::string read_only_uri(const std::filesystem::path& file) {
  std::error_code ignored;
  const bool has_side_files = std::filesystem::exists(file.string() + "-wal", ignored);
  const bool is_writable = eaccess(std::filesystem::absolute(file).parent_path().c_str(), W_OK) == 0;
  return is_writable || has_side_files ? uri_of(file) : unchanging_uri(file);
}

std::unique_ptr<Database> open_for_reading(const std::filesystem::path& file,
                                           std::optional<std::chrono::milliseconds> patience) {
  check_file(file, OpenMode::kReadOnly);
  const auto open = [&](const std::string& uri) {
    auto database = std::make_unique<Database>(file, uri, SQLITE_OPEN_READONLY);
    if (patience) database->set_patience(*patience);
    return database;
  };
  auto database = open(read_only_uri(file));
  try {
    check_version(*database);
  } catch (const Error&) {
    // A full disk has no room for side files. Without a writer's log, the file is complete as it is.
    const int code = sqlite3_errcode(database->handle()) & 0xff;
    const bool is_disk = code == SQLITE_IOERR || code == SQLITE_FULL || code == SQLITE_CANTOPEN;
    if (!is_disk || has_log(file)) throw;
    database = open(unchanging_uri(file));
    check_version(*database);
  }
  return database;
}

std::unique_ptr<Database> open_for_writing(const std::filesystem::path& file) {
  check_file(file, OpenMode::kCreate);
  make_folder(file);
  const std::string path = std::filesystem::absolute(file).string();
  auto database = std::make_unique<Database>(file, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (const int version = check_identity(*database, kSchemaVersion); version > 0) check_structure(*database, version);
  use_wal(*database);
  // FULL: a commit survives a power cut. Batches are large, so this costs at most one flush per second.
  database->execute(
      "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -32768; "
      "PRAGMA wal_autocheckpoint = 4000");
  migrate(*database, schema());
  if (sqlite3_db_readonly(database->handle(), "main") == 1) database->fail(SQLITE_READONLY, "open");
  return database;
}

}  // namespace nanobench::results

/// Opens the store's file: checks it before SQLite sees it, and configures every connection. Private to results/.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "results/sqlite.h"
#include "results/store.h"

namespace nanobench::results {

/// Throws Error for cases that SQLite reports badly or too late: a folder, an absent file, a text file.
void check_file(const std::filesystem::path& file, OpenMode mode);

/// A file in a read-only folder has no place for WAL's side files, so it is read as it is.
std::string read_only_uri(const std::filesystem::path& file);

/// Throws Error like Store's constructor. `patience`: how long to wait for a lock; by default, a minute.
std::unique_ptr<Database> open_for_reading(const std::filesystem::path& file,
                                           std::optional<std::chrono::milliseconds> patience = std::nullopt);
/// Also brings the schema up to date.
std::unique_ptr<Database> open_for_writing(const std::filesystem::path& file);

}  // namespace nanobench::results

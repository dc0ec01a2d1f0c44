/// Opening the store's file: what is refused before SQLite sees it, and the settings of every connection. Private to
/// results/.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "results/sqlite.h"
#include "results/store.h"

namespace nanobench::results {

/// What SQLite would say badly or too late: a folder, an absent file, a text file. Throws Error.
void check_file(const std::filesystem::path& file, OpenMode mode);

/// A file in a folder that cannot be written has no place for WAL's side files: it is read as it lies.
std::string read_only_uri(const std::filesystem::path& file);

/// Throws Error as Store's constructor does. `patience`: how long a lock is waited for, if not the usual minute.
std::unique_ptr<Database> open_for_reading(const std::filesystem::path& file,
                                           std::optional<std::chrono::milliseconds> patience = std::nullopt);
/// Also brings the schema up to date.
std::unique_ptr<Database> open_for_writing(const std::filesystem::path& file);

}  // namespace nanobench::results

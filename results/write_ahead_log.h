/// The write-ahead log beside a store ("results.db-wal"), as SQLite's file format defines it
/// (https://sqlite.org/fileformat2.html#walformat). SQLite reads it as far as its checksums hold, and leaves out the
/// rest without a word. Private to results/.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace nanobench::results {

/// What is damaged in the log, as a part of a sentence; nullopt for a log that is whole, empty or not there.
///
/// A last frame that is not whole is no damage: a process that is killed while it writes leaves one. Nor is what an
/// earlier use of the file has left behind. A frame is damaged if later ones of the same use follow it, as their
/// transactions are lost. Another process may write meanwhile. Thread-safe.
std::optional<std::string> log_damage(const std::filesystem::path& store);

}  // namespace nanobench::results

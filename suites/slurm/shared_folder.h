/// Files in a folder shared by several machines, perhaps over NFS. A file appears complete or not at all, the first of
/// two writers of the same result wins, and one submitter works at a time. Internal to suites.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "core/process/streams.h"
#include "results/records.h"

namespace nanobench::suites {

bool is_there(const std::filesystem::path& file);

/// The names of the files; empty if the folder does not exist. Uses one listing, because asking for each file is slower
/// on a network file system.
std::set<std::string> names_in(const std::filesystem::path& folder);

/// Creates the folder and its parents. Throws Error{kIo} if that is refused, or if the folder is not writable.
void make_shared_folder(const std::filesystem::path& folder);

/// Writes the text atomically: the file contains this text, or what it contained before. Throws Error{kIo}.
void write_whole(const std::filesystem::path& file, const std::string& text);

/// Copies `from` to `to`, which appears complete or not at all. Returns false if one already existed, which then stays.
/// Throws Error{kIo}.
bool publish(const std::filesystem::path& from, const std::filesystem::path& to);

/// The end of a text file, suitable for a message; empty if the file does not exist.
std::string last_words(const std::filesystem::path& file);

/// Held until the process or the object ends. The file names its holder: one line for people, one for read_holder().
class SubmitterLock {
 public:
  /// Throws Error: kConflict while another process holds it, kUnavailable on a file system without locks, kIo.
  explicit SubmitterLock(const std::filesystem::path& file);
  /// Removes the file with the lock, once the work is done.
  void remove();

 private:
  std::filesystem::path file_;
  core::Fd fd_;
};

/// The last holder of this file's lock; nullopt if the file does not exist or cannot be parsed. Takes no lock, so it
/// may be called while another process holds it.
std::optional<results::Owner> read_holder(const std::filesystem::path& file);

}  // namespace nanobench::suites

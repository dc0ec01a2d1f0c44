/// Files in a folder that several machines share, perhaps by NFS: a file appears complete or not at all, the first of
/// two that bring the same result wins, and one submitter works at a time. Internal to suites.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "core/process/streams.h"
#include "results/records.h"

namespace nanobench::suites {

bool is_there(const std::filesystem::path& file);

/// The names of the files; empty for a folder that is not there. One listing: asking for each file costs a network's
/// file system more.
std::set<std::string> names_in(const std::filesystem::path& folder);

/// Makes the folder and those above it. Throws Error{kIo} where that is refused, or nothing can be written in it.
void make_shared_folder(const std::filesystem::path& folder);

/// The file holds this text, or what it held before. Throws Error{kIo}.
void write_whole(const std::filesystem::path& file, const std::string& text);

/// Copies `from` to `to`, which appears complete or not at all. False: there was one already, which stays. Throws
/// Error{kIo}.
bool publish(const std::filesystem::path& from, const std::filesystem::path& to);

/// The end of a text file, fit for a message; empty when there is none.
std::string last_words(const std::filesystem::path& file);

/// Held until the end of the process, or of the object. The file names its holder: a line for people, one for
/// read_holder().
class SubmitterLock {
 public:
  /// Throws Error: kConflict while another process holds it, kUnavailable on a file system without locks, kIo.
  explicit SubmitterLock(const std::filesystem::path& file);
  /// The file goes with the lock, when the work is done.
  void remove();

 private:
  std::filesystem::path file_;
  core::Fd fd_;
};

/// Who held the lock of this file last; nullopt where the file is not there or says nothing that can be read. Takes no
/// lock: it may be called while another process does.
std::optional<results::Owner> read_holder(const std::filesystem::path& file);

}  // namespace nanobench::suites

/// Files and folders that appear complete or not at all, even if a process is killed at any time, and folders that are
/// deleted with their files. Thread-safe: no shared state.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace nanobench::core {

/// Writes the pieces one after the other to a temporary file beside `file`, syncs it and renames it over `file`.
/// Throws Error{kIo} naming the file and the system's reason (disk full, read-only folder, ...); it then leaves nothing
/// behind, and an older file stays unchanged.
void write_file_atomically(const std::filesystem::path& file, std::span<const std::string_view> pieces);
void write_file_atomically(const std::filesystem::path& file, std::string_view text);

/// A file that is written piece by piece and appears complete, under its name, with commit(). The destructor removes an
/// uncommitted one.
class AtomicFile {
 public:
  /// Creates the temporary file beside `target`. Throws Error{kIo}.
  explicit AtomicFile(std::filesystem::path target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Throws Error{kIo}, as the other functions here do.
  void write(std::string_view bytes);
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path path_;
  int descriptor_ = -1;
  bool is_committed_ = false;
};

/// A temporary folder beside `target` that commit() renames to it. The destructor removes an uncommitted folder.
class StagedFolder {
 public:
  /// Creates missing parents and the temporary folder. Throws Error{kIo}.
  explicit StagedFolder(std::filesystem::path target);
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  /// Folder to write the files into.
  const std::filesystem::path& path() const { return staging_; }

  /// Makes the folder appear under its final name. Returns false and changes nothing when a non-empty folder already
  /// exists there. Throws Error{kIo}.
  bool commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path staging_;
  bool committed_ = false;
};

/// A folder that the destructor deletes with its files.
class TemporaryFolder {
 public:
  /// Creates the folder in the system's temporary folder; `purpose` is part of its name. Throws Error{kIo}.
  explicit TemporaryFolder(const std::string& purpose);
  /// Creates the folder in `place`. Throws Error{kIo}; `remedy` ends its message.
  TemporaryFolder(const std::string& purpose, const std::filesystem::path& place, const std::string& remedy);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace nanobench::core

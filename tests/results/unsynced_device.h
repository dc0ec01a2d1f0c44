/// A disk that loses what was not synced when the power is cut: a layer under SQLite that remembers, for each file
/// below a folder, what is durable and what is only written.
#pragma once

#include <sqlite3.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace nanobench::results {

/// While it lives it is SQLite's default VFS. One at a time, one thread. Files elsewhere pass through.
class UnsyncedDevice {
 public:
  /// `on_operation` is called after each write, truncation, sync and deletion below `root`.
  UnsyncedDevice(std::filesystem::path root, std::function<void()> on_operation);
  ~UnsyncedDevice();
  UnsyncedDevice(const UnsyncedDevice&) = delete;
  UnsyncedDevice& operator=(const UnsyncedDevice&) = delete;

  /// Writes to `folder` what the disk may hold if the power is cut now: all that was synced, and each later sector with
  /// this probability. Without -shm files, which SQLite makes anew after a cut.
  void write_image(const std::filesystem::path& folder, double kept, std::mt19937& random) const;

  std::int64_t syncs() const { return syncs_; }
  std::int64_t writes() const { return writes_; }

 private:
  /// A write of at most one sector, or a truncation.
  struct Pending {
    std::size_t offset = 0;  ///< or the new size
    std::string bytes;
    bool is_truncation = false;

    void apply(std::string& content) const;
  };
  struct File {
    bool exists = false;        ///< its entry in the folder is durable
    bool is_gone = false;       ///< deleted, but the folder was not synced
    bool syncs_folder = false;  ///< when it is synced next
    std::string durable;
    std::vector<Pending> pending;
  };
  struct OpenFile;
  struct Methods;

  File* file_of(const char* name);
  void sync_folder();
  void note(bool is_sync);

  std::filesystem::path root_;
  std::function<void()> on_operation_;
  std::map<std::string, File> files_;
  std::int64_t syncs_ = 0;
  std::int64_t writes_ = 0;
  bool is_imaging_ = false;
  sqlite3_vfs* below_ = nullptr;
  std::unique_ptr<sqlite3_vfs> vfs_;
};

}  // namespace nanobench::results

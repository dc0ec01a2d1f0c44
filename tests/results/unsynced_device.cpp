#include "unsynced_device.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <new>
#include <stdexcept>
#include <utility>

namespace nanobench::results {
namespace {

constexpr std::size_t kSector = 512;

std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

void UnsyncedDevice::Pending::apply(std::string& content) const {
  if (is_truncation) {
    content.resize(offset);
    return;
  }
  if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size());
  content.replace(offset, bytes.size(), bytes);
}

/// What SQLite allocates for a file: ours, then that of the VFS below.
struct UnsyncedDevice::OpenFile {
  sqlite3_file base;
  UnsyncedDevice* device;
  File* file;
  sqlite3_file* below;

  static OpenFile& of(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file); }
};

/// The functions that SQLite calls: everything passes through, and what changes a file is noted.
struct UnsyncedDevice::Methods {
  static UnsyncedDevice& device_of(sqlite3_vfs* vfs) { return *static_cast<UnsyncedDevice*>(vfs->pAppData); }

  static int open(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* raw, int flags, int* out_flags) {
    UnsyncedDevice& device = device_of(vfs);
    File* file = device.file_of(name);
    if (file == nullptr) return device.below_->xOpen(device.below_, name, raw, flags, out_flags);
    const std::size_t ours = (sizeof(OpenFile) + 15) / 16 * 16;
    auto* below = reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(raw) + ours);
    const int code = device.below_->xOpen(device.below_, name, below, flags, out_flags);
    auto* opened = new (raw) OpenFile{{below->pMethods == nullptr ? nullptr : &kMethods}, &device, file, below};
    if (code != SQLITE_OK) opened->base.pMethods = nullptr;
    if (code != SQLITE_OK) return code;
    constexpr int kJournals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL;
    // Where SQLite on Unix syncs the folder: with the first sync of a journal that it creates.
    if (!file->exists || file->is_gone) file->syncs_folder = (flags & kJournals) != 0;
    if (file->is_gone) file->pending.push_back({.offset = 0, .bytes = {}, .is_truncation = true});
    file->is_gone = false;
    return code;
  }

  static int remove(sqlite3_vfs* vfs, const char* name, int is_folder_synced) {
    UnsyncedDevice& device = device_of(vfs);
    const int code = device.below_->xDelete(device.below_, name, is_folder_synced);
    File* file = device.file_of(name);
    if (code == SQLITE_OK && file != nullptr) {
      file->is_gone = true;
      if (is_folder_synced != 0) device.sync_folder();
      device.note(is_folder_synced != 0);
    }
    return code;
  }

  static int write(sqlite3_file* raw, const void* data, int amount, sqlite3_int64 offset) {
    const OpenFile& opened = OpenFile::of(raw);
    const int code = opened.below->pMethods->xWrite(opened.below, data, amount, offset);
    if (code != SQLITE_OK) return code;
    const auto end = static_cast<std::size_t>(offset + amount);
    for (auto at = static_cast<std::size_t>(offset); at < end;) {
      const std::size_t next = std::min(end, (at / kSector + 1) * kSector);
      const char* bytes = static_cast<const char*>(data) + (at - static_cast<std::size_t>(offset));
      opened.file->pending.push_back({.offset = at, .bytes = std::string(bytes, next - at)});
      at = next;
    }
    opened.device->note(false);
    return code;
  }

  static int truncate(sqlite3_file* raw, sqlite3_int64 size) {
    const OpenFile& opened = OpenFile::of(raw);
    const int code = opened.below->pMethods->xTruncate(opened.below, size);
    if (code != SQLITE_OK) return code;
    opened.file->pending.push_back({.offset = static_cast<std::size_t>(size), .bytes = {}, .is_truncation = true});
    opened.device->note(false);
    return code;
  }

  static int sync(sqlite3_file* raw, int flags) {
    const OpenFile& opened = OpenFile::of(raw);
    const int code = opened.below->pMethods->xSync(opened.below, flags);
    if (code != SQLITE_OK) return code;
    for (const Pending& one : opened.file->pending) one.apply(opened.file->durable);
    opened.file->pending.clear();
    if (opened.file->syncs_folder) opened.device->sync_folder();
    opened.file->syncs_folder = false;
    opened.device->note(true);
    return code;
  }

  static int close(sqlite3_file* raw) {
    return with(raw, [](auto* file) { return file->pMethods->xClose(file); });
  }

  /// Calls `act` with the file of the VFS below.
  template <class Act>
  static int with(sqlite3_file* raw, Act act) {
    return act(OpenFile::of(raw).below);
  }

  static const sqlite3_io_methods kMethods;
};

const sqlite3_io_methods UnsyncedDevice::Methods::kMethods = {
    .iVersion = 2,  // no memory-mapped reading: it would need no write to be seen
    .xClose = close,
    .xRead =
        [](sqlite3_file* raw, void* data, int amount, sqlite3_int64 offset) {
          return with(raw, [&](auto* file) { return file->pMethods->xRead(file, data, amount, offset); });
        },
    .xWrite = write,
    .xTruncate = truncate,
    .xSync = sync,
    .xFileSize =
        [](sqlite3_file* raw, sqlite3_int64* size) {
          return with(raw, [&](auto* file) { return file->pMethods->xFileSize(file, size); });
        },
    .xLock = [](sqlite3_file* raw,
                int level) { return with(raw, [&](auto* file) { return file->pMethods->xLock(file, level); }); },
    .xUnlock = [](sqlite3_file* raw,
                  int level) { return with(raw, [&](auto* file) { return file->pMethods->xUnlock(file, level); }); },
    .xCheckReservedLock =
        [](sqlite3_file* raw, int* is_locked) {
          return with(raw, [&](auto* file) { return file->pMethods->xCheckReservedLock(file, is_locked); });
        },
    .xFileControl =
        [](sqlite3_file* raw, int what, void* argument) {
          return with(raw, [&](auto* file) { return file->pMethods->xFileControl(file, what, argument); });
        },
    .xSectorSize = [](sqlite3_file*) { return static_cast<int>(kSector); },
    // Nothing is promised: a sector may be torn from its neighbour, and an older write may be lost when a newer is not.
    .xDeviceCharacteristics = [](sqlite3_file*) { return 0; },
    .xShmMap =
        [](sqlite3_file* raw, int page, int size, int is_extended, void volatile** memory) {
          return with(raw, [&](auto* file) { return file->pMethods->xShmMap(file, page, size, is_extended, memory); });
        },
    .xShmLock =
        [](sqlite3_file* raw, int offset, int count, int flags) {
          return with(raw, [&](auto* file) { return file->pMethods->xShmLock(file, offset, count, flags); });
        },
    .xShmBarrier =
        [](sqlite3_file* raw) {
          sqlite3_file* below = OpenFile::of(raw).below;
          below->pMethods->xShmBarrier(below);
        },
    .xShmUnmap =
        [](sqlite3_file* raw, int is_deleted) {
          return with(raw, [&](auto* file) { return file->pMethods->xShmUnmap(file, is_deleted); });
        },
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

UnsyncedDevice::UnsyncedDevice(std::filesystem::path root, std::function<void()> on_operation)
    : root_(std::move(root)), on_operation_(std::move(on_operation)), below_(sqlite3_vfs_find(nullptr)) {
  vfs_ = std::make_unique<sqlite3_vfs>(*below_);
  vfs_->zName = "unsynced_device";
  vfs_->pNext = nullptr;
  vfs_->pAppData = this;
  vfs_->szOsFile = below_->szOsFile + static_cast<int>((sizeof(OpenFile) + 15) / 16 * 16);
  vfs_->xOpen = Methods::open;
  vfs_->xDelete = Methods::remove;
  if (sqlite3_vfs_register(vfs_.get(), 1) != SQLITE_OK) throw std::runtime_error("no VFS could be registered");
}

UnsyncedDevice::~UnsyncedDevice() {
  sqlite3_vfs_unregister(vfs_.get());
  sqlite3_vfs_register(below_, 1);
}

UnsyncedDevice::File* UnsyncedDevice::file_of(const char* name) {
  if (name == nullptr) return nullptr;
  const std::filesystem::path path(name);
  if (path.parent_path() != root_) return nullptr;
  const auto [entry, is_new] = files_.try_emplace(path.string());
  if (is_new && std::filesystem::exists(path)) {
    entry->second.durable = content_of(path);
    entry->second.exists = true;
  }
  return &entry->second;
}

void UnsyncedDevice::sync_folder() {
  std::erase_if(files_, [](const auto& entry) { return entry.second.is_gone; });
  for (auto& [name, file] : files_) file.exists = std::filesystem::exists(name);
}

void UnsyncedDevice::note(bool is_sync) {
  ++(is_sync ? syncs_ : writes_);
  if (is_imaging_) return;
  is_imaging_ = true;
  on_operation_();
  is_imaging_ = false;
}

void UnsyncedDevice::write_image(const std::filesystem::path& folder, double kept, std::mt19937& random) const {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::bernoulli_distribution is_kept(kept);
  for (const auto& [name, file] : files_) {
    const bool has_new_entry = file.exists == file.is_gone && is_kept(random);
    if (file.exists == has_new_entry) continue;
    std::string content = file.durable;
    for (const Pending& one : file.pending) {
      if (is_kept(random)) one.apply(content);
    }
    std::ofstream(folder / std::filesystem::path(name).filename(), std::ios::binary) << content;
  }
}

}  // namespace nanobench::results

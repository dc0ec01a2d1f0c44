/// A folder that is deleted with its files. Thread-safe: each object belongs to one owner.
#pragma once

#include <filesystem>
#include <string>

namespace nanobench::core {

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

/// A folder that goes away with its files. Thread-safe: each is its owner's.
#pragma once

#include <filesystem>
#include <string>

namespace nanobench::core {

class TemporaryFolder {
 public:
  /// In the system's folder for such files; `purpose` is part of its name. Throws Error{kIo}.
  explicit TemporaryFolder(const std::string& purpose);
  /// In `place`. Throws Error{kIo}; `remedy` ends its message.
  TemporaryFolder(const std::string& purpose, const std::filesystem::path& place, const std::string& remedy);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace nanobench::core

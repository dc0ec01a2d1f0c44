/// A file that is written piece by piece and appears complete or not at all. Not thread-safe.
#pragma once

#include <filesystem>
#include <fstream>

namespace nanobench::results {

class OutputFile {
 public:
  /// Writes beside `file`, under a name of its own. Throws Error{kIo}.
  explicit OutputFile(std::filesystem::path file);
  /// Without commit() nothing is left, and an older file stays as it was.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() { return stream_; }
  /// Throws Error{kIo} when something could not be written (a full disk, ...).
  void commit();

 private:
  std::filesystem::path file_;
  std::filesystem::path temporary_;
  std::ofstream stream_;
};

}  // namespace nanobench::results

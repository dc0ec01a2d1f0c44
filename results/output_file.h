/// Files that a command writes for the user, and text as a field of a CSV file. Thread-safe: no shared state.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

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

/// As RFC 4180 wants it: quoted where it holds a comma, a quote or a line's end. Text that a spreadsheet would run as a
/// formula (it begins with = + - @, tab or carriage return) gets a leading apostrophe. Control characters other than
/// tab and line ends become spaces, and what is not UTF-8 becomes U+FFFD. Not for numbers: a minus is no formula there.
std::string csv_field(std::string text);

}  // namespace nanobench::results

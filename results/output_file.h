/// Files that a command writes for the user, and CSV fields. Thread-safe: no shared state.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace nanobench::results {

class OutputFile {
 public:
  /// Writes to a temporary file beside `file`. Throws Error{kIo}.
  explicit OutputFile(std::filesystem::path file);
  /// Without commit(), nothing is left behind, and an existing file stays unchanged.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() { return stream_; }
  /// Throws Error{kIo} if something could not be written (a full disk, ...).
  void commit();

 private:
  std::filesystem::path file_;
  std::filesystem::path temporary_;
  std::ofstream stream_;
};

/// A field according to RFC 4180: quoted if it contains a comma, a quote or a line end. Text that a spreadsheet would
/// run as a formula (it begins with = + - @, tab or carriage return) gets a leading apostrophe. Control characters
/// other than tab and line ends become spaces, and invalid UTF-8 becomes U+FFFD. Not for numbers, whose minus sign
/// starts no formula.
std::string csv_field(std::string text);

}  // namespace nanobench::results

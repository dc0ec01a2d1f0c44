#include "results/output_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "core/base/json.h"

namespace nanobench::results {

namespace {

[[noreturn]] void fail(const std::filesystem::path& file) {
  throw core::Error(core::ErrorCode::kIo, "cannot write " + file.string() + ": " + std::strerror(errno) +
                                              "; choose a folder that can be written and has space");
}

/// Makes a rename survive a power cut.
bool sync(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool is_synced = fsync(descriptor) == 0;
  close(descriptor);
  return is_synced;
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path file) : file_(std::move(file)) {
  temporary_ = file_.parent_path() / ("." + file_.filename().string() + ".tmp-" + std::to_string(getpid()));
  errno = 0;
  stream_.open(temporary_, std::ios::binary | std::ios::trunc);
  if (!stream_) fail(file_);
}

OutputFile::~OutputFile() {
  stream_.close();
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove(temporary_, ignored);
}

void OutputFile::commit() {
  stream_.close();
  if (!stream_ || !sync(temporary_)) fail(file_);
  if (std::rename(temporary_.c_str(), file_.c_str()) != 0) fail(file_);
  temporary_.clear();
}

namespace {

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

std::string csv_field(std::string text) {
  if (!is_ascii(text)) text = core::as_utf8(text);  // a table with one broken name must stay readable
  for (char& c : text) {
    const auto code = static_cast<unsigned char>(c);
    if ((code < 0x20 && c != '\n' && c != '\r' && c != '\t') || code == 0x7f) c = ' ';
  }
  if (!text.empty() && std::strchr("=+-@\t\r", text.front()) != nullptr) text.insert(0, "'");
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace nanobench::results

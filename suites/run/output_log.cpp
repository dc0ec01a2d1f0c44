#include "suites/run/output_log.h"

#include <fcntl.h>

#include <algorithm>
#include <string>

namespace nanobench::suites {

bool OutputLog::open() {
  if (fd_.is_open()) return true;
  std::error_code ignored;
  std::filesystem::create_directories(file_.parent_path(), ignored);
  fd_ = core::Fd(::open(file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  return fd_.is_open();
}

void OutputLog::add(std::string_view bytes) {
  if (bytes.empty() || is_given_up_) return;
  if (!open()) {
    is_given_up_ = true;
    return;
  }
  const std::string_view first =
      bytes.substr(0, static_cast<std::size_t>(std::max<std::int64_t>(0, kMaxBytes - written_)));
  if (!first.empty() && !core::write_all(fd_.get(), first)) is_given_up_ = true;
  written_ += static_cast<std::int64_t>(first.size());
  const std::string_view rest = bytes.substr(first.size());
  left_out_ += static_cast<std::int64_t>(rest.size());
  tail_.add(rest);
}

bool OutputLog::keep() {
  if (!fd_.is_open()) return false;
  if (const std::int64_t gap = left_out_ - static_cast<std::int64_t>(tail_.text().size()); left_out_ > 0) {
    if (gap > 0) core::write_all(fd_.get(), "\n[" + std::to_string(gap) + " bytes are left out here]\n");
    core::write_all(fd_.get(), tail_.text());
  }
  fd_.reset();
  return true;
}

void OutputLog::discard() {
  if (!fd_.is_open()) return;
  fd_.reset();
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
  std::filesystem::remove(file_.parent_path(), ignored);
}

}  // namespace nanobench::suites

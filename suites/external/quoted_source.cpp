#include "suites/external/quoted_source.h"

#include "core/base/input_file.h"
#include "core/base/text.h"
#include "results/import/speedrun_line.h"

namespace nanobench::suites {
namespace {

constexpr std::size_t kMaxSourceBytes = 1 << 20;

}  // namespace

QuotedSource::QuotedSource(const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& file : files) {
    std::error_code error;
    const auto size = std::filesystem::file_size(file, error);
    if (error || size > kMaxSourceBytes) continue;
    const std::string text = core::read_beginning(file, kMaxSourceBytes).value_or("");
    std::string_view before;
    for (const std::string_view line : split_lines(text)) {
      if (trimmed(line).empty()) continue;
      if (!before.empty() && results::parse_speedrun_line(line)) pairs_.emplace(before, line);
      before = line;
    }
  }
}

bool QuotedSource::contains(std::string_view line) {
  if (pairs_.empty() || trimmed(line).empty()) return false;
  const bool is_log_line = results::parse_speedrun_line(line).has_value();
  const bool is_quoted = is_log_line && !is_genuine_ && pairs_.contains({before_, std::string(line)});
  is_genuine_ = is_log_line && !is_quoted;
  before_ = line;
  return is_quoted;
}

}  // namespace nanobench::suites

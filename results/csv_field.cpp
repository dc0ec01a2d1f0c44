#include "results/csv_field.h"

#include <algorithm>
#include <cstring>

#include "core/base/json.h"

namespace nanobench::results {
namespace {

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// U+FFFD in place of what is not UTF-8: a table with one broken name must stay readable.
std::string as_utf8(const std::string& text) {
  const std::string valid = core::Json(text).dump(-1, ' ', false, core::Json::error_handler_t::replace);
  return core::Json::parse(valid).get<std::string>();
}

}  // namespace

std::string csv_field(std::string text) {
  if (!is_ascii(text)) text = as_utf8(text);
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

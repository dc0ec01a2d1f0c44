#include "results/csv_field.h"

#include <cstring>

namespace nanobench::results {

std::string csv_field(std::string text) {
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

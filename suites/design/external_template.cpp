#include "suites/design/external_template.h"

namespace nanobench::suites {

std::string filled(const std::string& text, const TextOf& text_of, bool is_last) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_double = i + 1 < text.size() && text[i + 1] == text[i] && (text[i] == '{' || text[i] == '}');
    if (is_double) ++i;
    const std::size_t end = text[i] == '{' && !is_double ? text.find('}', i) : std::string::npos;
    if (end == std::string::npos) {
      out += is_double && !is_last ? std::string(2, text[i]) : std::string(1, text[i]);
    } else {
      out += text_of(text.substr(i + 1, end - i - 1));
      i = end;
    }
  }
  return out;
}

std::string with_braces_kept(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
  return out;
}

}  // namespace nanobench::suites

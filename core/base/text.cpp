#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace nanobench {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr std::string_view kBlanks = " \n\r\t";

/// The next code point of `text` from `at` (which is advanced); each broken byte yields one kReplacement.
char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return text[at++] & 0x7F;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  const char32_t lowest = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size()) return ++at, kReplacement;
  char32_t code = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) return ++at, kReplacement;
    code = (code << 6) | (byte(at + i) & 0x3FU);
  }
  if (code < lowest || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return ++at, kReplacement;
  at += length;
  return code;
}

bool is_control(char32_t code) {
  // C0, DEL, C1, line separators, the marks that reverse text (they can hide the contents of a line), and what is no
  // character at all (XML forbids some of them).
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029 ||
         (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0x200E || code == 0x200F ||
         code == 0x061C || (code & 0xFFFE) == 0xFFFE || (code >= 0xFDD0 && code <= 0xFDEF);
}

std::size_t width_of(char32_t code) {
  if ((code >= 0x300 && code < 0x370) || code == 0x200B || code == 0x200D || (code >= 0xFE00 && code <= 0xFE0F))
    return 0;
  const bool is_wide = (code >= 0x1100 && code < 0x1160) || (code >= 0x2E80 && code < 0xA4D0) ||
                       (code >= 0xAC00 && code < 0xD7A4) || (code >= 0xF900 && code < 0xFB00) ||
                       (code >= 0xFF00 && code < 0xFF61) || (code >= 0x1F300 && code < 0x1FB00) ||
                       (code >= 0x20000 && code < 0x40000);
  return is_wide ? 2 : 1;
}

/// The first bytes of `text` that fit into `width` columns.
std::string_view head_of(std::string_view text, std::size_t width) {
  std::size_t at = 0;
  std::size_t used = 0;
  while (at < text.size()) {
    std::size_t next = at;
    used += width_of(next_code_point(text, next));
    if (used > width) break;
    at = next;
  }
  return text.substr(0, at);
}

std::string print(const char* format, int digits, double value) {
  std::array<char, 400> buffer{};  // %.Nf of the largest double takes 310
  std::snprintf(buffer.data(), buffer.size(), format, digits, value);
  return buffer.data();
}

/// Whether the text takes more; it is read no further than that.
bool is_wider(std::string_view text, std::size_t width) {
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size() && used <= width;) used += width_of(next_code_point(text, at));
  return used > width;
}

}  // namespace

std::string joined(std::initializer_list<std::string_view> items, std::string_view separator) {
  return joined(std::vector<std::string_view>(items), separator);
}

std::string listed(const std::vector<std::string>& items, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0 && i + 1 == items.size()) {
      text.append(" ").append(last).append(" ");
    } else if (i > 0) {
      text.append(", ");
    }
    text.append(items[i]);
  }
  return text;
}

std::string listed_first(const std::vector<std::string>& items, std::size_t max, std::string_view separator) {
  if (items.size() <= max) return joined(items, separator);
  const std::vector<std::string> first(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(max));
  return joined(first, separator) + " and " + std::to_string(items.size() - max) + " more";
}

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  std::string text = std::to_string(count);
  text.append(" ");
  if (count == 1 || many.empty()) {
    text.append(one);
  } else {
    text.append(many);
  }
  if (count != 1 && many.empty()) text.append("s");
  return text;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) width += width_of(next_code_point(text, at));
  return width;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    const char32_t code = next_code_point(text, at);
    if (code == '\n' || code == '\t' || code == '\r') {
      out += ' ';
    } else if (code == kReplacement || is_control(code)) {
      out += "\xEF\xBF\xBD";
    } else {
      out += text.substr(start, at - start);
    }
  }
  return out;
}

std::string escape_markup(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string on_one_line(std::string_view text, std::size_t max_bytes) {
  std::string line;
  for (const char c : text) {
    if (kBlanks.find(c) == std::string_view::npos)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  if (!line.empty() && line.back() == ' ') line.pop_back();
  if (line.size() > max_bytes) line = line.substr(0, max_bytes) + "...";
  return line;
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const std::size_t start = text.find_first_not_of(blanks);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(blanks) - start + 1);
}

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  return split_at(text, '\n');
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool is_count = error == std::errc() && end == text.data() + text.size() && !text.starts_with('-');
  return is_count ? std::optional(count) : std::nullopt;
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string without_digits(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  return text;
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

std::string last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of(kBlanks);
  if (end == std::string_view::npos) return "";
  text = text.substr(0, end + 1);
  return std::string(text.substr(text.find_last_of('\n') + 1));  // npos + 1 is 0
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  width = std::max<std::size_t>(width, 1);
  std::vector<std::string> lines;
  std::string line;
  const auto end_line = [&] {
    lines.push_back(line);
    line.clear();
  };
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == ' ') {
      ++at;
      continue;
    }
    std::string_view word = text.substr(at, std::min(text.find(' ', at), text.size()) - at);
    at += word.size();
    if (const std::size_t used = display_width(line) + 1;
        !line.empty() && (used > width || is_wider(word, width - used)))
      end_line();
    while (is_wider(word, width)) {
      const std::string_view head = head_of(word, width);
      if (head.empty()) break;  // one character wider than the line: let it stand out
      line = head;
      end_line();
      word.remove_prefix(head.size());
    }
    if (!line.empty() && !word.empty()) line += ' ';
    line += word;
  }
  if (!line.empty() || lines.empty()) end_line();
  return lines;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (!is_wider(text, width)) return std::string(text);
  if (width == 0) return "";
  return std::string(head_of(text, width - 1)) + "…";
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string(text) + std::string(width > used ? width - used : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string(width > used ? width - used : 0, ' ') + std::string(text);
}

std::string format_fixed(double value, int digits) {
  return std::isfinite(value) ? print("%.*f", digits, value) : "not a number";
}

std::string format_percent(double fraction, int digits) {
  return format_fixed(100.0 * fraction, digits) + " %";
}

std::string format_significant_percent(double fraction, int digits) {
  return format_significant(100.0 * fraction, digits) + " %";
}

std::string format_signed(double value, int digits) {
  std::string text = format_fixed(value, digits);
  if (!(value < 0)) text.insert(text.begin(), '+');
  return text;
}

std::string format_signed_percent(double fraction, int digits) {
  return (fraction < 0 ? "" : "+") + format_percent(fraction, digits);
}

std::string format_significant(double value, int digits) {
  if (!std::isfinite(value)) return "not a number";
  if (value == 0.0) return "0";
  const double magnitude = std::abs(value);
  if (magnitude < 1e-4 || magnitude >= 1e15) return print("%.*g", digits, value);
  const int whole = static_cast<int>(std::floor(std::log10(magnitude))) + 1;
  return print("%.*f", std::max(0, digits - whole), value);
}

std::string format_ratio(double ratio) {
  constexpr double kMin = 0.1, kMax = 10.0;
  if (!std::isfinite(ratio)) return "not a number";
  if (std::abs(ratio) < kMax) return std::abs(ratio) >= kMin ? format_fixed(ratio, 3) : format_significant(ratio, 2);
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(ratio))) - 1.0);
  return format_significant(std::round(ratio / unit) * unit, 2);
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 10) return print("%.*f s", 1, seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  std::array<char, 64> buffer{};
  if (whole < 60) {
    std::snprintf(buffer.data(), buffer.size(), "%d s", static_cast<int>(whole));
  } else if (whole < 3600) {
    std::snprintf(buffer.data(), buffer.size(), "%d min %02d s", static_cast<int>(whole / 60),
                  static_cast<int>(whole % 60));
  } else {
    std::snprintf(buffer.data(), buffer.size(), "%lld h %02d min", static_cast<long long>(whole / 3600),
                  static_cast<int>(whole % 3600 / 60));
  }
  return buffer.data();
}

std::string format_bytes(double bytes) {
  constexpr double kMiB = 1024.0 * 1024.0;
  if (bytes < 1024.0 * kMiB) return format_significant(bytes / kMiB, 3) + " MiB";
  return format_significant(bytes / (1024.0 * kMiB), 3) + " GiB";
}

std::string format_count(std::int64_t count) {
  const std::string digits = std::to_string(count);
  const std::size_t sign = count < 0 ? 1 : 0;
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > sign && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string shell_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const bool is_plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return std::isalnum(c) || std::string_view("/._-=:,+@%").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (!text.empty()) text += ' ';
    if (is_plain) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

}  // namespace nanobench

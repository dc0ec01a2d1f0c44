#include "core/base/base64.h"

#include <cstdint>

namespace nanobench::core {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t kGroup = 4;  // digits, for three bytes

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * kGroup);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < group.size() ? static_cast<unsigned char>(group[k]) : 0);
    for (std::size_t k = 0; k < kGroup; ++k) text += k <= group.size() ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % kGroup != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += kGroup) {
    std::uint32_t bits = 0;
    std::size_t digits = 0;
    for (; digits < kGroup && text[i + digits] != '='; ++digits) {
      const std::size_t value = kDigits.find(text[i + digits]);
      if (value == std::string_view::npos) return std::nullopt;
      bits |= static_cast<std::uint32_t>(value) << (18 - 6 * digits);
    }
    for (std::size_t k = 0; k + 1 < digits; ++k) bytes += static_cast<char>(bits >> (16 - 8 * k));
  }
  // One text for each string of bytes: no other padding, no bits beyond the bytes.
  return to_base64(bytes) == text ? std::optional(bytes) : std::nullopt;
}

}  // namespace nanobench::core

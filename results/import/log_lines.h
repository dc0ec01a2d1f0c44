/// Walking over the lines of a text. Private to results/import. Pure.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace nanobench::results {

struct TextLine {
  std::string_view text;      ///< without its newline
  std::size_t next = 0;       ///< where the next line begins
  bool is_terminated = true;  ///< by a newline
};

/// The line that begins at `start`, which is inside `text`.
inline TextLine line_at(std::string_view text, std::size_t start) {
  const char* begin = text.data() + start;
  const std::size_t left = text.size() - start;
  const void* newline = std::memchr(begin, '\n', left);
  if (newline == nullptr) return {.text = {begin, left}, .next = text.size(), .is_terminated = false};
  const auto length = static_cast<std::size_t>(static_cast<const char*>(newline) - begin);
  return {.text = {begin, length}, .next = start + length + 1};
}

}  // namespace nanobench::results

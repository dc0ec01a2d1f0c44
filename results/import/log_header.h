/// Parses what surrounds the steps of a speedrun log: the embedded script, versions, the table of nvidia-smi. Private
/// to results/import. Pure.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include "results/import/speedrun_log.h"

namespace nanobench::results {

/// A line of a text, and the position of the next one.
struct TextLine {
  std::string_view text;      ///< without its newline
  std::size_t next = 0;       ///< where the next line begins
  bool is_terminated = true;  ///< ends with a newline
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

/// The location of the script in a log's text.
struct ScriptPlace {
  std::size_t begin = 0;
  std::size_t end = 0;    ///< after its last byte
  std::size_t next = 0;   ///< where the log continues
  bool is_closed = true;  ///< false if the text ends before the line that should end the script
};

/// Finds the script that a trainer writes to its log before everything else: from the beginning, or between the first
/// two lines of "=", as in the logs of records 4 to 13. nullopt if the log starts without one.
std::optional<ScriptPlace> find_script(std::string_view text);

/// Stores in `log` what the line reports about the machine and the versions.
void read_header_line(std::string_view line, SpeedrunLog& log);

}  // namespace nanobench::results

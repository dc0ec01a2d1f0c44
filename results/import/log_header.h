/// What stands around the steps of a speedrun log: the embedded script, versions, the table of nvidia-smi. Private to
/// results/import. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "results/import/speedrun_log.h"

namespace nanobench::results {

/// Where the script lies in a log's text.
struct ScriptPlace {
  std::size_t begin = 0;
  std::size_t end = 0;    ///< after its last byte
  std::size_t next = 0;   ///< where the log goes on
  bool is_closed = true;  ///< false when the text ends before the line that should end the script
};

/// The script that a trainer writes into its log before everything else: from the beginning, or between the first two
/// lines of "=", as the logs of records 4 to 13 have it. nullopt when the log starts without one.
std::optional<ScriptPlace> find_script(std::string_view text);

/// Takes what the line says of the machine and the versions.
void read_header_line(std::string_view line, SpeedrunLog& log);

}  // namespace nanobench::results

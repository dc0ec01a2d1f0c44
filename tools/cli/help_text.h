/// What --help prints, for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nanobench::tools {

/// Breaks lines longer than `width` columns between words. The rest of an option's or an example's explanation stands
/// below its beginning. A command goes on in the next line behind a backslash. Paragraphs that were broken at more
/// columns are broken anew.
std::string wrapped_help(std::string_view help, std::size_t width);

/// The same for the terminal behind the descriptor; unchanged where there is none.
std::string help_for(int fd, const std::string& help);

}  // namespace nanobench::tools

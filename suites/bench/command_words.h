/// Splits the text of a command into words, as a POSIX shell does, without a shell. Pure, thread-safe.
#pragma once

#include <string>
#include <vector>

namespace nanobench::suites {

/// The words of a command line. Blanks separate words; '...' keeps everything, "..." all but \ before $ ` " and \, and
/// \ keeps the next character. Nothing is expanded: what a shell would expand or act on outside of quotes (| > & ; $ *
/// and so on), or expand inside of "...", is an error. Throws Error{kInvalidArgument} for it, for a quote that is not
/// closed and for a text without words.
std::vector<std::string> command_words(const std::string& text);

}  // namespace nanobench::suites

/// Text as one field of a CSV file. Pure, thread-safe.
#pragma once

#include <string>

namespace nanobench::results {

/// As RFC 4180 wants it: quoted where it holds a comma, a quote or a line's end. Text that a spreadsheet would run as a
/// formula (it begins with = + - @, tab or carriage return) gets a leading apostrophe. Control characters other than
/// tab and line ends become spaces, and what is not UTF-8 becomes U+FFFD. Not for numbers: a minus is no formula there.
std::string csv_field(std::string text);

}  // namespace nanobench::results

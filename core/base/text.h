/// Text for people: lists and counts in words, numbers with sensible digits, widths as a terminal shows them, wrapping.
/// Pure, thread-safe. In the namespace above all folders, since all of them write text.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace nanobench {

/// The items one after the other: joined({"a", "b"}) is "a, b". Any range of strings or whole numbers.
template <class Strings>
std::string joined(const Strings& items, std::string_view separator = ", ") {
  std::string text;
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) text += separator;
    if constexpr (std::is_integral_v<std::decay_t<decltype(item)>>) {
      text += std::to_string(item);
    } else {
      text += item;
    }
    is_first = false;
  }
  return text;
}
std::string joined(std::initializer_list<std::string_view> items, std::string_view separator = ", ");

/// The same as a sentence lists them: "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& items, std::string_view last = "and");

/// The first `max` items and how many more there are: "a, b and 3 more".
std::string listed_first(const std::vector<std::string>& items, std::size_t max, std::string_view separator = ", ");

/// A number and its noun: counted(1, "run") is "1 run", counted(2, "run") "2 runs"; `many` for other plurals.
std::string counted(std::int64_t count, std::string_view one, std::string_view many = {});

/// Columns that a UTF-8 string takes on a terminal (wide East Asian characters take two, combining marks none).
std::size_t display_width(std::string_view text);

/// The same text without what could steer a terminal: control characters and broken UTF-8 become U+FFFD; newlines and
/// tabs become spaces.
std::string printable(std::string_view text);

/// Printable text that HTML and XML take literally, also inside attributes.
std::string escape_markup(std::string_view text);

/// The same words with single blanks between them, and "..." in place of what comes after `max_bytes`.
std::string on_one_line(std::string_view text, std::size_t max_bytes);

/// The last line that is more than blanks, without those at its end; "" when there is none.
std::string last_line(std::string_view text);

/// Words in lines of at most `width` columns; longer words are cut. At least one line.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// `text` cut to `width` columns, with "…" at the end where something is missing.
std::string shortened(std::string_view text, std::size_t width);

/// Padded with spaces to `width` columns.
std::string pad_right(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);

/// "3.2815"
std::string format_fixed(double value, int digits);
/// At least `digits` significant digits, never an exponent for ordinary sizes: 0.1234, 12.34, 1234.
std::string format_significant(double value, int digits);
/// Of a fraction: "12.5 %"
std::string format_percent(double fraction, int digits);
/// With its sign also above 0: "+0.0012"
std::string format_signed(double value, int digits);
/// The same of a fraction: "+1.2 %"
std::string format_signed_percent(double fraction, int digits);
/// "1.9 s", "2 min 05 s", "3 h 12 min"
std::string format_duration(double seconds);
/// "312 MiB", "1.4 GiB"
std::string format_bytes(double bytes);
/// "12,345"
std::string format_count(std::int64_t count);

/// Words as a POSIX shell takes them.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace nanobench

/// Readable text: lists and counts in words, numbers with sensible digits, widths as a terminal shows them, wrapping.
/// Pure, thread-safe. It is in the namespace above all folders, since all of them write text.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace nanobench {

/// The items joined by the separator: joined({"a", "b"}) is "a, b". Takes any range of strings or integers.
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

/// The items as listed in a sentence: "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& items, std::string_view last = "and");

/// The first `max` items and the number of remaining ones: "a, b and 3 more".
std::string listed_first(const std::vector<std::string>& items, std::size_t max, std::string_view separator = ", ");

/// A number and its noun: counted(1, "run") is "1 run", counted(2, "run") "2 runs"; `many` for other plurals.
std::string counted(std::int64_t count, std::string_view one, std::string_view many = {});

/// Columns that a UTF-8 string occupies on a terminal (wide East Asian characters take two, combining marks none).
std::size_t display_width(std::string_view text);

/// The same text, safe for a terminal: control characters and invalid UTF-8 become U+FFFD; newlines and tabs become
/// spaces.
std::string printable(std::string_view text);

/// Printable text, escaped so that HTML and XML show it literally, also inside attributes.
std::string escape_markup(std::string_view text);

/// The same words separated by single spaces, with "..." replacing everything after `max_bytes`.
std::string on_one_line(std::string_view text, std::size_t max_bytes);

/// Without the blanks at both ends.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n");

/// The parts between separators, also empty ones: "a,,b" has three. A separator at the end begins no further part, and
/// an empty text has none. They point into `text`, which must outlive them.
std::vector<std::string_view> split_at(std::string_view text, char separator);
/// The lines, without their newlines, as by split_at.
std::vector<std::string_view> split_lines(std::string_view text);
void split_at(std::same_as<std::string> auto&& temporary, char separator) = delete;
void split_lines(std::same_as<std::string> auto&& temporary) = delete;

/// The number if all of `text` is one of 0 or more, without a sign; else nullopt, also if it is too large.
std::optional<std::int64_t> parse_count(std::string_view text);

/// ASCII letters in lower case, everything else as it is.
std::string lower_case(std::string text);

/// To tell whether two messages are alike but for their numbers.
std::string without_digits(std::string text);

/// Up to the first newline.
std::string first_line(std::string_view text);

/// The last line that is not blank, without trailing blanks; "" if there is none.
std::string last_line(std::string_view text);

/// Splits the words into lines of at most `width` columns; longer words are cut. Returns at least one line.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// `text` cut to `width` columns, with "…" at the end if anything was cut.
std::string shortened(std::string_view text, std::size_t width);

/// Padded with spaces to `width` columns.
std::string pad_right(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);

/// "3.2815"
std::string format_fixed(double value, int digits);
/// At least `digits` significant digits, never an exponent for ordinary sizes: 0.1234, 12.34, 1234.
std::string format_significant(double value, int digits);
/// A ratio of measured numbers: three decimals from 0.1 to 10 ("1.034"), two significant digits beyond ("380").
std::string format_ratio(double ratio);
/// A fraction as a percentage: "12.5 %"
std::string format_percent(double fraction, int digits);
/// The same with significant digits: "0.123 %", "12.5 %"
std::string format_significant_percent(double fraction, int digits);
/// With a sign also for positive values: "+0.0012"
std::string format_signed(double value, int digits);
/// A fraction as a signed percentage: "+1.2 %"
std::string format_signed_percent(double fraction, int digits);
/// "1.9 s", "2 min 05 s", "3 h 12 min"
std::string format_duration(double seconds);
/// "312 MiB", "1.4 GiB"
std::string format_bytes(double bytes);
/// "12,345"
std::string format_count(std::int64_t count);

/// Words quoted for a POSIX shell.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace nanobench

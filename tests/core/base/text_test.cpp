#include "core/base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nanobench {
namespace {

TEST(Text, ListsAndCountsInWords) {
  EXPECT_EQ(joined(std::vector<std::string>{}), "");
  EXPECT_EQ(joined(std::vector<std::string>{"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(joined(std::set<std::string>{"b", "a"}, "; "), "a; b");
  EXPECT_EQ(joined({"", "b"}, "-"), "-b") << "an empty first item still stands before a separator";
  EXPECT_EQ(joined(std::set<std::uint64_t>{3, 1}, " "), "1 3");
  EXPECT_EQ(listed_first({"a", "b"}, 2), "a, b");
  EXPECT_EQ(listed_first({"a", "b", "c", "d"}, 2, "; "), "a; b and 2 more");
  EXPECT_EQ(format_signed_percent(0.0123, 1), "+1.2 %");
  EXPECT_EQ(format_signed_percent(-0.5, 0), "-50 %");
  EXPECT_EQ(listed({"a"}), "a");
  EXPECT_EQ(listed({"a", "b"}), "a and b");
  EXPECT_EQ(listed({"a", "b", "c"}, "or"), "a, b or c");
  EXPECT_EQ(counted(0, "run"), "0 runs");
  EXPECT_EQ(counted(1, "run"), "1 run");
  EXPECT_EQ(counted(2, "entry", "entries"), "2 entries");
}

TEST(Text, PartsLinesAndBlanks) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(split_at("a,,b", ','), (Parts{"a", "", "b"}));
  EXPECT_EQ(split_at(",a,", ','), (Parts{"", "a"}));
  EXPECT_EQ(split_at("a b", ','), (Parts{"a b"}));
  EXPECT_EQ(split_at("", ','), Parts{});
  EXPECT_EQ(split_at(",", ','), (Parts{""}));
  EXPECT_EQ(split_lines("a\r\n\nb"), (Parts{"a\r", "", "b"}));
  EXPECT_EQ(split_lines("a\n"), (Parts{"a"}));
  EXPECT_EQ(split_lines("\n"), (Parts{""}));
  EXPECT_EQ(trimmed(" \ta b\r\n"), "a b");
  EXPECT_EQ(trimmed(" \n"), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed("\v a\f", " \v\f"), "a");
  EXPECT_EQ(trimmed("--a-", "-"), "a");
}

TEST(Text, CountsAreDigitsAlone) {
  EXPECT_EQ(parse_count("0"), 0);
  EXPECT_EQ(parse_count("007"), 7);
  EXPECT_EQ(parse_count("9223372036854775807"), 9223372036854775807);
  for (const char* text : {"", "-1", "-0", "+1", " 1", "1 ", "1.0", "0x1", "one", "9223372036854775808"})
    EXPECT_EQ(parse_count(text), std::nullopt) << text;
}

TEST(Text, LettersAndDigits) {
  EXPECT_EQ(lower_case("ReadMe_1 Ä"), "readme_1 Ä");
  EXPECT_EQ(without_digits("step 12 of 300: 4x"), "step  of : x");
  EXPECT_EQ(without_digits("123"), "");
}

TEST(Text, LinesOfAProgramsOutput) {
  EXPECT_EQ(on_one_line(" a\n\tb  c \r\n", 100), "a b c");
  EXPECT_EQ(on_one_line("\n \t", 100), "");
  EXPECT_EQ(on_one_line("abcdef", 3), "abc...");
  EXPECT_EQ(last_line("a\nb c \r\n \n"), "b c");
  EXPECT_EQ(last_line("one"), "one");
  EXPECT_EQ(last_line(" \n"), "");
  EXPECT_EQ(last_line(""), "");
}

TEST(Text, WidthIsThatOfTheTerminal) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("±0.1"), 4U);
  EXPECT_EQ(display_width("日本"), 4U);
  EXPECT_EQ(display_width("e\xCC\x81"), 1U) << "a combining accent takes no column";
}

TEST(Text, NothingSteersTheTerminal) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\xEF\xBF\xBD[31mb");
  EXPECT_EQ(printable("two\nlines\tand a tab"), "two lines and a tab");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\xEF\xBF\xBD"
            "31m")
      << "C1 control";
  EXPECT_EQ(printable("\xE2\x80\xAE"
                      "abc"),
            "\xEF\xBF\xBD"
            "abc")
      << "right-to-left override";
  EXPECT_EQ(printable("no character: \xEF\xBF\xBE\xEF\xBF\xBF"), "no character: \xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(printable("broken \xff utf-8 \xe2\x82"), "broken \xEF\xBF\xBD utf-8 \xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(printable("ünï日😀"), "ünï日😀");
}

TEST(Text, AnyBytesAreSafe) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 40, ' ');
    for (char& c : bytes) c = static_cast<char>(random());
    const std::string text = printable(bytes);
    for (const char c : text) EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7F);
    for (const std::string& line : wrap(text, 7)) EXPECT_LE(display_width(line), 7U);
    EXPECT_LE(display_width(shortened(text, 5)), 5U);
  }
}

TEST(Text, WrapsAtBlanksAndCutsLongWords) {
  EXPECT_EQ(wrap("the quick brown fox", 9), (std::vector<std::string>{"the quick", "brown fox"}));
  EXPECT_EQ(wrap("abcdefgh ij", 3), (std::vector<std::string>{"abc", "def", "gh", "ij"}));
  EXPECT_EQ(wrap("", 5), (std::vector<std::string>{""}));
}

TEST(Text, ShortensWithAnEllipsis) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdefg", 6), "abcde…");
  EXPECT_EQ(shortened("abc", 0), "");
}

TEST(Text, PadsByColumns) {
  EXPECT_EQ(pad_left("±1", 4), "  ±1");
  EXPECT_EQ(pad_right("±1", 4), "±1  ");
  EXPECT_EQ(pad_left("long", 2), "long");
}

TEST(Text, Numbers) {
  EXPECT_EQ(format_fixed(3.28149, 4), "3.2815");
  EXPECT_EQ(format_fixed(std::nan(""), 4), "not a number");
  EXPECT_EQ(format_significant(12.345678, 4), "12.35");
  EXPECT_EQ(format_significant(1234.5678, 4), "1235");
  EXPECT_EQ(format_significant(0.0123456, 3), "0.0123");
  EXPECT_EQ(format_significant(0, 3), "0");
  EXPECT_EQ(format_ratio(1.03449), "1.034");
  EXPECT_EQ(format_ratio(0.0211), "0.021");
  EXPECT_EQ(format_ratio(381.446), "380");
  EXPECT_EQ(format_ratio(58.51), "59");
  EXPECT_EQ(format_ratio(99.7), "100");
  EXPECT_EQ(format_ratio(9.9996), "10.000");
  EXPECT_EQ(format_significant_percent(0.00123456, 3), "0.123 %");
  EXPECT_EQ(format_significant_percent(0.5, 2), "50 %");
  EXPECT_EQ(format_significant_percent(0, 3), "0 %");
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
  EXPECT_EQ(format_bytes(312.4 * 1024 * 1024), "312 MiB");
  EXPECT_EQ(format_bytes(1.5 * 1024 * 1024 * 1024), "1.50 GiB");
}

TEST(Text, Durations) {
  EXPECT_EQ(format_duration(1.94), "1.9 s");
  EXPECT_EQ(format_duration(59.4), "59 s");
  EXPECT_EQ(format_duration(125), "2 min 05 s");
  EXPECT_EQ(format_duration(3600 * 3 + 60 * 12), "3 h 12 min");
  EXPECT_EQ(format_duration(std::nan("")), "?");
}

}  // namespace
}  // namespace nanobench

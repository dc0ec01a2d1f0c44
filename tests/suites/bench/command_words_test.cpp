#include "suites/bench/command_words.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/process/command.h"
#include "tests/core/base/refusal_support.h"

namespace nanobench::suites {
namespace {

using Words = std::vector<std::string>;

/// What a POSIX shell makes of the text.
Words words_of_shell(const std::string& text) {
  const core::CommandResult result =
      core::run_command({"sh", "-c", R"(for word in )" + text + R"(; do printf '%s\0' "$word"; done)"});
  EXPECT_TRUE(result.is_success()) << text << ": " << result.err;
  return core::pieces_of(result.out);
}

TEST(CommandWords, AreThoseOfAShell) {
  for (const char* text : {"a b", "  a \t b  ", "'a b' c", "a'b c'd", "\"a b\" c", R"("a\"b" "a\\b" "a\nb" "a\$b")",
                           R"(a\ b c\\d \'e)", "'' \"\" x", "'a|b' \"a>b\" 'a$b' '*' \"'\"", "--x=1 a=b ./a.out -- -y",
                           "{n} a,b a#b a~b a%b [ a! @:+-", R"('it'\''s')"}) {
    EXPECT_EQ(command_words(text), words_of_shell(text)) << text;
  }
}

TEST(CommandWords, WhatOnlyAShellActsOnIsRefused) {
  for (const char* text : {"a | b", "a>b", "a < b", "a; b", "a & b", "a && b", "(a)", "echo $HOME", "echo `a`", "ls *",
                           "ls a?", "ls [ab]", "a\nb", "echo \"$HOME\"", "echo \"`a`\"", "ls ~", "a #b", "A=1 b"}) {
    const core::Refused refused = core::refusal_of([&] { command_words(text); });
    EXPECT_REFUSED_AS(refused, core::ErrorCode::kInvalidArgument, core::Reason::kNeedsShell, text);
    EXPECT_TRUE(refused.names("--shell")) << "the option that helps: " << refused.message;
  }
}

TEST(CommandWords, OpenQuotesAndNothingAreRefused) {
  for (const char* text : {"'a", "a\"b", "a\\"})
    EXPECT_REFUSAL(command_words(text), core::Reason::kOpenQuote, text) << text;
  for (const char* text : {"", "  "}) EXPECT_REFUSAL(command_words(text), core::Reason::kEmpty, "") << text;
}

}  // namespace
}  // namespace nanobench::suites

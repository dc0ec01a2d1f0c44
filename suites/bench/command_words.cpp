#include "suites/bench/command_words.h"

#include <cctype>
#include <optional>
#include <string_view>

#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;
using core::Reason;

constexpr std::string_view kActs = "|&;<>()$`*?\n";      ///< a shell acts on these outside of quotes
constexpr std::string_view kActsAtStart = "~#";          ///< and on these where a word begins
constexpr std::string_view kEscapedInQuotes = "$`\"\\";  ///< characters that \ keeps inside of "..."

/// Whether the word is NAME=..., which sets a variable before a command.
bool sets_variable(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0 || std::isdigit(static_cast<unsigned char>(word[0])) != 0)
    return false;
  for (const char c : word.substr(0, equals)) {
    if (c != '_' && std::isalnum(static_cast<unsigned char>(c)) == 0) return false;
  }
  return true;
}

class WordSplitter {
 public:
  explicit WordSplitter(const std::string& text) : text_(text) {}

  std::vector<std::string> split() {
    while (at_ < text_.size()) take();
    end_word();
    if (words_.empty())
      throw core::Refusal(ErrorCode::kInvalidArgument, Reason::kEmpty, "a command is empty; name a program");
    return words_;
  }

 private:
  void take() {
    const char c = text_[at_];
    if (c == ' ' || c == '\t') {
      ++at_;
      return end_word();
    }
    const bool is_at_start = !word_;
    if (c == '\'') return take_single_quotes();
    if (c == '"') return take_double_quotes();
    if (c == '\\') return take_escape();
    if (kActs.find(c) != std::string_view::npos || (is_at_start && kActsAtStart.find(c) != std::string_view::npos))
      refuse_character(c, "an unquoted ");
    if (c == '[' && text_.find(']', at_) < text_.find_first_of(" \t", at_)) refuse_character(c, "an unquoted ");
    if (c == '=' && words_.empty() && !is_quoted_ && sets_variable(word_.value_or("") + "=")) {
      refuse(Reason::kNeedsShell,
             "sets a variable before the program, which only a shell does; add --shell, or begin with env: \"env " +
                 text_ + "\"");
    }
    add(c);
    ++at_;
  }

  void take_single_quotes() {
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == std::string::npos) refuse(Reason::kOpenQuote, "has a quote (') that is not closed");
    begin_quoted();
    *word_ += text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
  }

  void take_double_quotes() {
    begin_quoted();
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      const char c = text_[at_];
      if (c == '$' || c == '`') refuse_character(c, "inside of double quotes a ");
      const bool is_escape =
          c == '\\' && at_ + 1 < text_.size() && kEscapedInQuotes.find(text_[at_ + 1]) != std::string_view::npos;
      if (is_escape) ++at_;
      add(text_[at_]);
    }
    if (at_ >= text_.size()) refuse(Reason::kOpenQuote, "has a quote (\") that is not closed");
    ++at_;
  }

  void take_escape() {
    if (at_ + 1 >= text_.size()) refuse(Reason::kOpenQuote, "ends with a \\ that keeps nothing");
    begin_quoted();
    add(text_[at_ + 1]);
    at_ += 2;
  }

  void begin_quoted() {
    is_quoted_ = true;
    if (!word_) word_.emplace();
  }
  void add(char c) {
    if (!word_) word_.emplace();
    *word_ += c;
  }
  void end_word() {
    if (word_) words_.push_back(*word_);
    word_.reset();
    is_quoted_ = false;
  }

  [[noreturn]] void refuse(Reason reason, const std::string& why) const {
    throw core::Refusal(ErrorCode::kInvalidArgument, reason, "the command '" + text_ + "' " + why, text_);
  }
  [[noreturn]] void refuse_character(char c, const std::string& where) const {
    const std::string name = c == '\n' ? "line break" : std::string(1, c);
    refuse(Reason::kNeedsShell,
           "has " + where + name + ", which only a shell acts on; add --shell, or quote it with '...'");
  }

  const std::string& text_;
  std::size_t at_ = 0;
  std::vector<std::string> words_;
  std::optional<std::string> word_;  ///< the word that is being read
  bool is_quoted_ = false;           ///< a part of it is quoted
};

}  // namespace

std::vector<std::string> command_words(const std::string& text) {
  return WordSplitter(text).split();
}

}  // namespace nanobench::suites

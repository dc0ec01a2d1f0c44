#include "results/import/script_identity.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

#include "core/base/digest.h"
#include "core/base/text.h"

namespace nanobench::results {
namespace {

struct Token {
  enum class Kind { kWord, kNumber, kString, kOperator };
  Kind kind = Kind::kOperator;
  std::string_view text;
  int depth = 0;                   ///< brackets around it; a bracket has the depth outside it
  std::optional<ScriptPart> part;  ///< left out as this part

  bool is(std::string_view other) const { return text == other; }
  bool is_code() const { return !part.has_value(); }
};

constexpr std::size_t kMaxScript = std::size_t{16} << 20;  // bytes; the public ones have up to 150,000
constexpr std::size_t kMaxTokens = 50'000;                 // of one statement: damage may leave a bracket open

/// One logical line: it goes on while a bracket is open.
using Statement = std::vector<Token>;

bool is_word_byte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Cuts a text into logical lines.
class ScriptReader {
 public:
  explicit ScriptReader(std::string_view text) : text_(text) {}

  /// The next logical line with a token; false at the end. Comments in between are added to `comments`.
  bool next(Statement& statement, std::size_t& indent, std::string& comments) {
    statement.clear();
    int depth = 0;
    std::size_t line_start = at_;
    while (at_ < text_.size() && statement.size() < kMaxTokens) {
      const char c = text_[at_];
      if (c == '\n') {
        ++at_;
        if (!statement.empty() && depth == 0) return true;
        line_start = at_;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
        ++at_;
      } else if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') {
        at_ += 2;
      } else if (c == '#') {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        comments.append(text_.substr(at_, end - at_)).push_back('\n');
        at_ = end;
      } else {
        if (statement.empty()) indent = at_ - line_start;
        statement.push_back(take_token(depth));
      }
    }
    return !statement.empty();
  }

 private:
  Token take_token(int& depth) {
    const std::size_t start = at_;
    Token token{.depth = depth};
    const std::size_t prefix = string_prefix();
    if (prefix != std::string_view::npos) {
      token.kind = Token::Kind::kString;
      at_ += prefix;
      skip_string();
    } else if (is_digit(text_[at_])) {
      token.kind = Token::Kind::kNumber;
      skip_number();
    } else if (is_word_byte(text_[at_])) {
      token.kind = Token::Kind::kWord;
      while (at_ < text_.size() && is_word_byte(text_[at_])) ++at_;
    } else {
      at_ += operator_bytes();
      const char c = text_[start];
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') token.depth = depth = std::max(depth - 1, 0);
    }
    token.text = text_.substr(start, at_ - start);
    return token;
  }

  /// Letters before the quote of a string that begins here: 0 to 2; npos if none begins here.
  std::size_t string_prefix() const {
    for (std::size_t letters = 0; letters <= 2 && at_ + letters < text_.size(); ++letters) {
      const char c = text_[at_ + letters];
      if (c == '"' || c == '\'') return letters;
      if (std::string_view("rRbBfFuU").find(c) == std::string_view::npos) break;
    }
    return std::string_view::npos;
  }

  /// From its quote on. A string that is never closed ends with its line, a triple one with the text.
  void skip_string() {
    const char quote = text_[at_];
    const auto has_three = [&] { return at_ + 2 < text_.size() && text_[at_ + 1] == quote && text_[at_ + 2] == quote; };
    const bool is_triple = has_three();
    at_ += is_triple ? 3 : 1;
    while (at_ < text_.size()) {
      if (text_[at_] == '\\') {
        at_ = std::min(at_ + 2, text_.size());
      } else if (text_[at_] == quote && (!is_triple || has_three())) {
        at_ += is_triple ? 3 : 1;
        return;
      } else if (text_[at_] == '\n' && !is_triple) {
        return;
      } else {
        ++at_;
      }
    }
  }

  void skip_number() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool is_sign = (c == '+' || c == '-') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
      if (!is_word_byte(c) && c != '.' && !is_sign) return;
      ++at_;
    }
  }

  std::size_t operator_bytes() const {
    constexpr std::array<std::string_view, 14> kPairs = {
        "->", "==", "<=", ">=", "!=", ":=", "+=", "-=", "*=", "/=", "**", "//", "|=", "&="};
    return std::find(kPairs.begin(), kPairs.end(), text_.substr(at_, 2)) == kPairs.end() ? 1 : 2;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Leaves out the tokens [begin, end) as annotations, unless Triton reads them.
void leave_out_annotation(Statement& statement, std::size_t begin, std::size_t end) {
  const auto first = statement.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = statement.begin() + static_cast<std::ptrdiff_t>(end);
  if (std::any_of(first, last, [](const Token& token) { return token.is("constexpr"); })) return;
  for (auto token = first; token != last; ++token) token->part = ScriptPart::kAnnotations;
}

/// The first token from `start` on at this depth that is one of `ends`; the statement's size if there is none.
std::size_t find_end(const Statement& statement, std::size_t start, int depth, std::string_view ends) {
  for (std::size_t i = start; i < statement.size(); ++i) {
    if (statement[i].depth <= depth && statement[i].text.size() == 1 &&
        ends.find(statement[i].text.front()) != std::string_view::npos)
      return i;
  }
  return statement.size();
}

/// "def f(a: int = 1, *b: str) -> T:"
void leave_out_signature(Statement& statement) {
  bool has_default = false;  // a colon after "=" belongs to a lambda
  for (std::size_t i = 1; i < statement.size(); ++i) {
    const Token& token = statement[i];
    if (token.depth == 1 && token.is(",")) has_default = false;
    if (token.depth == 1 && token.is("=")) has_default = true;
    if (token.depth == 1 && token.is(":") && !has_default) {
      // The parameter ends at a comma or a default beside it, or at the bracket around it, which has depth 0.
      std::size_t end = i;
      while (end < statement.size() && statement[end].depth >= 1 &&
             !(statement[end].depth == 1 && (statement[end].is(",") || statement[end].is("="))))
        ++end;
      leave_out_annotation(statement, i, end);
      i = end - 1;
    } else if (token.depth == 0 && token.is("->")) {
      const std::size_t end = find_end(statement, i, 0, ":");
      leave_out_annotation(statement, i, end);
      i = end;
    }
  }
}

/// "name: T = value", "self.name: T"
void leave_out_variable_annotation(Statement& statement) {
  constexpr std::array<std::string_view, 4> kKeywords = {"else", "try", "finally", "lambda"};
  std::size_t i = 0;
  while (i + 2 < statement.size() && statement[i].kind == Token::Kind::kWord && statement[i + 1].is(".")) i += 2;
  if (i + 2 >= statement.size() || statement[i].kind != Token::Kind::kWord || !statement[i + 1].is(":")) return;
  if (std::find(kKeywords.begin(), kKeywords.end(), statement[i].text) != kKeywords.end()) return;
  leave_out_annotation(statement, i + 1, find_end(statement, i + 2, 0, "="));
}

void leave_out_annotations(Statement& statement) {
  const bool is_async = statement.size() > 1 && statement[0].is("async") && statement[1].is("def");
  if (statement[0].is("def") || is_async) {
    leave_out_signature(statement);
  } else {
    leave_out_variable_annotation(statement);
  }
}

bool names_a_run(std::string_view word) {
  constexpr std::array<std::string_view, 11> kNames = {"run_id",    "run_name",   "runid",   "exp_name",
                                                       "exp_id",    "experiment", "logfile", "log_file",
                                                       "log_fname", "logdir",     "log_dir"};
  return std::find(kNames.begin(), kNames.end(), lower_case(std::string(word))) != kNames.end();
}

bool names_a_seed(std::string_view word) {
  const std::string name = lower_case(std::string(word));
  return name.ends_with("seed") || name.ends_with("seed_all");
}

/// The part that a number given to this name is; absent for code.
std::optional<ScriptPart> part_of_number(std::string_view name) {
  if (names_a_seed(name)) return ScriptPart::kSeeds;
  if (name == "val_loss_every" || name == "save_every") return ScriptPart::kIntervals;
  return std::nullopt;
}

/// 8-4-4-4-12 hexadecimal digits.
bool holds_uuid(std::string_view text) {
  constexpr std::string_view kForm = "00000000-0000-0000-0000-000000000000";
  const auto fits = [&](std::string_view part) {
    return std::equal(kForm.begin(), kForm.end(), part.begin(), [](char form, char c) {
      return form == '0' ? std::isxdigit(static_cast<unsigned char>(c)) != 0 : c == form;
    });
  };
  for (std::size_t dash = text.find('-'); dash != std::string_view::npos; dash = text.find('-', dash + 1)) {
    if (dash >= 8 && dash - 8 + kForm.size() <= text.size() && fits(text.substr(dash - 8, kForm.size()))) return true;
  }
  return false;
}

/// The token before `i` that is code; nullptr if there is none.
const Token* code_before(const Statement& statement, std::size_t i) {
  while (i-- > 0) {
    if (statement[i].is_code()) return &statement[i];
  }
  return nullptr;
}

/// Strings and numbers that follow "name =" or "name(".
void leave_out_values(Statement& statement) {
  std::string_view name;  // the last word before "=" or "(", while only its value followed
  for (std::size_t i = 1; i < statement.size(); ++i) {
    Token& token = statement[i];
    if (!token.is_code()) continue;
    if (token.is("=") || token.is("(")) {
      const Token* before = code_before(statement, i);
      name = before != nullptr && before->kind == Token::Kind::kWord ? before->text : std::string_view();
    } else if (token.kind == Token::Kind::kString && names_a_run(name)) {
      token.part = ScriptPart::kRunNames;
    } else {
      if (token.kind == Token::Kind::kNumber) token.part = part_of_number(name);
      name = {};
    }
  }
}

bool makes_folder(const Statement& statement) {
  return statement.size() > 3 && statement[0].is("os") && (statement[2].is("makedirs") || statement[2].is("mkdir"));
}

void leave_out_strings(Statement& statement) {
  const bool prints = statement[0].text.starts_with("print") && statement.size() > 1 && statement[1].is("(");
  const bool is_folder = makes_folder(statement);
  for (Token& token : statement) {
    if (token.kind != Token::Kind::kString || !token.is_code()) continue;
    const bool is_plain =
        token.text.find('{') == std::string_view::npos && token.text.find("val_loss") == std::string_view::npos;
    if (is_folder || holds_uuid(token.text)) {
      token.part = ScriptPart::kRunNames;
    } else if (prints && is_plain) {
      token.part = ScriptPart::kMessages;
    }
  }
}

void leave_out_parts(Statement& statement) {
  const bool is_docstring = std::all_of(statement.begin(), statement.end(),
                                        [](const Token& token) { return token.kind == Token::Kind::kString; });
  if (is_docstring) {
    for (Token& token : statement) token.part = ScriptPart::kComments;
    return;
  }
  leave_out_annotations(statement);
  leave_out_values(statement);
  leave_out_strings(statement);
}

}  // namespace

ScriptIdentity identify_script(std::string_view python) {
  if (python.size() > kMaxScript) return {.code = core::digest_of(python), .parts = {}};
  std::string code;
  code.reserve(python.size());
  std::array<std::string, kScriptParts> parts;
  ScriptReader reader(python);
  Statement statement;
  std::size_t indent = 0;
  while (reader.next(statement, indent, parts[static_cast<std::size_t>(ScriptPart::kComments)])) {
    leave_out_parts(statement);
    const bool has_code =
        std::any_of(statement.begin(), statement.end(), [](const Token& token) { return token.is_code(); });
    if (has_code) code += std::to_string(indent);
    for (const Token& token : statement) {
      std::string& place = token.is_code() ? code : parts[static_cast<std::size_t>(*token.part)];
      place.append(" ").append(token.text);
      // What stays of a name, a seed or an interval is that there is one.
      const bool has_place = token.part && *token.part != ScriptPart::kComments &&
                             *token.part != ScriptPart::kAnnotations && *token.part != ScriptPart::kMessages;
      if (has_place) code += " ?";
    }
    if (has_code) code += '\n';
  }
  ScriptIdentity identity{.code = core::digest_of(code)};
  for (std::size_t i = 0; i < kScriptParts; ++i) identity.parts[i] = core::digest_of(parts[i]);
  return identity;
}

}  // namespace nanobench::results

#include "core/protocol/step_line.h"

#include <charconv>
#include <limits>

namespace nanobench::core {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Walks over one line. Every reader returns false, or nullopt, at the first thing that is not plain.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool is_at_end() {
    skip_spaces();
    return at_ == text_.size();
  }

  bool take(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  /// A string of printable ASCII without escapes.
  std::optional<std::string_view> plain_string() {
    if (!take('"')) return std::nullopt;
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] < 0x20 || text_[at_] > 0x7e || text_[at_] == '\\') return std::nullopt;
      ++at_;
    }
    if (at_ == text_.size()) return std::nullopt;
    return text_.substr(start, at_++ - start);
  }

  bool null() {
    skip_spaces();
    if (text_.substr(at_, 4) != "null") return false;
    at_ += 4;
    return true;
  }

  /// A JSON number within the range of doubles.
  std::optional<double> number() {
    const std::string_view token = number_token();
    if (token == "-0") return std::nullopt;  // a whole number to the general reader, and so without a sign
    double value = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (token.empty() || error != std::errc() || end != token.data() + token.size()) return std::nullopt;
    return value;
  }

  /// A JSON number without fraction and exponent.
  std::optional<std::int64_t> integer() {
    const std::string_view token = number_token();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (token.empty() || error != std::errc() || end != token.data() + token.size()) return std::nullopt;
    return value;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  std::size_t digits() {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ - start;
  }

  /// By JSON's grammar, which is narrower than from_chars; empty when there is none.
  std::string_view number_token() {
    skip_spaces();
    const std::size_t start = at_;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    const bool has_leading_zero = at_ < text_.size() && text_[at_] == '0';
    const std::size_t whole = digits();
    if (whole == 0 || (has_leading_zero && whole > 1)) return {};
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      if (digits() == 0) return {};
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (digits() == 0) return {};
    }
    return text_.substr(start, at_ - start);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// The keys of a step event, each a bit of what was seen.
enum Key : unsigned {
  kEvent = 1,
  kStep = 2,
  kLoss = 4,
  kStepMs = 8,
  kTrainMs = 16,
  kWindow = 32,
  kRate = 64,
  kPhases = 128,
  kRequired = kEvent | kStep | kLoss | kStepMs | kWindow | kRate | kPhases
};

unsigned key_of(std::string_view name) {
  if (name == "event") return kEvent;
  if (name == "step") return kStep;
  if (name == "loss") return kLoss;
  if (name == "step_ms") return kStepMs;
  if (name == "train_ms") return kTrainMs;
  if (name == "window_tokens") return kWindow;
  if (name == "learning_rate_factor") return kRate;
  if (name == "phases_ms") return kPhases;
  return 0;
}

template <class Value>
bool assign(Value& target, const std::optional<Value>& value) {
  if (value) target = *value;
  return value.has_value();
}

bool read_nullable(Cursor& cursor, double& target) {
  if (!cursor.null()) return assign(target, cursor.number());
  target = std::numeric_limits<double>::quiet_NaN();
  return true;
}

bool read_phases(Cursor& cursor, std::map<std::string, double>& phases) {
  if (!cursor.take('{')) return false;
  if (cursor.take('}')) return true;
  do {
    const std::optional<std::string_view> name = cursor.plain_string();
    if (!name || !cursor.take(':')) return false;
    const std::optional<double> ms = cursor.number();
    if (!ms || !phases.emplace(*name, *ms).second) return false;
  } while (cursor.take(','));
  return cursor.take('}');
}

bool read_value(Cursor& cursor, unsigned key, StepEvent& event) {
  switch (key) {
    case kEvent: return cursor.plain_string() == "step";
    case kStep: return assign(event.step, cursor.integer());
    case kLoss: return read_nullable(cursor, event.loss);
    case kStepMs: return read_nullable(cursor, event.step_ms);
    case kTrainMs:
      if (cursor.null()) return true;
      event.train_ms = cursor.number();
      return event.train_ms.has_value();
    case kWindow: return assign(event.window_tokens, cursor.integer());
    case kRate: return assign(event.learning_rate_factor, cursor.number());
    case kPhases: return read_phases(cursor, event.phases_ms);
    default: return false;
  }
}

}  // namespace

std::optional<StepEvent> read_step_line(std::string_view line) {
  Cursor cursor(line);
  StepEvent event;
  unsigned seen = 0;
  if (!cursor.take('{')) return std::nullopt;
  do {
    const std::optional<std::string_view> name = cursor.plain_string();
    if (!name || !cursor.take(':')) return std::nullopt;
    const unsigned key = key_of(*name);
    if ((seen & key) != 0 || !read_value(cursor, key, event)) return std::nullopt;
    seen |= key;
  } while (cursor.take(','));
  if (!cursor.take('}') || !cursor.is_at_end() || (seen & kRequired) != kRequired) return std::nullopt;
  return event;
}

}  // namespace nanobench::core

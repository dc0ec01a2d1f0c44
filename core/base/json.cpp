#include "core/base/json.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/base/reason.h"
#include "core/base/text.h"

namespace nanobench::core {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string escaped(const std::string& key) {
  std::string out;
  for (const char c : key) out += c == '~' ? std::string("~0") : c == '/' ? std::string("~1") : std::string(1, c);
  return out;
}

std::string preview(const Json& value) {
  std::string text = safe_dump(value);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

constexpr std::size_t kMaxReason = 300;
constexpr std::size_t kMaxOrderedKeys = 10'000;  // they are found by going through all

/// Builds a value from the events of the parser, and stops it at the first thing that is not allowed.
template <class AnyJson>
class JsonBuilder {
 public:
  using number_integer_t = typename AnyJson::number_integer_t;
  using number_unsigned_t = typename AnyJson::number_unsigned_t;
  using number_float_t = typename AnyJson::number_float_t;
  using string_t = typename AnyJson::string_t;
  using binary_t = typename AnyJson::binary_t;

  explicit JsonBuilder(std::string_view text) : text_(text) {}

  AnyJson& value() { return root_; }
  Reason reason() const { return reason_; }
  const std::string& problem() const { return problem_; }

  bool null() { return add(nullptr) != nullptr; }
  bool boolean(bool value) { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) { return add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) { return add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t& /*text*/) { return add(value) != nullptr; }
  bool string(string_t& value) { return add(std::move(value)) != nullptr; }
  bool binary(binary_t& value) { return add(std::move(value)) != nullptr; }
  bool start_object(std::size_t /*unknown*/) { return open(AnyJson::object()); }
  bool start_array(std::size_t /*unknown*/) { return open(AnyJson::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(string_t& name) {
    AnyJson& object = *open_.back();
    if (std::is_same_v<AnyJson, OrderedJson> && object.size() >= kMaxOrderedKeys)
      return stop(Reason::kTooMany, "an object has more than " + std::to_string(kMaxOrderedKeys) + " keys");
    const auto [member, is_new] = object.emplace(name, nullptr);
    if (!is_new)
      return stop(Reason::kRepeated,
                  "the key \"" + on_one_line(name, kMaxReason) + "\" appears twice in one object; keep one of them");
    member_ = &*member;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token, const Json::exception& error) {
    if (dynamic_cast<const Json::out_of_range*>(&error) == nullptr)
      return stop(Reason::kMalformed, "not valid JSON: " + words_of(error));
    const std::string_view before = text_.substr(0, position);
    return stop(Reason::kTooLarge, "the number " + shortened(token, 40) + " at line " +
                                       std::to_string(std::count(before.begin(), before.end(), '\n') + 1) +
                                       " is too large; the largest is about 1.8e308");
  }

 private:
  bool stop(Reason reason, std::string problem) {
    reason_ = reason;
    problem_ = std::move(problem);
    return false;
  }

  AnyJson* add(AnyJson value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) {
      open_.back()->push_back(std::move(value));
      return &open_.back()->back();
    }
    *member_ = std::move(value);
    return member_;
  }

  bool open(AnyJson value) {
    if (open_.size() == kMaxJsonDepth)
      return stop(Reason::kTooDeep,
                  "lists and objects lie in each other more than " + std::to_string(kMaxJsonDepth) + " deep");
    open_.push_back(add(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  AnyJson root_;
  std::vector<AnyJson*> open_;  ///< the lists and objects that are not complete, the outermost first
  AnyJson* member_ = nullptr;   ///< of the innermost object: the value that comes next
  Reason reason_ = Reason::kNone;
  std::string problem_;
};

/// Whether // and /* */ are skipped, or refused.
enum class Comments { kRefused, kSkipped };

template <class AnyJson>
AnyJson parse(std::string_view text, const std::string& source, Comments comments = Comments::kRefused) {
  JsonBuilder<AnyJson> builder(text);
  if (!AnyJson::sax_parse(text, &builder, AnyJson::input_format_t::json, /*strict=*/true,
                          comments == Comments::kSkipped))
    throw Refusal(ErrorCode::kInvalidArgument, builder.reason(), source + ": " + builder.problem(), source);
  return std::move(builder.value());
}

template <class AnyJson>
AnyJson parsed_or_null(std::string_view text) {
  JsonBuilder<AnyJson> builder(text);
  return AnyJson::sax_parse(text, &builder) ? std::move(builder.value()) : AnyJson();
}

}  // namespace

std::string as_utf8(const std::string& text) {
  return Json::parse(safe_dump(Json(text))).get<std::string>();
}

std::string words_of(const Json::exception& error) {
  const std::string what = error.what();  // "[json.exception.parse_error.101] parse error at line 3, column 7: ..."
  const std::size_t start = what.find("] ");
  return on_one_line(start == std::string::npos ? what : what.substr(start + 2), kMaxReason);
}

void fail_to_read_values(const std::string& what, const Json::exception& error, ErrorCode code) {
  throw Refusal(code, Reason::kUnfit, what + ": " + words_of(error), what);
}

Json parse_json(std::string_view text, const std::string& source) {
  return parse<Json>(text, source);
}

OrderedJson parse_ordered_json(std::string_view text, const std::string& source) {
  return parse<OrderedJson>(text, source);
}

Json json_or_null(std::string_view text) {
  return parsed_or_null<Json>(text);
}

OrderedJson ordered_json_or_null(std::string_view text) {
  return parsed_or_null<OrderedJson>(text);
}

std::string string_in(const Json& object, const std::string& key, const std::string& fallback) {
  const auto member = object.find(key);
  return member != object.end() && member->is_string() ? member->get<std::string>() : fallback;
}

Json read_json_file(const std::filesystem::path& file, const InputLimit& limit) {
  std::string text;
  if (const auto problem = read_input(file, limit, text))
    fail_to_read(file.string(), *problem, problem->trouble == InputTrouble::kMissing ? "check the path" : "");
  return parse<Json>(text, file.string(), Comments::kSkipped);
}

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& known) {
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 2) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& known) {
  const std::optional<std::string> nearest = nearest_name(name, known);
  return nearest ? " (did you mean \"" + *nearest + "\"?)" : "";
}

std::string json_location(const std::string& source, const std::string& pointer) {
  if (source.empty()) return pointer.empty() ? "/" : pointer;
  return source + ": " + (pointer.empty() ? "/" : pointer);
}

LocatedError::LocatedError(ErrorCode code, Reason reason, const std::string& source, std::vector<std::string> pointers,
                           const std::string& detail)
    : Refusal(code, reason, json_location(source, pointers.front()) + ": " + detail, pointers.front()),
      source_(source),
      pointers_(std::move(pointers)) {}

JsonObject::JsonObject(const Json& value, std::string source, std::string pointer)
    : value_(&value), source_(std::move(source)), pointer_(std::move(pointer)) {
  if (!value.is_object())
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kWrongType,
                  json_location(source_, pointer_) + ": expected an object, got " + preview(value), pointer_);
}

bool JsonObject::has(const std::string& key) const {
  return value_->contains(key);
}

const Json* JsonObject::find(const std::string& key) {
  const auto member = value_->find(key);
  if (member == value_->end()) {
    absent_.push_back(key);
    return nullptr;
  }
  if (found_.empty() || found_.back() != &*member) found_.push_back(&*member);
  return found_.back();
}

const Json& JsonObject::at(const std::string& key) {
  const Json* member = find(key);
  if (member == nullptr)
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kMissingKey,
                  json_location(source_, pointer_) + ": the key \"" + key + "\" is missing", pointer_to(key));
  return *member;
}

JsonObject JsonObject::object(const std::string& key) {
  return JsonObject(at(key), source_, pointer_to(key));
}

std::string JsonObject::string(const std::string& key) {
  const Json& member = at(key);
  if (!member.is_string()) fail(key, Reason::kWrongType, "expected a string, got " + preview(member));
  return member.get<std::string>();
}

std::string JsonObject::string_or(const std::string& key, const std::string& fallback) {
  return find(key) == nullptr ? fallback : string(key);
}

std::int64_t JsonObject::integer(const std::string& key, std::int64_t low, std::int64_t high) {
  const Json& member = at(key);
  const bool is_whole = member.is_number_integer() ||
                        (member.is_number_float() && std::trunc(member.get<double>()) == member.get<double>());
  if (!is_whole) fail(key, Reason::kWrongType, "expected a whole number, got " + preview(member));
  // 2^63 and more do not fit; converting such a float is undefined.
  const bool fits = member.is_number_float() ? std::abs(member.get<double>()) < 0x1p63
                                             : !member.is_number_unsigned() ||
                                                   member.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX);
  const std::int64_t value = fits ? member.get<std::int64_t>() : INT64_MAX;
  if (!fits || value < low || value > high) {
    fail(key, Reason::kOutOfRange,
         "expected " + std::to_string(low) + " to " + std::to_string(high) + ", got " + preview(member));
  }
  return value;
}

std::int64_t JsonObject::integer_or(const std::string& key, std::int64_t fallback, std::int64_t low,
                                    std::int64_t high) {
  return find(key) == nullptr ? fallback : integer(key, low, high);
}

double JsonObject::number(const std::string& key, double low, double high) {
  const Json& member = at(key);
  if (!member.is_number()) fail(key, Reason::kWrongType, "expected a number, got " + preview(member));
  const double value = member.get<double>();
  if (!(value >= low && value <= high)) {
    std::ostringstream text;
    text << "expected " << low << " to " << high << ", got " << preview(member);
    fail(key, Reason::kOutOfRange, text.str());
  }
  return value;
}

bool JsonObject::boolean_or(const std::string& key, bool fallback) {
  const Json* member = find(key);
  if (member == nullptr) return fallback;
  if (!member->is_boolean()) fail(key, Reason::kWrongType, "expected true or false, got " + preview(*member));
  return member->get<bool>();
}

std::vector<std::string> JsonObject::strings_or_empty(const std::string& key) {
  const Json* member = find(key);
  std::vector<std::string> values;
  if (member == nullptr) return values;
  if (!member->is_array()) fail(key, Reason::kWrongType, "expected a list of strings, got " + preview(*member));
  for (const Json& item : *member) {
    if (!item.is_string()) fail(key, Reason::kWrongType, "expected a list of strings, got " + preview(item) + " in it");
    values.push_back(item.get<std::string>());
  }
  return values;
}

std::map<std::string, std::string> JsonObject::named_strings_or_empty(const std::string& key) {
  std::map<std::string, std::string> texts;
  const Json* member = find(key);
  if (member == nullptr) return texts;
  JsonObject members = object(key);
  for (const auto& [name, unused] : member->items()) texts[name] = members.string(name);
  return texts;
}

void JsonObject::fail(const std::string& key, Reason reason, const std::string& message) const {
  throw LocatedError(ErrorCode::kInvalidArgument, reason, source_, {pointer_to(key)}, message);
}

void JsonObject::fail(const std::string& key, const std::string& message) const {
  fail(key, Reason::kBadValue, message);
}

void JsonObject::fail_unknown_name(const std::string& key, const std::string& expected, const std::string& text,
                                   const std::vector<std::string>& known) const {
  fail(key, Reason::kUnknownName, "expected " + expected + ", got \"" + text + "\"" + suggestion(text, known));
}

void JsonObject::finish() const {
  std::vector<const Json*> found = found_;
  std::sort(found.begin(), found.end());
  const auto is_found = [&](const Json& member) { return std::binary_search(found.begin(), found.end(), &member); };
  for (auto member = value_->begin(); member != value_->end(); ++member) {
    if (is_found(*member)) continue;
    std::set<std::string> known(absent_.begin(), absent_.end());
    for (auto other = value_->begin(); other != value_->end(); ++other) {
      if (is_found(*other)) known.insert(other.key());
    }
    fail(member.key(), Reason::kUnknownKey, "unknown key" + suggestion(member.key(), {known.begin(), known.end()}));
  }
}

std::string JsonObject::pointer_to(const std::string& key) const {
  return pointer_ + "/" + escaped(key);
}

}  // namespace nanobench::core

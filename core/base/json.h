/// Reads JSON, the only place that does: every error names the file and the JSON pointer, and unknown keys are errors
/// that suggest the nearest known name. No text harms its reader: depth and size are limited, and what JSON cannot
/// hold (1e999, a repeated key) is an error. Thread-safe: no shared state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/json_serializer.h"
#include "core/base/refusal.h"

namespace nanobench::core {

template <template <class, class, class...> class Object>
using JsonOf = nlohmann::basic_json<Object, std::vector, std::string, bool, std::int64_t, std::uint64_t, double,
                                    std::allocator, JsonSerializer>;
using Json = JsonOf<std::map>;                      ///< keys sorted: canonical dumps
using OrderedJson = JsonOf<nlohmann::ordered_map>;  ///< keys in insertion order: readable output

/// Levels of objects and lists in each other. No document of nanobench has 20; writing and comparing values recurse.
inline constexpr std::size_t kMaxJsonDepth = 100;
/// The limit of a file that a person writes: values take up to 25 times the memory of their text.
inline constexpr InputLimit kJsonDocument{std::uint64_t{16} << 20,
                                          "no suite, configuration or catalogue entry is larger"};
/// The limit of a file that nanobench writes for itself: a plan, a profile.
inline constexpr InputLimit kJsonExchange{std::uint64_t{1} << 30, "no plan or profile is larger"};

/// Parses a whole file, in which people may write comments (// to the end of the line, /* */). Throws Error{kNotFound},
/// {kIo}, and {kInvalidArgument} for what is no file, is too large, or is refused by parse_json.
Json read_json_file(const std::filesystem::path& file, const InputLimit& limit = kJsonDocument);

/// Parses text; `source` names it in errors. Throws Error{kInvalidArgument} with line and column when malformed, when
/// an object repeats a key, for numbers beyond the range of doubles and beyond kMaxJsonDepth. Comments are not JSON.
Json parse_json(std::string_view text, const std::string& source);
/// The same, with the keys in the order of the text. An object may have 10,000 keys.
OrderedJson parse_ordered_json(std::string_view text, const std::string& source);

/// The value of a text, or null for any text that parse_json refuses: for what other programs, or older versions,
/// wrote.
Json json_or_null(std::string_view text);
OrderedJson ordered_json_or_null(std::string_view text);

/// The member of an object if it is a string, else `fallback`.
std::string string_in(const Json& object, const std::string& key, const std::string& fallback = "");

/// Why a value could not be read as what it should be, in words, without the library's numbers.
std::string words_of(const Json::exception& error);
/// Throws Refusal{code, Reason::kUnfit, "WHAT: reason", WHAT}.
[[noreturn]] void fail_to_read_values(const std::string& what, const Json::exception& error, ErrorCode code);

/// Calls `read`, which takes values apart with get() and at(). Throws as fail_to_read_values where they do not
/// fit.
template <class Read>
auto read_values(const std::string& what, Read&& read, ErrorCode code = ErrorCode::kInvalidArgument) {
  try {
    return read();
  } catch (const Json::exception& error) {
    fail_to_read_values(what, error, code);
  }
}

/// The text of a value; bytes that are not UTF-8 become U+FFFD. `indent`: spaces of a level; -1: one line.
template <class AnyJson>
std::string safe_dump(const AnyJson& json, int indent = -1) {
  return json.dump(indent, ' ', false, AnyJson::error_handler_t::replace);
}

/// The same text with U+FFFD in place of what is not UTF-8: file names and output of programs may hold any bytes.
std::string as_utf8(const std::string& text);

/// The known name nearest to `name` by edit distance, or nullopt if none is close enough to be a misspelling.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& known);

/// " (did you mean \"x\"?)" or "".
std::string suggestion(std::string_view name, const std::vector<std::string>& known);

/// "file.json: /a/b"; the pointer alone when there is no file.
std::string json_location(const std::string& source, const std::string& pointer);

/// A Refusal about one place in a JSON value, or about several places that are inconsistent. The message is "SOURCE:
/// POINTER: DETAIL" with the first pointer, which is also the subject.
class LocatedError : public Refusal {
 public:
  LocatedError(ErrorCode code, Reason reason, const std::string& source, std::vector<std::string> pointers,
               const std::string& detail);
  /// The file, or what else names the whole value.
  const std::string& source() const noexcept { return source_; }
  /// At least one pointer: the reported place of the error, then the other places it depends on.
  const std::vector<std::string>& pointers() const noexcept { return pointers_; }

 private:
  std::string source_;
  std::vector<std::string> pointers_;
};

/// A cursor over one JSON object. Getters check the type; finish() reports the first key that was never requested.
class JsonObject {
 public:
  /// Throws Error{kInvalidArgument} when `value` is not an object. `source` and `pointer` appear in messages.
  JsonObject(const Json& value, std::string source, std::string pointer = "");

  bool has(const std::string& key) const;
  /// The member, or nullptr when absent. Marks the key as known.
  const Json* find(const std::string& key);
  /// The member; throws Error{kInvalidArgument} when absent.
  const Json& at(const std::string& key);
  JsonObject object(const std::string& key);

  std::string string(const std::string& key);
  std::string string_or(const std::string& key, const std::string& fallback);
  std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high);
  std::int64_t integer_or(const std::string& key, std::int64_t fallback, std::int64_t low, std::int64_t high);
  double number(const std::string& key, double low, double high);
  bool boolean_or(const std::string& key, bool fallback);
  std::vector<std::string> strings_or_empty(const std::string& key);
  /// An object of strings, by name; empty when absent.
  std::map<std::string, std::string> named_strings_or_empty(const std::string& key);
  /// Read by the enumeration's table of names.
  template <NamedEnum Enum>
  Enum enumeration(const std::string& key) {
    const std::string text = string(key);
    if (const std::optional<Enum> value = enum_value<Enum>(text)) return *value;
    fail_unknown_name(key, expected_names<Enum>(), text, enum_names<Enum>());
  }
  template <NamedEnum Enum>
  Enum enumeration_or(const std::string& key, Enum fallback) {
    return find(key) == nullptr ? fallback : enumeration<Enum>(key);
  }

  /// Throws LocatedError{kInvalidArgument} at this key: "FILE: /pointer/key: message".
  [[noreturn]] void fail(const std::string& key, Reason reason, const std::string& message) const;
  /// The same for a value that is none of those that are possible: Reason::kBadValue.
  [[noreturn]] void fail(const std::string& key, const std::string& message) const;
  /// The same for a text that is none of the known names: Reason::kUnknownName. `expected` lists them in words.
  [[noreturn]] void fail_unknown_name(const std::string& key, const std::string& expected, const std::string& text,
                                      const std::vector<std::string>& known) const;
  /// Throws for the first key that no getter requested and that is not in `known`, with the nearest known name.
  void finish() const;

  const std::string& source() const { return source_; }
  std::string pointer_to(const std::string& key) const;

 private:
  const Json* value_;
  std::string source_;
  std::string pointer_;
  std::vector<const Json*> found_;   ///< members that were requested
  std::vector<std::string> absent_;  ///< keys that were requested and are no members
};

}  // namespace nanobench::core

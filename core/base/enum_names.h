/// Names of enumerations: one table each, used everywhere to write and read text. Pure, thread-safe.
///
/// In the namespace of the enumeration, in the header that defines it or beside it:
///   NB_ENUM_NAMES(Fruit, {Fruit::kApple, "apple"}, {Fruit::kPear, "pear"});
/// Names are stored in files: do not change them. This header is in the namespace above all folders, like text.h.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/text.h"

/// Defines enum_table(Enum), which the templates below find by its argument.
#define NB_ENUM_NAMES(Enum, ...)                                            \
  constexpr auto enum_table(Enum) {                                         \
    return std::to_array<std::pair<Enum, std::string_view>>({__VA_ARGS__}); \
  }                                                                         \
  static_assert(std::is_enum_v<Enum>)

namespace nanobench {

/// An enumeration with a table of names.
template <class Enum>
concept NamedEnum = std::is_enum_v<Enum> && requires {
  enum_table(Enum{});
};

/// "?" for a value outside the table.
template <NamedEnum Enum>
std::string enum_name(Enum value) {
  for (const auto& [candidate, name] : enum_table(Enum{})) {
    if (candidate == value) return std::string(name);
  }
  return "?";
}

/// nullopt for text that is not a name.
template <NamedEnum Enum>
std::optional<Enum> enum_value(std::string_view name) {
  for (const auto& [value, known] : enum_table(Enum{})) {
    if (known == name) return value;
  }
  return std::nullopt;
}

/// All names, in the order of the table.
template <NamedEnum Enum>
std::vector<std::string> enum_names() {
  std::vector<std::string> names;
  for (const auto& [unused, name] : enum_table(Enum{})) names.emplace_back(name);
  return names;
}

/// The list of names for a message: "a" or "b"; "a", "b" or "c".
inline std::string expected_names(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back('"' + name + '"');
  return listed(quoted, "or");
}
template <NamedEnum Enum>
std::string expected_names() {
  return expected_names(enum_names<Enum>());
}

}  // namespace nanobench

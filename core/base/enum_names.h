/// Names of enumerations: each enumeration lists them once, and text stands in files and in the store alone.
/// "do not change" the names: they are stored. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nanobench::core {

template <class Enum>
struct EnumNames;  ///< values(): array of {enumerator, name}

/// In this namespace: NB_ENUM_NAMES(results::Side, 2, {results::Side::kLeft, "left"}, ...).
#define NB_ENUM_NAMES(Enum, count, ...)                                                                        \
  template <>                                                                                                  \
  struct EnumNames<Enum> {                                                                                     \
    static constexpr std::array<std::pair<Enum, std::string_view>, count> values() { return {{__VA_ARGS__}}; } \
  }

template <class Enum>
std::string enum_name(Enum value) {
  for (const auto& [candidate, name] : EnumNames<Enum>::values()) {
    if (candidate == value) return std::string(name);
  }
  return "?";
}

/// All names, in the order of the list.
template <class Enum>
std::vector<std::string> enum_names() {
  std::vector<std::string> names;
  for (const auto& [unused, name] : EnumNames<Enum>::values()) names.emplace_back(name);
  return names;
}

/// The enumerator of a name; nullopt for text that is none of the names.
template <class Enum>
std::optional<Enum> enum_of(std::string_view text) {
  for (const auto& [candidate, name] : EnumNames<Enum>::values()) {
    if (name == text) return candidate;
  }
  return std::nullopt;
}

}  // namespace nanobench::core

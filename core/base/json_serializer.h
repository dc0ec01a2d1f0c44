/// How core::Json turns numbers into C++ types: without it, 9e100 read as a whole number is undefined behaviour, and -1
/// read as an unsigned one is 18446744073709551615.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

namespace nanobench::core {

/// Whether `json` is a number that a Whole holds exactly; 3.0 is, 3.5 is not.
template <class Whole, class AnyJson>
bool holds_whole(const AnyJson& json) {
  if (json.is_number_unsigned()) return std::in_range<Whole>(*json.template get_ptr<const std::uint64_t*>());
  if (json.is_number_integer()) return std::in_range<Whole>(*json.template get_ptr<const std::int64_t*>());
  if (!json.is_number_float()) return false;
  const double value = *json.template get_ptr<const double*>();
  // 2^digits is exact as a double, the largest value may not be.
  const double end = std::ldexp(1.0, std::numeric_limits<Whole>::digits);
  return value >= static_cast<double>(std::numeric_limits<Whole>::min()) && value < end && value == std::trunc(value);
}

/// What an integer of JSON is as a Whole; nullopt if `json` is anything else (3.0 too) or does not fit.
template <std::integral Whole, class AnyJson>
std::optional<Whole> integer_of(const AnyJson& json) {
  if (!json.is_number_integer() || !holds_whole<Whole>(json)) return std::nullopt;
  return json.template get<Whole>();
}

/// nlohmann's serializer with checked whole numbers: get() throws nlohmann's type_error 302 for any other value.
template <class T, class = void>
struct JsonSerializer : nlohmann::adl_serializer<T, void> {};

template <std::integral T>
requires(!std::same_as<T, bool>) struct JsonSerializer<T, void> : nlohmann::adl_serializer<T, void> {
  template <class AnyJson>
  static void from_json(const AnyJson& json, T& value) {
    if (!holds_whole<T>(json)) fail(json);
    if (json.is_number_unsigned()) {
      value = static_cast<T>(*json.template get_ptr<const std::uint64_t*>());
    } else if (json.is_number_integer()) {
      value = static_cast<T>(*json.template get_ptr<const std::int64_t*>());
    } else {
      value = static_cast<T>(*json.template get_ptr<const double*>());
    }
  }

 private:
  template <class AnyJson>
  [[noreturn]] static void fail(const AnyJson& json) {
    using TypeError = typename AnyJson::type_error;
    const std::string what =
        json.is_number() ? "the number must be whole and from " + std::to_string(std::numeric_limits<T>::min()) +
                               " to " + std::to_string(std::numeric_limits<T>::max()) + ", but is " + json.dump()
                         : std::string("type must be number, but is ") + json.type_name();
    if constexpr (requires { TypeError::create(302, what, &json); }) {
      throw TypeError::create(302, what, &json);
    } else {
      throw TypeError::create(302, what, json);  // before release 3.11
    }
  }
};

}  // namespace nanobench::core

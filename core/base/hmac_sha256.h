/// SHA-256 and HMAC-SHA256, for proofs that both ends of a connection know the same secret. For digests that only guard
/// against accidents, core/base/digest.h is faster. Thread-safe: no shared state.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace nanobench::core {

using Sha256 = std::array<std::uint8_t, 32>;

/// Source: FIPS 180-4, section 6.2.
Sha256 sha256(std::string_view bytes);

/// A key of any length. Source: RFC 2104.
Sha256 hmac_sha256(std::string_view key, std::string_view message);

/// Takes the same time wherever the two differ, so that the time tells a forger nothing.
bool is_equal_in_constant_time(const Sha256& a, const Sha256& b);

}  // namespace nanobench::core

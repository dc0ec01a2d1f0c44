/// Base64 (RFC 4648, with padding). Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nanobench::core {

std::string to_base64(std::string_view bytes);

/// nullopt for text that to_base64 does not write.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace nanobench::core

/// Texts with names in braces, which an external trainer's command is made of (internal to suites). Pure.
#pragma once

#include <functional>
#include <string>

namespace nanobench::suites {

/// From a name to what stands for it.
using TextOf = std::function<std::string(const std::string&)>;

/// Puts the answer of `text_of` in place of each name in braces; "{{" and "}}" stand for braces. With `is_last` false
/// these stay as they are, for a later round.
std::string filled(const std::string& text, const TextOf& text_of, bool is_last = true);

/// A text that `filled` gives back as it is.
std::string with_braces_kept(const std::string& text);

}  // namespace nanobench::suites

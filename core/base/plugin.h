/// Shared libraries that a program takes in at run time, when a run asks for what they offer.
#pragma once

#include <string>

namespace nanobench::core {

/// The address that function `symbol` of the library returns: what the library offers, in a form that both know. The
/// library lies beside the program, or in the folder $NANOBENCH_PLUGINS, and stays loaded.
/// Throws Error{kUnavailable}: which file, the loader's own reason, and `remedy`.
const void* load_plugin(const std::string& file_name, const std::string& symbol, const std::string& remedy);

}  // namespace nanobench::core

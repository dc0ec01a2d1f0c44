/// Shared libraries that a program takes in at run time, when a run asks for what they offer.
#pragma once

#include <filesystem>
#include <string>

namespace nanobench::core {

/// Where a program finds the library: beside it, or in the folder $NANOBENCH_PLUGINS.
std::filesystem::path plugin_file(const std::filesystem::path& program, const std::string& file_name);

/// The address that function `symbol` of the library returns: what the library offers, in a form that both know. It
/// stays loaded.
/// Throws Error{kUnavailable}: which file, the loader's own reason, and `remedy`.
const void* load_plugin(const std::string& file_name, const std::string& symbol, const std::string& remedy);

}  // namespace nanobench::core

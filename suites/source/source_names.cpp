#include "suites/source/source_names.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <system_error>

#include "core/base/input_file.h"
#include "core/base/text.h"

namespace nanobench::suites {

bool is_left_behind(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with(".") || name == "__pycache__";
}

bool is_within(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const std::filesystem::path inside = path.lexically_relative(folder);
  return !inside.empty() && *inside.begin() != "..";
}

bool is_source_name(const std::filesystem::path& path) {
  constexpr std::array<std::string_view, 75> kEndings = {
      ".py",    ".pyi",   ".pyx",    ".pxd",     ".pxi",       ".sh",    ".bash", ".zsh",     ".ksh",  ".fish",
      ".c",     ".cc",    ".cpp",    ".cxx",     ".h",         ".hh",    ".hpp",  ".hxx",     ".inl",  ".inc",
      ".cu",    ".cuh",   ".ptx",    ".cl",      ".metal",     ".s",     ".f",    ".f90",     ".rs",   ".go",
      ".jl",    ".lua",   ".pl",     ".rb",      ".r",         ".js",    ".mjs",  ".ts",      ".java", ".kt",
      ".scala", ".swift", ".zig",    ".nim",     ".m",         ".ml",    ".hs",   ".awk",     ".sed",  ".mk",
      ".cmake", ".bzl",   ".toml",   ".cfg",     ".conf",      ".ini",   ".yaml", ".yml",     ".env",  ".properties",
      ".gin",   ".hocon", ".json5",  ".jsonnet", ".libsonnet", ".proto", ".sql",  ".graphql", ".tmpl", ".template",
      ".j2",    ".jinja", ".jinja2", ".ipynb",   ".nix"};
  constexpr std::array<std::string_view, 16> kNames = {
      "makefile", "gnumakefile", "dockerfile", "justfile", "snakefile", "rakefile", "build", "cmakelists.txt",
      "conf",     "config",      "settings",   "options",  "params",    "hparams",  "flags", "requirements.txt"};
  const std::string ending = lower_case(path.extension().string());
  const std::string name = lower_case(path.filename().string());
  return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end() ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool is_source_file(const std::filesystem::path& file) {
  if (is_source_name(file)) return true;
  std::error_code ignored;
  if (file.has_extension() || !std::filesystem::is_regular_file(file, ignored)) return false;
  constexpr std::size_t kBytes = 4;
  const std::string beginning = core::read_beginning(file, kBytes).value_or("");
  return beginning.starts_with("#!") || beginning == "\x7f\x45LF";
}

}  // namespace nanobench::suites

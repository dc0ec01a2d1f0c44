#include "suites/source/source_names.h"

#include <algorithm>
#include <array>
#include <string>
#include <system_error>

#include "core/base/input_file.h"

namespace nanobench::suites {

bool is_left_behind(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with(".") || name == "__pycache__";
}

bool is_source_name(const std::filesystem::path& path) {
  constexpr std::array kEndings = {".py",  ".pyx", ".sh",   ".bash", ".c",   ".cc",   ".cpp", ".cxx", ".h",
                                   ".hpp", ".cu",  ".cuh",  ".rs",   ".jl",  ".lua",  ".pl",  ".rb",  ".js",
                                   ".ts",  ".go",  ".toml", ".cfg",  ".ini", ".yaml", ".yml", ".ptx", ".cmake"};
  const std::string ending = path.extension().string(), name = path.filename().string();
  return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end() || name == "Makefile" ||
         name == "CMakeLists.txt" || name == "requirements.txt";
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

#include "tools/cli/places.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/process/command.h"
#include "results/store.h"
#include "suites/design/data_source.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> path_from(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return fs::path(value);
}

fs::path data_folder() {
  const std::optional<fs::path> named = path_from("XDG_DATA_HOME");
  if (named && named->is_absolute()) return *named / "nanobench";
  if (const std::optional<fs::path> home = path_from("HOME")) return *home / ".local" / "share" / "nanobench";
  return fs::path(".");
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

}  // namespace

fs::path own_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

std::optional<fs::path> source_root() {
  std::error_code ignored;
  if (const std::optional<fs::path> root = path_from("NANOBENCH_ROOT")) {
    return fs::is_directory(*root, ignored) ? root : std::nullopt;
  }
  for (fs::path folder = own_program().parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    if (is_file(folder / "suites" / "suite.schema.json") && is_file(folder / "CMakeLists.txt")) return folder;
  }
  return std::nullopt;
}

std::vector<std::string> typed_words() {
  const std::string line = core::read_beginning("/proc/self/cmdline").value_or("");
  std::vector<std::string> words;
  for (std::size_t start = 0; start < line.size();) {
    const std::size_t end = std::min(line.find('\0', start), line.size());
    words.push_back(line.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

std::string program_name() {
  const std::vector<std::string> words = typed_words();
  return words.empty() || words.front().empty() ? "nanobench" : shell_words({words.front()});
}

std::string typed_database() {
  const std::optional<std::string> file = core::option_value(typed_words(), "--db");
  return file ? " " + shell_words({"--db", *file}) : "";
}

std::optional<fs::path> repository_around(const fs::path& folder) {
  std::error_code ignored;
  for (fs::path level = fs::weakly_canonical(folder, ignored); !level.empty(); level = level.parent_path()) {
    if (fs::exists(level / ".git", ignored)) return level;
    if (!level.has_relative_path()) break;
  }
  return std::nullopt;
}

namespace {

/// The repository that the user works in, unless it is this program's own source tree.
std::optional<fs::path> own_repository() {
  std::error_code ignored;
  const std::optional<fs::path> repository = repository_around(fs::current_path(ignored));
  const std::optional<fs::path> root = source_root();
  if (!repository || (root && fs::equivalent(*repository, *root, ignored))) return std::nullopt;
  return repository;
}

}  // namespace

fs::path database_file(const std::string& option) {
  if (!option.empty()) return option;
  if (const std::optional<fs::path> named = path_from("NANOBENCH_DB")) return *named;
  if (const std::optional<fs::path> repository = own_repository())
    return (*repository / "nanobench.db").lexically_proximate(fs::current_path());
  if (const std::optional<fs::path> root = source_root()) return results::default_store_file(std::nullopt, *root);
  return data_folder() / "nanobench.db";
}

fs::path engine_program() {
  if (const std::optional<fs::path> named = path_from("NANOBENCH_ENGINE")) return *named;
  const fs::path folder = own_program().parent_path();
  const fs::path beside = folder / "nanobench-train";
  const fs::path installed = folder.parent_path() / "libexec" / "nanobench" / "nanobench-train";
  return !is_file(beside) && is_file(installed) ? installed : beside;
}

std::vector<fs::path> suite_folders() {
  std::vector<fs::path> folders;
  if (const std::optional<fs::path> root = source_root()) folders.push_back(*root / "suites");
  folders.push_back(own_program().parent_path().parent_path() / "share" / "nanobench" / "suites");
  return folders;
}

std::vector<fs::path> suite_files() {
  std::vector<fs::path> files;
  for (const fs::path& folder : suite_folders()) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() == ".json" && name.find(".schema.") == std::string::npos)
        files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) { return a.stem() < b.stem(); });
  return files;
}

fs::path find_suite(const std::string& name) {
  std::error_code ignored;
  if (fs::exists(name, ignored)) return name;
  if (const std::optional<fs::path> root = source_root(); root && is_file(*root / name)) return *root / name;
  std::vector<std::string> known;
  for (const fs::path& file : suite_files()) {
    if (file.stem() == name || file.filename() == name) return file;
    known.push_back(file.stem().string());
  }
  const std::string stem = fs::path(name).stem().string();
  throw core::Error(core::ErrorCode::kNotFound, "there is no suite file " + name + core::suggestion(stem, known) +
                                                    "; `nanobench list suites` lists the built-in ones");
}

fs::path cache_folder() {
  return suites::default_cache_dir();
}

}  // namespace nanobench::tools

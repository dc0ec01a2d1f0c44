#include "suites/design/external_sources.h"

#include "core/base/digest.h"
#include "core/base/error.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Json;

/// What tools leave behind: it changes with every run.
bool is_left_out(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with(".") || name == "__pycache__";
}

void add_folder(Json& files, const std::string& name, const fs::path& folder) {
  for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::recursive_directory_iterator(); ++entry) {
    if (is_left_out(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      const std::string inside = entry->path().lexically_relative(folder).generic_string();
      files[(fs::path(name) / inside).generic_string()] = core::digest_of_file(entry->path());
    }
  }
}

void add_source(Json& files, const std::string& name, const fs::path& folder) {
  const fs::path path = folder / name;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    add_folder(files, name, path);
  } else if (fs::is_regular_file(path, ignored)) {
    files[name] = core::digest_of_file(path);
  } else {
    throw Error(ErrorCode::kNotFound, "there is no file or folder " + name + " in " + folder.string());
  }
}

}  // namespace

Json digests_of_files(const std::vector<std::string>& words, const std::vector<std::string>& sources,
                      const fs::path& folder) {
  Json files = Json::object();
  for (const std::string& word : words) {
    std::error_code ignored;
    if (!word.empty() && fs::is_regular_file(folder / word, ignored)) files[word] = core::digest_of_file(folder / word);
  }
  try {
    for (const std::string& source : sources) add_source(files, source, folder);
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::kIo, std::string("cannot read the trainer's sources: ") + error.what());
  }
  return files;
}

}  // namespace nanobench::suites

#include "suites/source/git_command.h"

namespace nanobench::suites {
namespace {

std::vector<std::string> words_of(const std::vector<std::string>& more, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"env"};
  for (const char* name : {"GIT_DIR", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE"})
    words.insert(words.end(), {"-u", name});
  words.insert(words.end(), {"LC_ALL=C", "GIT_TERMINAL_PROMPT=0"});
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

}  // namespace

std::vector<std::string> git_of_user(const std::filesystem::path& folder, const std::vector<std::string>& arguments) {
  return words_of({"git", "-C", folder.string()}, arguments);
}

std::vector<std::string> git_of_cache(const std::filesystem::path& git_dir, const std::filesystem::path& index,
                                      const std::vector<std::string>& arguments) {
  std::vector<std::string> more = {"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"};
  if (!index.empty()) more.push_back("GIT_INDEX_FILE=" + index.string());
  more.insert(more.end(), {"git", "--git-dir=" + git_dir.string()});
  return words_of(more, arguments);
}

}  // namespace nanobench::suites

#include "tools/cli/git.h"

#include <sstream>

#include "tools/cli/capture.h"

namespace nanobench::tools {
namespace {

constexpr double kSeconds = 20.0;

/// The output of `git WORDS...` when it succeeds.
std::optional<std::string> git(std::vector<std::string> words) {
  words.insert(words.begin(), {"/usr/bin/env", "git"});
  const Captured captured = capture(words, kSeconds);
  if (!captured.has_started || captured.is_timed_out || captured.exit_code != 0) return std::nullopt;
  return captured.output;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::optional<std::string> source_revision() {
  const std::optional<std::string> revision = git({"rev-parse", "HEAD"});
  if (!revision) return std::nullopt;
  const std::optional<std::string> changes = git({"status", "--porcelain", "--untracked-files=no"});
  return first_line(*revision) + (changes && !changes->empty() ? " (changed)" : "");
}

std::optional<std::string> merge_base(const std::string& branch) {
  const std::vector<std::string> usual = {"origin/HEAD", "origin/main", "origin/master", "main", "master"};
  for (const std::string& name : branch.empty() ? usual : std::vector<std::string>{branch}) {
    const std::optional<std::string> base = git({"merge-base", "HEAD", name});
    if (base) return first_line(*base);
  }
  return std::nullopt;
}

std::vector<std::string> first_parents(const std::string& revision, int count) {
  std::vector<std::string> revisions;
  const std::optional<std::string> lines =
      git({"rev-list", "--first-parent", "--max-count=" + std::to_string(count), revision});
  std::istringstream in(lines.value_or(""));
  for (std::string line; std::getline(in, line);) revisions.push_back(line);
  return revisions;
}

}  // namespace nanobench::tools

#include "tools/cli/git.h"

#include <map>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "core/process/command.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;

constexpr double kSeconds = 20.0;
constexpr std::size_t kMaxOutput = std::size_t{256} << 20;  ///< the file list of a repository with two million files

/// In the order in which they are tried.
const std::vector<std::string> kMainBranches = {"origin/HEAD", "origin/main", "origin/master", "main", "master"};

/// The output of `git WORDS...` in the folder; nullopt if it fails.
std::optional<std::string> git(const fs::path& folder, const std::vector<std::string>& words) {
  std::vector<std::string> command = {"git"};
  if (!folder.empty()) command.insert(command.end(), {"-C", folder.string()});
  command.insert(command.end(), words.begin(), words.end());
  core::CommandResult result = core::run_command(command, {.seconds = kSeconds, .max_output = kMaxOutput});
  if (!result.is_success()) return std::nullopt;
  return std::move(result.out);
}

using FileStates = std::map<std::string, std::string>;  ///< "MODE OBJECT STAGE" by path relative to the root

/// The files of the index.
std::optional<FileStates> tracked_files(const fs::path& root) {
  const std::optional<std::string> listed = git(root, {"ls-files", "-z", "--stage"});
  if (!listed) return std::nullopt;
  FileStates files;
  for (const std::string& line : core::pieces_of(*listed)) {
    const std::size_t tab = line.find('\t');
    if (tab != std::string::npos) files[line.substr(tab + 1)] += line.substr(0, tab);
  }
  return files;
}

/// Replaces the states of files that differ on disk with the states that a commit of them would have.
bool apply_changes(const fs::path& root, FileStates& files) {
  const std::optional<std::string> changed = git(root, {"diff-files", "-z", "--name-only"});
  if (!changed) return false;
  std::vector<std::string> words = {"hash-object", "--"};
  for (const std::string& name : core::pieces_of(*changed)) {
    std::error_code ignored;
    const fs::file_status status = fs::symlink_status(root / name, ignored);
    if (fs::is_regular_file(status)) {
      words.push_back(name);
    } else if (fs::is_symlink(status)) {
      files[name] += " -> " + fs::read_symlink(root / name, ignored).string();
    } else if (!fs::exists(status)) {
      files.erase(name);
    }
  }
  if (words.size() == 2) return true;
  const std::string text = git(root, words).value_or("");
  const std::vector<std::string_view> objects = split_lines(text);
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (i - 2 >= objects.size()) return false;
    std::string& state = files[words[i]];
    state = state.substr(0, state.find(' ')) + " " + std::string(objects[i - 2]) + " 0";
  }
  return true;
}

}  // namespace

std::optional<std::string> source_revision(const fs::path& folder) {
  const std::optional<std::string> revision = git(folder, {"rev-parse", "HEAD"});
  if (!revision) return std::nullopt;
  const std::optional<std::string> changes = git(folder, {"status", "--porcelain", "--untracked-files=no"});
  return first_line(*revision) + (changes && !changes->empty() ? " (changed)" : "");
}

std::optional<std::string> source_tree(const fs::path& folder, const fs::path& except) {
  const std::optional<std::string> top = git(folder, {"rev-parse", "--show-toplevel"});
  if (!top) return std::nullopt;
  const fs::path root = first_line(*top);
  std::optional<FileStates> files = tracked_files(root);
  if (!files || !apply_changes(root, *files)) return std::nullopt;
  std::error_code ignored;
  files->erase(fs::weakly_canonical(except, ignored).lexically_relative(root).generic_string());
  core::Digest digest;
  for (const auto& [name, state] : *files) {
    digest.update(name.c_str(), name.size() + 1);
    digest.update(state.c_str(), state.size() + 1);
  }
  return digest.hex();
}

std::optional<std::string> merge_base(const std::string& branch, const fs::path& folder) {
  for (const std::string& name : branch.empty() ? kMainBranches : std::vector<std::string>{branch}) {
    const std::optional<std::string> base = git(folder, {"merge-base", "HEAD", name});
    if (base) return first_line(*base);
  }
  return std::nullopt;
}

std::vector<std::string> first_parents(const std::string& revision, int count, const fs::path& folder) {
  const std::string text =
      git(folder, {"rev-list", "--first-parent", "--max-count=" + std::to_string(count), revision}).value_or("");
  const std::vector<std::string_view> lines = split_lines(text);
  return {lines.begin(), lines.end()};
}

std::optional<fs::path> repository_root(const fs::path& folder) {
  const std::optional<std::string> top = git(folder, {"rev-parse", "--show-toplevel"});
  return top ? std::optional<fs::path>(first_line(*top)) : std::nullopt;
}

std::optional<std::string> find_commit(const std::string& revision, const fs::path& folder) {
  const std::optional<std::string> commit =
      git(folder, {"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"});
  return commit ? std::optional(first_line(*commit)) : std::nullopt;
}

bool is_ancestor(const std::string& commit, const std::string& of, const fs::path& folder) {
  return git(folder, {"merge-base", "--is-ancestor", commit, of}).has_value();
}

std::optional<std::string> common_ancestor(const std::string& one, const std::string& other, const fs::path& folder) {
  const std::optional<std::string> base = git(folder, {"merge-base", one, other});
  return base ? std::optional(first_line(*base)) : std::nullopt;
}

std::vector<std::string> commits_between(const std::string& from, const std::string& to, bool changes_folder,
                                         const fs::path& folder) {
  std::vector<std::string> words = {"rev-list", "--first-parent", "--reverse", from + ".." + to};
  if (changes_folder) words.insert(words.end(), {"--", "."});
  const std::string text = git(folder, words).value_or("");
  const std::vector<std::string_view> lines = split_lines(text);
  return {lines.begin(), lines.end()};
}

CommitText commit_text(const std::string& commit, const fs::path& folder) {
  const std::optional<std::string> text =
      git(folder, {"log", "-1", "--no-show-signature", "--format=%s%x00%an%x00%cs%x00", commit});
  const std::vector<std::string> pieces = core::pieces_of(text.value_or(""));
  if (pieces.size() < 3) return {};
  return {.subject = pieces[0], .author = pieces[1], .date = pieces[2]};
}

std::optional<std::string> main_branch(const fs::path& folder) {
  for (const std::string& name : kMainBranches) {
    const std::optional<std::string> full = git(folder, {"rev-parse", "--abbrev-ref", "--verify", "--quiet", name});
    if (full && !first_line(*full).empty()) return first_line(*full);
  }
  return std::nullopt;
}

}  // namespace nanobench::tools

#include "suites/source/source_objects.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/digest.h"
#include "core/base/input_file.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"
#include "suites/source/git_command.h"
#include "suites/source/source_names.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Reason;

constexpr double kGitSeconds = 120;                              ///< for a large repository on a slow disk
constexpr std::size_t kMaxOutput = std::size_t{64} << 20;        ///< a diff of two revisions, a list of files
constexpr std::size_t kMaxFiles = 20'000;                        ///< of a source
constexpr std::uintmax_t kMaxBytes = std::uintmax_t{256} << 20;  ///< of a source
constexpr core::InputLimit kPatchLimit{std::uint64_t{64} << 20, "no patch is larger"};

void append(std::vector<std::string>& words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
}

[[noreturn]] void refuse_source(Reason reason, const std::string& subject, const std::string& text) {
  throw core::Refusal(ErrorCode::kInvalidArgument, reason, text, subject);
}

void write_once(const fs::path& file, const std::string& text) {
  std::error_code ignored;
  if (fs::exists(file, ignored)) return;
  core::write_file_atomically(file, text);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

/// A list of files in a temporary folder, which becomes a tree.
struct SourceObjects::Index {
  core::TemporaryFolder folder{"source"};
  fs::path file() const { return folder.path() / "index"; }
  fs::path scratch(const std::string& name) const { return folder.path() / name; }
};

SourceObjects::SourceObjects(const fs::path& cache, const fs::path& folder) : folder_(folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw core::Refusal(ErrorCode::kNotFound, Reason::kMissingFile,
                        "the trainer's source " + folder.string() + " is no folder", folder.string());
  folder_ = fs::canonical(folder);
  git_dir_ = cache / "sources" / core::digest_of(folder_.string()).substr(0, 16) / "git";
  if (!fs::exists(git_dir_ / "HEAD", ignored)) {
    fs::create_directories(git_dir_.parent_path());
    git({"init", "-q", "--bare"});
  }
  // Bytes are kept as they are on disk, whatever the source's own attributes say.
  write_once(git_dir_ / "info" / "attributes", "* -text -filter -ident !eol !working-tree-encoding !merge !diff\n");
  try {
    prefix_ = first_line(user_git({"rev-parse", "--show-prefix"}));
    const fs::path objects = first_line(user_git({"rev-parse", "--git-path", "objects"}));
    is_repository_ = true;
    core::write_file_atomically(git_dir_ / "objects" / "info" / "alternates",
                                fs::weakly_canonical(folder_ / objects).string() + "\n");
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;  // it is in no repository
  }
}

core::CommandResult SourceObjects::run(const std::vector<std::string>& arguments, const Index* index) const {
  const fs::path index_file = index == nullptr ? fs::path() : index->file();
  core::CommandResult result = core::run_command(git_of_cache(git_dir_, index_file, arguments),
                                                 {.seconds = kGitSeconds, .max_output = kMaxOutput});
  if (result.start_error != 0 || (result.exit.exit_code == 127 && result.out.empty()))
    throw Error(ErrorCode::kUnavailable, "changes of a trainer's source need git, which cannot be started");
  return result;
}

std::string SourceObjects::git(const std::vector<std::string>& arguments, const Index* index) const {
  const core::CommandResult result = run(arguments, index);
  if (result.is_success()) return result.out;
  throw Error(ErrorCode::kUnavailable, core::failure_text({"git", arguments.front()}, result));
}

std::string SourceObjects::user_git(const std::vector<std::string>& arguments) const {
  const std::vector<std::string> command = git_of_user(folder_, arguments);
  const core::CommandResult result = core::run_command(command, {.seconds = kGitSeconds, .max_output = kMaxOutput});
  if (result.is_success()) return result.out;
  refuse_source(Reason::kProgramFails, "git",
                folder_.string() + ": " + core::failure_text({"git", arguments.front()}, result));
}

std::string SourceObjects::commit_of(const std::string& revision) const {
  try {
    return first_line(user_git({"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"}));
  } catch (const Error& error) {
    core::rethrow_internal(error);
    refuse_source(is_repository_ ? Reason::kNoCommit : Reason::kNoRepository, revision,
                  is_repository_ ? "the repository of " + folder_.string() + " has no commit \"" + revision + "\""
                                 : folder_.string() + " is in no repository of git, so that it has no commit \"" +
                                       revision + "\"");
  }
}

std::string SourceObjects::tree_at(const std::string& commit) const {
  const std::string folder = prefix_.empty() ? "" : prefix_.substr(0, prefix_.size() - 1);
  const core::CommandResult result =
      run({"rev-parse", "--verify", "--quiet", "--end-of-options", commit + ":" + folder});
  if (result.is_success()) return first_line(result.out);
  refuse_source(Reason::kMissingFile, prefix_, "the commit " + commit + " has no folder " + prefix_);
}

std::string SourceObjects::tree_of_revision(const std::string& revision) {
  return tree_at(commit_of(revision));
}

std::vector<std::string> SourceObjects::files_of_folder(const std::vector<fs::path>& left_out) const {
  const std::vector<std::string> others = {"ls-files", "-z", "--others", "--exclude-standard"};
  std::vector<std::string> files, untracked;
  if (is_repository_) {
    files = core::pieces_of(user_git({"ls-files", "-z", "--cached", "--deduplicate"}));
    untracked = core::pieces_of(user_git(others));
  } else {
    std::vector<std::string> words = {"--work-tree=" + folder_.string(), "-C", folder_.string()};
    append(words, others);
    untracked = core::pieces_of(git(words));
  }
  for (const std::string& file : untracked) {
    const fs::path path(file);
    if (std::none_of(path.begin(), path.end(), is_left_behind) && is_source_file(folder_ / path)) files.push_back(file);
  }
  std::error_code ignored;
  std::set<fs::path> others_of_suite;
  for (const fs::path& file : left_out) others_of_suite.insert(fs::weakly_canonical(file, ignored));
  const auto is_none = [&](const std::string& file) {
    const fs::file_status status = fs::symlink_status(folder_ / file, ignored);
    const bool is_kept = fs::is_regular_file(status) || fs::is_symlink(status);
    return !is_kept || others_of_suite.contains(folder_ / file);
  };
  files.erase(std::remove_if(files.begin(), files.end(), is_none), files.end());
  return files;
}

std::string SourceObjects::tree_of_folder(const std::vector<fs::path>& left_out) {
  const std::vector<std::string> files = files_of_folder(left_out);
  if (files.empty())
    refuse_source(Reason::kEmpty, folder_.string(),
                  "no file of the trainer's source " + folder_.string() + " is one of a program");
  std::uintmax_t bytes = 0;
  std::error_code ignored;
  for (const std::string& file : files)
    bytes += fs::is_symlink(folder_ / file) ? 0 : fs::file_size(folder_ / file, ignored);
  if (files.size() > kMaxFiles || bytes > kMaxBytes)
    refuse_source(Reason::kTooLarge, folder_.string(),
                  "the trainer's source " + folder_.string() + " has " +
                      counted(static_cast<std::int64_t>(files.size()), "file") + " of " + std::to_string(bytes >> 20) +
                      " MiB, expected at most " + std::to_string(kMaxFiles) + " of " + std::to_string(kMaxBytes >> 20) +
                      "; name a folder with less, or tell git to ignore the others");
  const Index index;
  std::string list;
  for (const std::string& file : files) list += file + '\0';
  core::write_file_atomically(index.scratch("files"), list);
  git({"--literal-pathspecs", "--work-tree=" + folder_.string(), "-C", folder_.string(), "add", "-f",
       "--pathspec-file-nul", "--pathspec-from-file=" + index.scratch("files").string()},
      &index);
  return first_line(git({"write-tree"}, &index));
}

std::string SourceObjects::with_change(const std::string& tree, const SourceChange& change,
                                       const std::string& revision) {
  const auto parent_of = [&](const std::string& commit) {
    const core::CommandResult result = run({"rev-parse", "--verify", "--quiet", commit + "^"});
    if (!result.is_success())
      refuse_source(Reason::kUnused, change.name,
                    "the commit " + change.name + " is the first of its history, so it changes nothing");
    return tree_at(first_line(result.out));
  };
  switch (change.kind) {
    case ChangeKind::kNone: return tree;
    case ChangeKind::kPatch: return with_patch(tree, change.file);
    case ChangeKind::kReplace: return with_replacements(tree, change.replacements);
    case ChangeKind::kBranch:
      return with_difference(tree, tree_at(merge_base_of(change.name, revision)), tree_of_revision(change.name),
                             change.only);
    case ChangeKind::kRevert:
    case ChangeKind::kCherryPick: break;
  }
  const std::string commit = commit_of(change.name), before = parent_of(commit);
  return change.kind == ChangeKind::kRevert ? with_difference(tree, tree_at(commit), before, change.only)
                                            : with_difference(tree, before, tree_at(commit), change.only);
}

std::string SourceObjects::merge_base_of(const std::string& branch, const std::string& revision) const {
  const std::string ours = commit_of(revision.empty() ? "HEAD" : revision), theirs = commit_of(branch);
  const core::CommandResult result = run({"merge-base", ours, theirs});
  if (result.is_success()) return first_line(result.out);
  refuse_source(Reason::kNoCommit, branch, "the branch " + branch + " shares no commit with the source");
}

std::string SourceObjects::with_difference(const std::string& tree, const std::string& from, const std::string& to,
                                           const std::vector<std::string>& only) {
  if (tree == from && only.empty()) return to;
  const Index index;
  std::vector<std::string> words = {"--literal-pathspecs",
                                    "diff",
                                    "--binary",
                                    "--full-index",
                                    "--no-renames",
                                    "--no-ext-diff",
                                    "--no-color",
                                    "--no-textconv",
                                    from,
                                    to,
                                    "--"};
  append(words, only);
  const std::string difference = git(words);
  if (difference.empty()) return tree;
  const fs::path patch = index.scratch("patch");
  core::write_file_atomically(patch, difference);
  return with_patch(tree, patch);
}

namespace {

/// "train.py:3, near "lr = 0.1"": the line that the hunk there removes, or else its first one; other places unchanged.
std::string with_hunk(const std::string& place, const std::string& patch) {
  const std::size_t colon = place.rfind(':');
  if (colon == std::string::npos || place.find_first_not_of("0123456789", colon + 1) != std::string::npos) return place;
  const std::string head = "@@ -" + place.substr(colon + 1);
  std::istringstream lines(patch);
  std::string shown;
  bool is_in_hunk = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("@@ ")) {
      if (is_in_hunk) break;
      is_in_hunk = line.starts_with(head + ",") || line.starts_with(head + " ");
    } else if (is_in_hunk && (line.starts_with("-") || (shown.empty() && line.starts_with(" ")))) {
      shown = line.substr(1);
      if (line.front() == '-') break;
    }
  }
  shown.erase(0, std::min(shown.find_first_not_of(" \t"), shown.size()));
  return shown.empty() ? place : place + ", near \"" + on_one_line(shown, 80) + "\"";
}

}  // namespace

std::string SourceObjects::with_patch(const std::string& tree, const fs::path& patch) const {
  const std::string text = core::read_input(patch, kPatchLimit);
  if (text.find("\n+++ ") == std::string::npos && !text.starts_with("+++ ") &&
      text.find("diff --git ") == std::string::npos)
    throw SourceConflict(Reason::kMalformed, "it is no patch as git diff or diff -u write one");
  std::string words;
  for (const char* strip : {"-p1", "-p0"}) {  // diff -u names files without a/ and b/
    const Index index;
    git({"read-tree", tree}, &index);
    const core::CommandResult result =
        run({"apply", "--cached", "--3way", "--whitespace=nowarn", strip, fs::absolute(patch).string()}, &index);
    if (result.is_success()) return first_line(git({"write-tree"}, &index));
    if (words.empty()) words = with_hunk(place_of_conflict(index, result.err), text);
    const bool has_other_names = result.err.find("does not exist in index") != std::string::npos ||
                                 result.err.find("unable to find filename") != std::string::npos;
    if (!has_other_names) break;
  }
  throw SourceConflict(Reason::kClash, words);
}

std::string SourceObjects::place_of_conflict(const Index& index, const std::string& words_of_git) const {
  std::map<std::string, std::map<char, std::string>> stages;                                // objects by file
  for (const std::string& line : core::pieces_of(git({"ls-files", "-z", "-u"}, &index))) {  // "MODE OBJECT STAGE\tFILE"
    const std::size_t tab = line.find('\t'), space = line.find(' ');
    if (tab != std::string::npos && tab > 0)
      stages[line.substr(tab + 1)][line[tab - 1]] = line.substr(space + 1, tab - space - 3);
  }
  for (const auto& [file, objects] : stages) {
    if (objects.size() < 3) return file + ", which one removes or adds and the other changes";
    std::vector<std::string> merge = {"merge-file", "-p", "-q", "--diff3"};
    for (const char stage : {'2', '1', '3'}) {
      const fs::path copy = index.scratch(std::string("stage") + stage);
      core::write_file_atomically(copy, git({"cat-file", "blob", objects.at(stage)}));
      merge.push_back(copy.string());
    }
    const std::string merged_text = run(merge).out;
    const std::size_t begin = merged_text.find("\n||||||| ");
    const std::string line =
        begin == std::string::npos ? "" : first_line(merged_text.substr(merged_text.find('\n', begin + 1) + 1));
    return file + (line.empty() || line.starts_with("=======") ? "" : ", near \"" + on_one_line(line, 80) + "\"");
  }
  std::string reason;
  for (const std::string_view line : split_lines(words_of_git)) {
    if (!line.starts_with("error: ")) continue;
    if (line.starts_with("error: patch failed: ")) return std::string(line.substr(21));  // FILE:LINE
    reason = line.substr(7);
  }
  return reason.empty() ? on_one_line(words_of_git, 200) : reason;
}

std::string SourceObjects::with_replacements(const std::string& tree,
                                             const std::vector<Replacement>& replacements) const {
  const Index index;
  git({"read-tree", tree}, &index);
  std::map<std::string, std::string> texts;
  for (const Replacement& item : replacements) {
    if (!texts.contains(item.file)) {
      const std::optional<std::string> text = text_of(tree, item.file);
      if (!text) throw SourceConflict(Reason::kMissingFile, "there is no file " + item.file, item.file);
      texts[item.file] = *text;
    }
    std::string& text = texts[item.file];
    const std::size_t count = count_of(text, item.old_text);
    if (count != 1)
      throw SourceConflict(count == 0 ? Reason::kNowhere : Reason::kRepeated,
                           item.file + " has \"" + on_one_line(item.old_text, 60) + "\" " +
                               (count == 0 ? "nowhere" : std::to_string(count) + " times, expected it once"),
                           item.old_text);
    text.replace(text.find(item.old_text), item.old_text.size(), item.new_text);
  }
  for (const auto& [file, text] : texts) {
    core::write_file_atomically(index.scratch("text"), text);
    const std::string object = first_line(git({"hash-object", "-w", "--no-filters", index.scratch("text").string()}));
    const std::string entry = git({"ls-tree", tree, "--", file});  // "MODE blob OBJECT\tFILE"
    git({"update-index", "--cacheinfo", entry.substr(0, entry.find(' ')) + "," + object + "," + file}, &index);
  }
  return first_line(git({"write-tree"}, &index));
}

std::vector<std::string> SourceObjects::changed_files(const std::string& base, const std::string& tree) const {
  return core::pieces_of(git({"diff", "-z", "--name-only", "--no-renames", "--diff-filter=AMT", base, tree, "--"}));
}

std::optional<std::string> SourceObjects::text_of(const std::string& tree, const std::string& file) const {
  core::CommandResult result = run({"cat-file", "blob", tree + ":" + file});
  if (!result.is_success()) return std::nullopt;
  return std::move(result.out);
}

}  // namespace nanobench::suites

#include "suites/source/source_trees.h"

#include "core/base/digest.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"
#include "core/process/command.h"
#include "suites/source/scratch_tree.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Json;
using core::Reason;

constexpr double kCheckSeconds = 600;  ///< of a suite's check: it may compile kernels

[[noreturn]] void refuse_change(Reason reason, const std::string& subject, const std::string& text) {
  throw core::Refusal(ErrorCode::kInvalidArgument, reason, text, subject);
}

std::string base_tree_of(SourceObjects& objects, const TrainerSource& source) {
  return source.revision.empty() ? objects.tree_of_folder(source.left_out) : objects.tree_of_revision(source.revision);
}

bool is_python(const std::string& file) {
  return fs::path(file).extension() == ".py";
}

/// "line 12: SyntaxError: invalid syntax" from what Python prints.
std::string python_words(const std::string& text) {
  const std::size_t at = text.rfind("\", line ");
  const std::string line =
      at == std::string::npos ? "" : text.substr(at + 3, text.find_first_not_of("0123456789", at + 8) - at - 3);
  return (line.empty() ? "" : line + ": ") + on_one_line(last_line(text), 160);
}

}  // namespace

SourceTrees::SourceTrees(const TrainerSource& source, const fs::path& cache)
    : source_(source), cache_(cache), objects_(cache, source.folder) {
  if (source_.base_tree.empty()) source_.base_tree = base_tree_of(objects_, source_);
}

std::string pin_source(TrainerSource& source, const fs::path& cache) {
  SourceObjects objects(cache, source.folder);
  if (source.base_tree.empty()) source.base_tree = base_tree_of(objects, source);
  if (!source.revision.empty()) return objects.commit_of(source.revision);
  try {
    const std::string commit = objects.commit_of("HEAD");
    return commit + (objects.tree_of_revision("HEAD") == source.base_tree ? "" : " (changed)");
  } catch (const Error& error) {
    core::rethrow_internal(error);
    return "";  // no repository, or one without a commit
  }
}

const std::string& SourceTrees::alone(const NamedChange& change) {
  if (const auto found = alone_.find(change.change); found != alone_.end()) return found->second;
  try {
    const std::string tree = objects_.with_change(base(), *change.change, source_.revision);
    if (tree == base())
      refuse_change(Reason::kUnused, change.name,
                    change.name + ": " + change.change->title() + " changes nothing in the source");
    return alone_[change.change] = tree;
  } catch (const SourceConflict& error) {
    throw_again(error, change.name + ": " + change.change->title() + " " + error.what());
  }
}

std::string SourceTrees::with(const std::vector<NamedChange>& changes) {
  std::vector<const SourceChange*> key;
  for (const NamedChange& change : changes) key.push_back(change.change);
  if (const auto found = together_.find(key); found != together_.end()) return found->second;
  std::string tree = base();
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const std::string& changed = alone(changes[i]);
    try {
      tree = changes[i].change->kind == ChangeKind::kReplace
                 ? objects_.with_change(tree, *changes[i].change, source_.revision)
                 : objects_.with_difference(tree, base(), changed);
    } catch (const SourceConflict& error) {
      fail_together(changes, i, error.place());
    }
  }
  return together_[key] = tree;
}

void SourceTrees::fail_together(const std::vector<NamedChange>& changes, std::size_t failed, const std::string& place) {
  std::vector<std::string> others;
  for (std::size_t i = 0; i < failed; ++i) others.push_back(changes[i].name);
  for (std::size_t i = 0; changes.size() > 2 && i < failed; ++i) {
    try {
      with({changes[i], changes[failed]});
    } catch (const SourceConflict&) {
      others = {changes[i].name};  // these two are enough
      break;
    }
  }
  throw SourceConflict(Reason::kClash, listed(others) + " and " + changes[failed].name + " meet in " + place, place);
}

std::string SourceTrees::python_problem(const std::string& tree, const std::string& file, const std::string& python) {
  const core::TemporaryFolder folder("compile");
  const fs::path copy = folder.path() / "source";
  core::write_file_atomically(copy, objects_.text_of(tree, file).value_or(""));
  const core::CommandResult result =
      core::run_command({python, "-B", "-c", "import sys; compile(open(sys.argv[2], 'rb').read(), sys.argv[1], 'exec')",
                         file, copy.string()});
  if (result.start_error != 0 || result.is_success()) return "";  // without Python here, the run will tell
  return python_words(result.err);
}

void SourceTrees::check(const std::string& tree, const std::string& label, const std::string& python) {
  const std::string what = core::digest_of(python + '\0' + joined(source_.check, std::string_view("\0", 1)));
  const fs::path passed = objects_.git_dir().parent_path() / "checked" / (tree + "-" + what.substr(0, 8));
  std::error_code ignored;
  if (fs::exists(passed, ignored)) return;
  for (const std::string& file : objects_.changed_files(base(), tree)) {
    const std::string problem = is_python(file) ? python_problem(tree, file, python) : "";
    if (problem.empty()) continue;
    if (objects_.text_of(base(), file) && !python_problem(base(), file, python).empty()) continue;
    refuse_change(Reason::kNoLongerCompiles, file, label + ": " + file + " no longer compiles, " + problem);
  }
  if (!source_.check.empty()) {
    const ScratchTree scratch(settings_of(tree));
    std::vector<std::string> command = {"env", "-C", scratch.folder().string()};
    command.insert(command.end(), source_.check.begin(), source_.check.end());
    const core::CommandResult result = core::run_command(command, {.seconds = kCheckSeconds});
    if (!result.is_success())
      refuse_change(Reason::kProgramFails, label,
                    label + ": the source's check fails: " + core::failure_text(source_.check, result));
  }
  fs::create_directories(passed.parent_path());
  core::write_file_atomically(passed, "");
}

Json SourceTrees::settings_of(const std::string& tree) const {
  Json settings = {{"git", objects_.git_dir().string()}, {"tree", tree}, {"links", Json::object()}};
  const fs::path folder = fs::weakly_canonical(source_.folder);
  for (const std::string& link : source_.links) settings["links"][link] = (folder / link).string();
  settings["folder"] = folder_of_tree(cache_, settings).string();
  return settings;
}

}  // namespace nanobench::suites

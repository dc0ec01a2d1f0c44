#include "tools/cli/engine_builds.h"

#include <chrono>
#include <cstdlib>
#include <utility>

#include "core/base/atomic_write.h"
#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/text.h"
#include "core/process/command.h"
#include "suites/source/source_trees.h"
#include "tools/cli/places.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;

constexpr double kBuildSeconds = 12.0 * 3600.0;
constexpr std::size_t kMaxLog = std::size_t{4} << 20;
constexpr const char* kBuiltStamp = ".nanobench_built";  ///< holds what it was built by
constexpr const char* kBuildLog = ".nanobench_build.log";

std::string stamp_of(const EngineRecipe& recipe) {
  return core::digest_of(recipe.build + "\n" + recipe.program.string());
}

bool is_built(const fs::path& folder, const EngineRecipe& recipe) {
  std::error_code ignored;
  return core::read_beginning(folder / kBuiltStamp).value_or("") == stamp_of(recipe) &&
         fs::is_regular_file(folder / recipe.program, ignored);
}

}  // namespace

EngineBuilds::EngineBuilds(EngineRecipe recipe, std::function<void(const std::string&)> tell)
    : recipe_(std::move(recipe)), tell_(std::move(tell)) {}

const EngineBuild& EngineBuilds::of(const std::string& commit) {
  if (const auto found = built_.find(commit); found != built_.end()) return found->second;
  const suites::SourceTrees source({.folder = recipe_.repository, .revision = commit}, cache_folder());
  suites::ScratchTree tree(source.settings_of(source.base()));
  if (!is_built(tree.folder(), recipe_)) build(tree.folder(), commit);
  trees_.push_back(std::move(tree));
  return built_[commit] = {.tree = source.base(), .program = trees_.back().folder() / recipe_.program};
}

/// LibTorch is taken from the repository where it is set up, and charts are not needed, so nothing is downloaded.
std::vector<std::string> EngineBuilds::command_in(const fs::path& folder) const {
  std::vector<std::string> words = {"env", "--chdir=" + folder.string(), "NANOBENCH_CHARTS=OFF"};
  std::error_code ignored;
  const fs::path dependencies = recipe_.repository / ".deps";
  const bool has_libtorch =
      fs::exists(dependencies / "torch", ignored) || fs::exists(dependencies / "libtorch", ignored);
  if (std::getenv("NANOBENCH_TORCH") == nullptr && has_libtorch)
    words.push_back("NANOBENCH_TORCH=" + dependencies.string());
  words.insert(words.end(), {"sh", "-c", recipe_.build});
  return words;
}

void EngineBuilds::build(const fs::path& folder, const std::string& commit) const {
  const std::string name = commit.substr(0, 10);
  tell_("  building " + name + " in " + folder.string());
  const auto began = std::chrono::steady_clock::now();
  const core::CommandResult result = core::run_command(
      command_in(folder), {.seconds = kBuildSeconds, .max_output = kMaxLog, .group = core::ChildGroup::kOurs});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const fs::path log = folder / kBuildLog;
  core::write_file_atomically(log, result.out + result.err);
  if (!result.is_success()) {
    throw Error(ErrorCode::kUnavailable,
                "it does not build: " + core::failure_text({recipe_.build}, result) + "; its output: " + log.string());
  }
  std::error_code ignored;
  if (!fs::is_regular_file(folder / recipe_.program, ignored)) {
    throw Error(ErrorCode::kUnavailable,
                "its build makes no " + recipe_.program.string() + "; its output: " + log.string());
  }
  core::write_file_atomically(folder / kBuiltStamp, stamp_of(recipe_));
  tell_("  built " + name + " in " + format_duration(seconds));
}

void EngineBuilds::remove() {
  std::vector<fs::path> folders;
  for (const suites::ScratchTree& tree : trees_) folders.push_back(tree.folder());
  built_.clear();
  trees_.clear();
  suites::remove_trees(cache_folder(), folders);
}

}  // namespace nanobench::tools

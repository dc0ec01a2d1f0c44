/// Engines that are built from commits of nanobench's own repository, each in a folder of its own in the cache.
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "suites/source/scratch_tree.h"

namespace nanobench::tools {

/// How a commit becomes an engine.
struct EngineRecipe {
  std::filesystem::path repository;  ///< never written to
  std::string build;                 ///< a shell command, in the folder of the commit's files
  std::filesystem::path program;     ///< what it makes there
};

/// A built one.
struct EngineBuild {
  std::string tree;               ///< of git: equal for equal sources
  std::filesystem::path program;  ///< in the cache
};

/// Holds the folders of its engines as long as it lives. Not thread-safe.
class EngineBuilds {
 public:
  /// `tell` gets a line for people before and after each build.
  EngineBuilds(EngineRecipe recipe, std::function<void(const std::string&)> tell);

  /// Builds the commit, unless its folder has been built before. Ctrl-C reaches the build. Throws Error{kUnavailable}
  /// for a build that fails or makes no program, with its last words and its log, which stays; Error as SourceTrees
  /// does.
  const EngineBuild& of(const std::string& commit);

  /// Removes the folders. Those of a builder that is not asked to are used again; the cache keeps them for a week.
  void remove();

 private:
  void build(const std::filesystem::path& folder, const std::string& commit) const;
  std::vector<std::string> command_in(const std::filesystem::path& folder) const;

  EngineRecipe recipe_;
  std::function<void(const std::string&)> tell_;
  std::list<suites::ScratchTree> trees_;
  std::map<std::string, EngineBuild> built_;  ///< by commit
};

}  // namespace nanobench::tools

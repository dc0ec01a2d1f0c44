/// A suite around a trainer and a folder of patches, from the command line: what `ablate --trainer` and `suite init`
/// share.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/json.h"
#include "suites/design/suite.h"

namespace CLI {
class App;
}

namespace nanobench::tools {

/// The request as typed; empty: not given.
struct TrainerRequest {
  std::string folder;
  std::string revision;
  std::string patches;
  std::string command;
  bool is_given() const { return !folder.empty() || !revision.empty() || !patches.empty() || !command.empty(); }
};

/// --trainer, --revision, --patches and --command.
void add_trainer_options(CLI::App& command, TrainerRequest& request);

/// The suite's "engine": each patch is a feature with the name of its file. In the
/// designs that take features away from a base, a patch is the earlier value ("off": what the trainer is without it);
/// in the others it is the later one. `place`: the folder that the suite's paths are relative to. Throws
/// Error{kInvalidArgument} for a folder without patches or a trainer without an evident command, Error{kNotFound}.
core::OrderedJson trainer_engine(const TrainerRequest& request, suites::Design design,
                                 const std::filesystem::path& place);

}  // namespace nanobench::tools

/// --executor slurm and what goes with it.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "suites/slurm/slurm_runner.h"

namespace nanobench::tools {

struct SlurmRequest {
  std::string executor = "local";
  std::string partition;
  std::optional<int> tasks_at_once;
  std::string chunk;
  std::vector<std::string> sbatch_options;
  std::string scratch;
  std::optional<double> poll_seconds;
  bool cancels_on_interrupt = false;
};

void add_slurm_options(CLI::App& command, SlurmRequest& request);

/// nullopt: the suite runs on this machine. `database` is what the results go into. Throws Error: also where Slurm is
/// not here, or has no such partition.
std::optional<suites::SlurmOptions> slurm_options(const SlurmRequest& request, const std::filesystem::path& database);

}  // namespace nanobench::tools

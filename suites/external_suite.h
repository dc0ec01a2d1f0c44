/// The part of a suite that runs somebody else's trainer: its command, what of it a cell changes, and the cells. The
/// trainer prints speedrun log lines (results/import/speedrun_line.h). Plain values; thread-safe when not modified.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"

namespace nanobench::suites {

struct Suite;
struct Matrix;
struct Engine;

/// Something about the trainer that cells change: a value name stands for the text that the command gets.
struct ExternalFeature {
  std::string id;
  std::string title;
  std::vector<std::pair<std::string, std::string>> values;  ///< name, text
  std::string before;
  std::string after;

  const std::string* text_of(const std::string& value) const;  ///< nullptr for an unknown name
};

struct ExternalCell {
  std::string label;
  std::map<std::string, std::string> values;  ///< by feature id; the others are at `after`
};

struct ExternalTrainer {
  std::vector<std::string> command;        ///< may hold {feature:ID}, {seed} and {cell}
  std::map<std::string, std::string> env;  ///< the same in the values
  std::filesystem::path folder;            ///< where the command runs: that of the suite file
  std::vector<ExternalFeature> features;   ///< in the suite's order
  std::vector<ExternalCell> cells;         ///< of the design "cells"
  std::optional<std::int64_t> steps;       ///< of a run, for the display of progress
};

/// Whether the suite's "engine" is a command.
bool is_external_engine(const core::Json* engine);

/// From "engine" and, for the design "cells", "cells". Throws Error{kInvalidArgument} with file and JSON pointer:
/// unknown keys, features and values, templates that name nothing, labels that are there twice.
ExternalTrainer read_external_trainer(core::JsonObject& suite, bool has_cells);

/// The cells of an external suite, each with its command and the digests of the files that the command names.
Matrix make_external_matrix(const Suite& suite);

/// The settings of one run: templates filled in. JSON: {"command", "env", "folder", "files"}.
core::Json external_settings(const core::Json& cell_settings, std::uint64_t seed);

/// `command` like {"nanobench", "external-engine"}; the version is the digest of the trainer's command and files.
Engine external_engine(const Suite& suite, std::vector<std::string> command);

}  // namespace nanobench::suites

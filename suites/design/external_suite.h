/// The part of a suite that runs somebody else's trainer: its command, what of it a cell changes, and the cells. The
/// trainer prints speedrun log lines (results/import/speedrun_line.h). Plain values; thread-safe when not modified.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
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
  std::map<std::string, std::string> values;  ///< by feature id
};

struct ExternalTrainer {
  std::vector<std::string> command;                 ///< may hold {feature:ID}, {seed} and {cell}
  std::map<std::string, std::string> env;           ///< the same in the values
  std::optional<std::vector<std::string>> inherit;  ///< variables of ours that it gets too; absent: all
  std::string log_file;                   ///< where it writes its lines, as the command; empty: standard output
  std::filesystem::path folder;           ///< where the command runs
  std::vector<std::string> sources;       ///< files and folders that are the trainer, beside those of the command
  std::vector<ExternalFeature> features;  ///< in the suite's order
  std::vector<ExternalCell> cells;        ///< of the designs "cells" and "history"
  std::optional<std::int64_t> steps;      ///< of a run, for the display of progress
  // Of the trainer's own repository; set by who can ask git, not from the file:
  std::string revision;  ///< the commit, with " (changed)" when tracked files differ from it; provenance only
  std::string tree;      ///< digest of the tracked files as they are; part of each run's identity

  const ExternalFeature* find(const std::string& id) const;  ///< nullptr for an unknown one
  std::vector<std::string> ids() const;
};

/// Whether the suite's "engine" is a command.
bool is_external_engine(const core::Json* engine);

/// From "engine". Throws Error{kInvalidArgument} with file and JSON pointer: unknown keys, features and values,
/// templates that name nothing, values that a shell would read as code.
ExternalTrainer read_external_trainer(core::JsonObject& suite);

/// "cells", into the trainer. Throws likewise, also for labels that appear twice.
void read_external_cells(core::JsonObject& suite, ExternalTrainer& trainer);

/// The cells of an external suite, each with its command and the digests of the trainer's files. Throws Error with the
/// suite's file and pointer for unknown features and values, and for sources that are not there.
Matrix make_external_matrix(const Suite& suite);

/// The settings of one run: templates filled in. JSON: {"command", "env", "folder", "files", "suite_file"} and, where
/// there are such, "inherit", "log_file", "revision", "tree".
core::Json external_settings(const core::Json& cell_settings, std::uint64_t seed);

/// What of a cell's settings says what is trained, not by which state of the trainer's sources, or where they lie.
core::Json external_configuration(const core::Json& cell_settings);

/// `command` like {"nanobench", "external-engine"}; the version is the digest of the trainer's command and files.
Engine external_engine(const Suite& suite, std::vector<std::string> command);

/// Name of the stored plans that measure the noise of an external suite: a trainer's own, as trainers share no scale.
std::string external_calibration_name(const std::string& suite_name);
/// Whether `stored_name` names runs of the suite's trainer: its own runs or those of its calibration.
bool is_of_trainer(const std::string& suite_name, const std::string& stored_name);

// The rest is internal to suites: texts with names in braces, which a trainer's command is made of, and its bytes.

/// From a name to what stands for it.
using TextOf = std::function<std::string(const std::string&)>;

/// Puts the answer of `text_of` in place of each name in braces; "{{" and "}}" stand for braces. With `is_last` false
/// these stay as they are, for a later round.
std::string filled(const std::string& text, const TextOf& text_of, bool is_last = true);

/// A text that `filled` gives back as it is.
std::string with_braces_kept(const std::string& text);

/// Digest by name of the files that the words of a command name, and of all files of `sources`, as seen from the
/// folder. Of a folder all below it counts but what hidden names and __pycache__ hold. Throws Error{kNotFound} for a
/// source that is not there.
core::Json digests_of_files(const std::vector<std::string>& words, const std::vector<std::string>& sources,
                            const std::filesystem::path& folder);

}  // namespace nanobench::suites

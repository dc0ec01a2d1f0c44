/// The part of a suite that runs an external trainer: its command, the parts that cells change, and the cells. The
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
#include "suites/design/seats.h"
#include "suites/source/source_change.h"

namespace nanobench::suites {

struct Suite;
struct Matrix;
struct Engine;

/// A property of the trainer that cells change. Each value name stands for a text that is put into the command, or for
/// a change of the trainer's source.
struct ExternalFeature {
  std::string id;
  std::string title;
  std::vector<std::pair<std::string, std::string>> values;  ///< name, text; of a change of the source: its name again
  std::map<std::string, SourceChange> changes;              ///< by value; empty: the values are texts
  std::string before;
  std::string after;

  const std::string* text_of(const std::string& value) const;  ///< nullptr if the name is unknown
};

struct ExternalCell {
  std::string label;
  std::map<std::string, std::string> values;  ///< by feature id
};

struct ExternalTrainer {
  std::vector<std::string> command;                 ///< may hold {feature:ID}, {seed} and {cell}
  std::map<std::string, std::string> env;           ///< values may hold the same placeholders
  std::optional<std::vector<std::string>> inherit;  ///< names of our variables that it also gets; absent: all
  std::string log_file;                   ///< where it writes its lines; same placeholders; empty: standard output
  std::filesystem::path folder;           ///< where the command runs; with a source: in the source's folder
  std::optional<TrainerSource> source;    ///< each cell runs in a tree of its own, made from it; absent: in `folder`
  std::vector<std::string> sources;       ///< files and folders of the trainer besides those named in the command
  Seats seats;                            ///< where runs are made side by side; empty: one after the other
  std::vector<ExternalFeature> features;  ///< in the suite's order
  std::vector<ExternalCell> cells;        ///< for the designs "cells" and "history"
  std::optional<std::int64_t> steps;      ///< steps of a run, to display progress
  std::int64_t warmup = 0;                ///< runs of a cell before its first one that do not count
  // State of the trainer's own repository; set by a caller that can run git, not read from the file:
  std::string revision;  ///< the commit, with " (changed)" when tracked files differ from it; provenance only
  std::string tree;      ///< digest of the tracked files' current contents; part of each run's identity

  const ExternalFeature* find(const std::string& id) const;  ///< nullptr if unknown
  std::vector<std::string> ids() const;
};

/// Whether the suite's "engine" is a command.
bool is_external_engine(const core::Json* engine);

/// Reads "engine". Throws Error{kInvalidArgument} with file and JSON pointer: unknown keys, features and values,
/// templates that name nothing, values that a shell would read as code.
ExternalTrainer read_external_trainer(core::JsonObject& suite);

/// The same trainer in another checkout. A source is then the folder as it is on disk.
void move_to_folder(ExternalTrainer& trainer, const std::filesystem::path& folder);

/// Reads "cells" into the trainer. Throws likewise, and also for labels that appear twice.
void read_external_cells(core::JsonObject& suite, ExternalTrainer& trainer);

/// The cells of an external suite, each with its command and the digests of the trainer's files. Throws Error with the
/// suite's file and pointer for unknown features and values, and for missing sources.
Matrix make_external_matrix(const Suite& suite);

/// The settings of one run: templates filled in. JSON: {"command", "env", "folder", "files", "suite_file"} and, if set,
/// "has_named_sources", "inherit", "log_file", "revision", "tree", "warmup", "changes" (of the source, by feature) and
/// "source" (as ScratchTree needs it).
core::Json external_settings(const core::Json& cell_settings, std::uint64_t seed);

/// The part of a cell's settings that defines what is trained, without the state and location of the trainer's sources.
core::Json external_configuration(const core::Json& cell_settings);

/// The engine for an external suite; `command` is like {"nanobench", "external-engine"}. Its version is the digest of
/// the trainer's command and files.
Engine external_engine(const Suite& suite, std::vector<std::string> command);

/// Name of the stored plans that measure an external suite's noise. Each trainer has its own, because trainers share no
/// scale.
std::string external_calibration_name(const std::string& suite_name);
/// Whether `stored_name` names runs of the suite's trainer: its own runs or those of its calibration.
bool is_of_trainer(const std::string& suite_name, const std::string& stored_name);

// The rest is internal to suites: templates with names in braces, used in a trainer's command, and digests of its
// files.

/// Maps a name to its replacement.
using TextOf = std::function<std::string(const std::string&)>;

/// Replaces each name in braces with the answer of `text_of`; "{{" and "}}" stand for braces. If `is_last` is false,
/// those doubled braces stay for a later round.
std::string filled(const std::string& text, const TextOf& text_of, bool is_last = true);

/// Escapes the text so that `filled` returns it unchanged.
std::string with_braces_kept(const std::string& text);

/// Digests, by name, of the files that the words of a command name, as seen from the folder.
core::Json digests_of_words(const std::vector<std::string>& words, const std::filesystem::path& folder);

/// Digests, by name relative to the folder, of all files of `sources`: a folder counts with everything below it except
/// hidden entries and __pycache__. Without any: of all files below the folder whose names are those of sources, tracked
/// by git or not. Throws Error{kNotFound} for a missing source, Error{kInvalidArgument} if the folder is too large.
core::Json digests_of_sources(const std::vector<std::string>& sources, const std::filesystem::path& folder);

/// The option of this command, "-I" for instance, with which Python reads no PYTHONPATH and therefore does not tell
/// what it loads (suites/run/python_modules.h); empty if there is none.
std::string silencing_option(const std::vector<std::string>& command);

/// Whether a change of the trainer would be noticed: some file of it is known. `settings`: a cell's.
bool has_known_sources(const core::Json& settings);

}  // namespace nanobench::suites

/// What may stand as the value of an option or of a positional argument. Reads no more than that takes: names of
/// embedded files, small queries of the store. A database that cannot be read offers nothing.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.h"

namespace nanobench::tools {

/// One word that may be typed.
struct Candidate {
  std::string word;     ///< the whole word; one that ends with '=', ':' or ',' goes on
  std::string meaning;  ///< in a few words; may be empty
};

struct Completion {
  enum class Files { kNone, kFolders, kFiles };
  std::vector<Candidate> candidates;
  Files files = Files::kNone;  ///< the shell adds names of folders, or of files and folders
};
/// For the shell's script.
NB_ENUM_NAMES(Completion::Files, {Completion::Files::kNone, "words"}, {Completion::Files::kFolders, "folders"},
              {Completion::Files::kFiles, "files"});

/// The part of a command line that stands before the word that is typed.
struct TypedLine {
  const CLI::App* program = nullptr;
  std::string command;                        ///< "run", "data prepare"; empty before the command
  std::map<std::string, std::string> values;  ///< the last value of each option, by its name: {"--db", "x.db"}
};

/// Candidates for a value that begins with `text`; others may be among them.
Completion values_of(const CLI::Option& option, const TypedLine& line, const std::string& text);

/// An option or a positional argument with candidates of its own.
struct ValueRule {
  std::string_view command;  ///< "export"; empty: of every command
  std::string_view option;   ///< "--scale", or the name of a positional argument
};
std::vector<ValueRule> value_rules();

/// Whether a rule, or its type FILE or DIR, says what the value may be.
bool has_values(const CLI::Option& option, const std::string& command);

}  // namespace nanobench::tools

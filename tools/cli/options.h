/// Options shared by several commands, and their values.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ablations/catalogue.h"
#include "core/base/enum_names.h"
#include "core/protocol/run_choices.h"
#include "reports/document/document.h"

namespace nanobench::tools {

/// --catalogue DIR
void add_catalogue_option(CLI::App& command, std::string& folder);
/// --db FILE
void add_database_option(CLI::App& command, std::string& file);
/// --ranks N and --processes N
void add_participant_options(CLI::App& command, std::optional<std::int64_t>& ranks,
                             std::optional<std::int64_t>& processes);
/// --device: cpu, cuda or cuda:N
void add_device_option(CLI::App& command, std::optional<core::DeviceChoice>& device);
void add_kernels_option(CLI::App& command, std::optional<core::KernelChoice>& kernels);
/// --metrics: what every run measures besides; "none" where a suite asks and the command does not want it.
void add_metrics_option(CLI::App& command, std::optional<core::AskedMetrics>& metrics);
/// --health-every N
void add_health_option(CLI::App& command, std::optional<std::int64_t>& every);
/// --json
void add_json_option(CLI::App& command, bool& is_json);
/// --notes, for commands whose tables fold notes
void add_notes_option(CLI::App& command, bool& has_notes);

/// The embedded catalogue with the requested parts, extended by the folder if one is named.
ablations::Catalogue load_catalogue(const std::string& folder,
                                    ablations::CatalogueParts parts = ablations::CatalogueParts::kWithoutClaims);

/// The names in "a,b", the value of `option`. Throws Error{kInvalidArgument} for an empty one.
std::vector<std::string> parts_of(const std::string& option, const std::string& text);

/// Says on standard error that `threads` are more than there are processors, if they are.
void warn_of_shared_processors(int threads);

/// "3" means the seeds 1, 2 and 3; "4,7" those two; "5," the single seed 5. Throws Error{kInvalidArgument}.
std::vector<std::uint64_t> parse_seeds(const std::string& text);

/// "feature=value" each. Throws Error{kInvalidArgument} for other forms and for a feature that appears twice.
ablations::FeatureSettings parse_settings(const std::vector<std::string>& texts);

/// The format in which a document is printed.
enum class Format { kTable, kMarkdown, kHtml, kJson, kCsv };
NB_ENUM_NAMES(Format, {Format::kTable, "table"}, {Format::kMarkdown, "markdown"}, {Format::kHtml, "html"},
              {Format::kJson, "json"}, {Format::kCsv, "csv"});
/// Throws Error{kInvalidArgument} with the nearest name.
Format parse_format(const std::string& name);
/// From the extension: .md, .html, .json, .csv; nullopt for others.
std::optional<Format> format_of_file(const std::filesystem::path& file);

/// Which notes a table shows.
enum class Notes { kAll, kFew };
Notes notes_of(bool has_notes);

/// How and where a document is written.
struct DocumentOptions {
  std::string format;
  std::string out;
  bool is_json = false;
  bool has_notes = false;
};

/// --format and --out
void add_file_options(CLI::App& command, DocumentOptions& options);
/// --format, --out, --json, --notes
void add_document_options(CLI::App& command, DocumentOptions& options);
/// --json, else --format, else the extension of --out, else a table. Throws Error{kInvalidArgument}.
Format chosen_format(const DocumentOptions& options);

/// Tables are fitted to the terminal; `notes` affects only tables.
std::string render(const reports::Document& document, Format format, Notes notes = Notes::kAll);
/// Prints the table or JSON to stdout.
void print(const reports::Document& document, bool is_json, Notes notes = Notes::kAll);
/// Writes to stdout, or to the file that --out names: complete or not at all. Throws Error{kIo}.
void write(const reports::Document& document, Format format, const DocumentOptions& options);

}  // namespace nanobench::tools

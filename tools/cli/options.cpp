#include "tools/cli/options.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <unordered_set>

#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/hardware/processors.h"
#include "core/protocol/run_spec.h"
#include "reports/render/render.h"
#include "tools/cli/places.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;

constexpr std::size_t kPipeColumns = 200;  ///< without a terminal, every column fits
constexpr std::uint64_t kMaxSeeds = 10000;

std::uint64_t parse_seed(const std::string& text, const std::string& whole) {
  const std::optional<std::int64_t> value = parse_count(text);
  if (!value) {
    throw Error(ErrorCode::kInvalidArgument, "--seeds " + whole +
                                                 ": expected a number of seeds such as 3, or a list such as 1,2,5; \"" +
                                                 text + "\" is not a whole number");
  }
  return static_cast<std::uint64_t>(*value);
}

/// Names of the commands that have --db; complete once all are added.
std::set<std::string>& commands_with_database() {
  static std::set<std::string> names;
  return names;
}

}  // namespace

void add_catalogue_option(CLI::App& command, std::string& folder) {
  command
      .add_option("--catalogue", folder,
                  "Folder with your own features/, records/, scales/ or claims/, which extend the catalogue")
      ->type_name("DIR");
}

void add_database_option(CLI::App& command, std::string& file) {
  commands_with_database().insert(command.get_name());
  command
      .add_option("--db", file,
                  "Database (default: $NANOBENCH_DB, else nanobench.db of the git repository you are in; in "
                  "nanobench's own, results/nanobench.db)")
      ->type_name("FILE");
}

void add_participant_options(CLI::App& command, std::optional<std::int64_t>& ranks,
                             std::optional<std::int64_t>& processes) {
  const auto in_range = [] { return CLI::Range(std::int64_t{1}, std::int64_t{65536}).description(""); };
  command
      .add_option("--ranks", ranks,
                  "Data-parallel ranks (default: the scale's; with --processes: as many as processes)")
      ->type_name("N")
      ->check(in_range());
  command.add_option("--processes", processes, "Processes of a run (default: 1)")->type_name("N")->check(in_range());
}

void add_device_option(CLI::App& command, std::optional<core::DeviceChoice>& device) {
  const auto is_device = [](const std::string& name) {
    return core::device_choice(name) ? std::string() : "expected cpu, cuda or cuda:N, got " + name;
  };
  const auto take = [&device](const std::string& name) { device = core::device_choice(name); };
  command
      .add_option_function<std::string>("--device", take,
                                        "Device of the runs: cpu (default), cuda, or cuda:N for one GPU of several")
      ->type_name("NAME")
      ->check(CLI::Validator(is_device, "", "device"));
}

void add_kernels_option(CLI::App& command, std::optional<core::KernelChoice>& kernels) {
  const auto take = [&kernels](const std::string& name) { kernels = enum_value<core::KernelChoice>(name); };
  command
      .add_option_function<std::string>(
          "--kernels", take, "fused (default), or reference: single operations in every run, to compare like with like")
      ->check(CLI::IsMember(enum_names<core::KernelChoice>()))
      ->type_name("KIND");
}

void add_metrics_option(CLI::App& command, std::optional<core::AskedMetrics>& metrics) {
  const auto take = [&metrics](const std::string& text) {
    core::AskedMetrics asked;
    for (const std::string& name : text == "none" ? std::vector<std::string>{} : parts_of("--metrics", text)) {
      const std::optional<core::AskedMetric> metric = enum_value<core::AskedMetric>(name);
      if (!metric) {
        throw Error(ErrorCode::kInvalidArgument, "--metrics: expected none or " + expected_names<core::AskedMetric>() +
                                                     ", got \"" + name + "\"" +
                                                     core::suggestion(name, enum_names<core::AskedMetric>()));
      }
      asked.insert(*metric);
    }
    metrics = asked;
  };
  command
      .add_option_function<std::string>("--metrics", take,
                                        "What every run measures besides: losses of the last validation's tokens by "
                                        "group, or the health of training: " +
                                            joined(enum_names<core::AskedMetric>()) + "; none")
      ->type_name("NAME[,NAME...]");
}

void add_health_option(CLI::App& command, std::optional<std::int64_t>& every) {
  command.add_option("--health-every", every, "Steps between samples of health (default: those between validations)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, core::kMaxHealthEvery).description(""));
}

void add_json_option(CLI::App& command, bool& is_json) {
  command.add_flag("--json", is_json, "Print JSON (with schema_version) instead of a table");
}

void add_notes_option(CLI::App& command, bool& has_notes) {
  command.add_flag("--notes", has_notes, "Print all notes of a table");
}

void add_file_options(CLI::App& command, DocumentOptions& options) {
  command.add_option("--format", options.format, "table, md, html, json, csv")->type_name("FORMAT");
  command.add_option("--out", options.out, "Write to a file (complete or not at all)")->type_name("FILE");
}

void add_document_options(CLI::App& command, DocumentOptions& options) {
  add_file_options(command, options);
  add_json_option(command, options.is_json);
  add_notes_option(command, options.has_notes);
}

ablations::Catalogue load_catalogue(const std::string& folder, ablations::CatalogueParts parts) {
  ablations::Catalogue catalogue = ablations::Catalogue::embedded(parts);
  if (!folder.empty()) catalogue.overlay(folder);
  return catalogue;
}

std::vector<std::string> parts_of(const std::string& option, const std::string& text) {
  const std::vector<std::string_view> parts = split_at(text, ',');
  const bool has_gap = std::any_of(parts.begin(), parts.end(), [](std::string_view part) { return part.empty(); });
  if (parts.empty() || has_gap || text.ends_with(',')) {
    throw core::Error(core::ErrorCode::kInvalidArgument,
                      option + " " + text + ": expected names with one comma between them");
  }
  return {parts.begin(), parts.end()};
}

void warn_of_shared_processors(int threads) {
  const int processors = core::available_processors();
  if (threads <= processors) return;
  tell_on_stderr("warning: " + counted(threads, "thread") + " share " + counted(processors, "processor") +
                 ", which makes runs several times slower");
}

std::vector<std::uint64_t> parse_seeds(const std::string& text) {
  std::vector<std::uint64_t> seeds;
  if (text.find(',') == std::string::npos) {
    const std::uint64_t count = parse_seed(text, text);
    if (count == 0 || count > kMaxSeeds) {
      throw Error(ErrorCode::kInvalidArgument, "--seeds " + text + ": expected 1 to " + std::to_string(kMaxSeeds) +
                                                   " seeds; for the one seed " + text + " write --seeds " + text + ",");
    }
    for (std::uint64_t seed = 1; seed <= count; ++seed) seeds.push_back(seed);
    return seeds;
  }
  std::unordered_set<std::uint64_t> known;
  for (const std::string_view part : split_at(text, ',')) {
    seeds.push_back(parse_seed(std::string(part), text));
    if (!known.insert(seeds.back()).second) {
      throw Error(ErrorCode::kInvalidArgument,
                  "--seeds " + text + ": the seed " + std::to_string(seeds.back()) + " appears twice");
    }
  }
  if (seeds.empty()) throw Error(ErrorCode::kInvalidArgument, "--seeds " + text + ": expected at least one seed");
  return seeds;
}

ablations::FeatureSettings parse_settings(const std::vector<std::string>& texts) {
  ablations::FeatureSettings settings;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      throw Error(ErrorCode::kInvalidArgument, "--set " + text + ": expected FEATURE=VALUE, such as logit_softcap=30");
    }
    const std::string id = text.substr(0, equals);
    if (!settings.emplace(id, text.substr(equals + 1)).second) {
      throw Error(ErrorCode::kInvalidArgument, "--set " + text + ": " + id + " is set twice; keep one value");
    }
  }
  return settings;
}

Format parse_format(const std::string& name) {
  if (name == "md") return Format::kMarkdown;
  if (const std::optional<Format> format = enum_value<Format>(name)) return *format;
  throw Error(ErrorCode::kInvalidArgument, "--format " + name + ": expected table, md, html, json or csv" +
                                               core::suggestion(name, enum_names<Format>()));
}

std::optional<Format> format_of_file(const std::filesystem::path& file) {
  const std::string end = file.extension().string();
  if (end == ".md" || end == ".markdown") return Format::kMarkdown;
  if (end == ".html" || end == ".htm") return Format::kHtml;
  if (end == ".json") return Format::kJson;
  if (end == ".csv") return Format::kCsv;
  return std::nullopt;
}

Format chosen_format(const DocumentOptions& options) {
  if (options.is_json) return Format::kJson;
  if (!options.format.empty()) return parse_format(options.format);
  if (options.out.empty()) return Format::kTable;
  if (const std::optional<Format> known = format_of_file(options.out)) return *known;
  throw Error(
      ErrorCode::kInvalidArgument,
      "--out " + options.out + ": the extension names no format; use .md, .html, .json or .csv, or add --format");
}

Notes notes_of(bool has_notes) {
  return has_notes ? Notes::kAll : Notes::kFew;
}

namespace {

/// What the document offers, for the database that this command line names.
reports::Document with_database(const reports::Document& document) {
  const std::string database = typed_database();
  reports::Document whole = document;
  for (reports::NextStep& step : whole.next) {
    const std::size_t end = std::min(step.command.find(' '), step.command.size());
    const bool has_it = step.command.find(" --db") != std::string::npos;
    if (!has_it && commands_with_database().contains(step.command.substr(0, end))) step.command.insert(end, database);
  }
  return whole;
}

}  // namespace

std::string render(const reports::Document& document, Format format, Notes notes) {
  switch (format) {
    case Format::kMarkdown: return reports::render_markdown(document);
    case Format::kHtml: return reports::render_html(document);
    case Format::kJson: return reports::render_json(document);
    case Format::kCsv: return reports::render_csv(document);
    case Format::kTable: break;
  }
  return reports::render_terminal(with_database(document), {.width = terminal_width(STDOUT_FILENO, kPipeColumns),
                                                            .has_color = has_color(STDOUT_FILENO),
                                                            .folds_notes = notes == Notes::kFew,
                                                            .program = program_name()});
}

void print(const reports::Document& document, bool is_json, Notes notes) {
  std::cout << render(document, is_json ? Format::kJson : Format::kTable, notes) << std::flush;
}

void write(const reports::Document& document, Format format, const DocumentOptions& options) {
  const std::string text = render(document, format, notes_of(options.has_notes));
  if (options.out.empty()) {
    std::cout << text << std::flush;
    return;
  }
  core::write_file_atomically(options.out, text);
  if (is_terminal(STDERR_FILENO)) tell_on_stderr("wrote " + options.out);
}

}  // namespace nanobench::tools

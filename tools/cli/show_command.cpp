// `nanobench show NAME`: one feature, record, scale, claim, suite or run.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "ablations/catalogue.h"
#include "ablations/resolve.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "reports/forecast/run_cost.h"
#include "reports/kinds/kinds.h"
#include "results/store.h"
#include "suites/design/plan.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"
#include "tools/cli/suite_run.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;

struct ShowOptions {
  std::string name;
  std::string scale;
  std::string database;
  std::string catalogue;
  std::vector<std::string> settings;
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> processes;
  bool is_config = false;
  bool is_json = false;
};

constexpr const char* kShowFooter =
    "Examples:\n"
    "  nanobench show muon_orthogonalizer                    a feature: its values, why, which records use it\n"
    "  nanobench show record17                               a record: changes, published figures, feature values\n"
    "  nanobench show record17 --scale nano --config >c.json the configuration, ready for `nanobench train c.json`\n"
    "  nanobench show record17 --set logit_softcap=off --set document_mask=off --config\n"
    "  nanobench show nano                                   a scale: what it shrinks and what it cannot keep\n"
    "  nanobench show seed000_throughput_2_1_times           a claim: what would decide it, what the sources state\n"
    "  nanobench show speedrun_history                       a suite: its cells\n"
    "  nanobench show 12                                     run 12: provenance and curve\n"
    "  nanobench show 12 --config                            the configuration that run 12 trained";

void print_config(const core::OrderedJson& config) {
  std::cout << config.dump(2) << "\n";
}

[[noreturn]] void fail_unknown(const std::string& name, const ablations::Catalogue& catalogue) {
  std::vector<std::string> known;
  for (const auto* feature : catalogue.all_features()) known.push_back(feature->id);
  for (const auto* record : catalogue.records()) known.push_back(record->id);
  for (const auto* scale : catalogue.scales()) known.push_back(scale->id);
  for (const auto* claim : catalogue.claims()) known.push_back(claim->id);
  for (const auto& file : suite_files()) known.push_back(file.stem().string());
  throw Error(ErrorCode::kNotFound, "there is no feature, record, scale, claim, suite or run named " + name +
                                        core::suggestion(name, known) + "; `nanobench list` shows the names");
}

bool is_suite(const std::string& name) {
  try {
    find_suite(name);
    return true;
  } catch (const Error& error) {
    rethrow_internal(error);
    return false;
  }
}

void refuse_config(const ShowOptions& options, const char* kind) {
  if (options.is_config) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string("--config: a ") + kind + " has no configuration of its own; name a record or a run");
  }
}

void show_run(const ShowOptions& options, std::int64_t id) {
  const results::Store store(database_file(options.database), results::OpenMode::kReadOnly);
  if (options.is_config) {
    print_config(core::parse_ordered_json(store.run(id).config, "the configuration of run " + std::to_string(id)));
    return;
  }
  print(reports::run_report(store, id), options.is_json);
}

void show_record(const ShowOptions& options, const ablations::Catalogue& catalogue) {
  ablations::ResolveRequest request;
  request.record = options.name;
  request.settings = parse_settings(options.settings);
  request.scale = options.scale.empty() ? "official" : options.scale;
  request.ranks = options.ranks;
  request.processes = options.processes;
  if (!options.is_config)
    return print(reports::record_report(catalogue, request, stored_prices(options.database).get()), options.is_json);
  const ablations::Resolved resolved = ablations::resolve(catalogue, request);
  for (const core::Message& message : resolved.messages) tell_on_stderr(message.text);
  print_config(core::to_json(resolved.config));
}

/// Settings belong to a record and would have no effect on anything else.
void refuse_settings(const ShowOptions& options, const char* kind) {
  if (options.settings.empty() && !options.ranks && !options.processes) return;
  throw Error(ErrorCode::kInvalidArgument, std::string(options.settings.empty() ? "--ranks and --processes" : "--set") +
                                               ": " + options.name + " is a " + kind + "; name a record");
}

/// A name that matches nothing else may be a claim.
void show_claim(const ShowOptions& options) {
  const ablations::Catalogue catalogue = load_catalogue(options.catalogue, ablations::CatalogueParts::kAll);
  if (!catalogue.has_claim(options.name)) fail_unknown(options.name, catalogue);
  refuse_config(options, "claim");
  print(reports::claim_report(catalogue, options.name), options.is_json);
}

void show(const ShowOptions& options) {
  if (const auto id = parse_count(options.name)) {
    refuse_settings(options, "run");
    return show_run(options, *id);
  }
  const ablations::Catalogue catalogue = load_catalogue(options.catalogue);
  if (catalogue.has_record(options.name)) return show_record(options, catalogue);
  if (catalogue.has_feature(options.name)) {
    refuse_config(options, "feature");
    refuse_settings(options, "feature");
    return print(reports::feature_report(catalogue, options.name, stored_prices(options.database).get()),
                 options.is_json);
  }
  if (catalogue.has_scale(options.name)) {
    refuse_config(options, "scale");
    refuse_settings(options, "scale");
    return print(reports::scale_report(catalogue, options.name), options.is_json);
  }
  if (!is_suite(options.name)) return show_claim(options);
  refuse_config(options, "suite");
  if (!options.settings.empty()) refuse_settings(options, "suite");
  suites::SuiteOverrides overrides;
  if (!options.scale.empty()) overrides.scale = options.scale;
  overrides.ranks = options.ranks;
  overrides.processes = options.processes;
  const suites::Suite suite = suites::with_overrides(suites::read_suite_file(find_suite(options.name)), overrides);
  const suites::Matrix matrix = matrix_of(suite, options.catalogue);
  reports::Document document = reports::suite_report(suite, matrix);
  const std::string scale = options.scale.empty() ? "" : " --scale " + options.scale;
  const std::string price = reports::suite_price(stored_prices(options.database).get(), suite, matrix);
  document.next = {
      {.command = "plan " + shell_words({options.name}) + scale,
       .gain = "what it will take and can show; trains nothing"},
      {.command = "run " + shell_words({options.name}) + scale, .gain = price + "trains, measures and reports"}};
  print(document, options.is_json);
}

}  // namespace

void add_show_command(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("show", "Show one feature, record, scale, claim, suite or run");
  const auto options = std::make_shared<ShowOptions>();
  command->add_option("NAME", options->name, "Feature, record, scale, claim, suite, or number of a run")->required();
  command
      ->add_option("--scale", options->scale, "Scale of a record (default: official) or of a suite (default: its own)")
      ->type_name("NAME");
  command->add_flag("--config", options->is_config, "Print the complete training configuration of a record or run");
  command->add_option("--set", options->settings, "Set a feature of a record; may be repeated")
      ->type_name("FEATURE=VALUE")
      ->allow_extra_args(false);
  add_participant_options(*command, options->ranks, options->processes);
  add_database_option(*command, options->database);
  add_catalogue_option(*command, options->catalogue);
  add_json_option(*command, options->is_json);
  command->footer(kShowFooter);
  command->callback([options] { show(*options); });
}

}  // namespace nanobench::tools

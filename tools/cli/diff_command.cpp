// `nanobench diff A B`: what differs between two records, or two stored runs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "ablations/config_difference.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/kinds/kinds.h"
#include "results/store.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

using ablations::Catalogue;
using ablations::ComparedSide;
using core::Error;
using core::ErrorCode;
using results::RunRecord;

struct DiffOptions {
  std::string a;
  std::string b;
  std::string scale;
  std::string database;
  std::string catalogue;
  bool is_json = false;
};

constexpr const char* kDiffFooter =
    "Examples:\n"
    "  nanobench diff record16 record17                 features that differ, then settings that no feature "
    "explains\n"
    "  nanobench diff record12 record17 --scale nano    the differences that remain at a scale\n"
    "  nanobench diff 12 15                             two stored runs: also seed, data and machine\n"
    "  nanobench diff record17 15                       a run against a record, at the run's scale\n"
    "  nanobench diff record16 record17 --json | jq '.tables.features'";

/// One side, and its stored run.
struct DiffedRun {
  std::string name;
  std::optional<RunRecord> run;
  ComparedSide compared;
  std::string warning;  ///< empty: none
};

/// The settings of the run's cell, from the plan that made it.
ablations::FeatureSettings stored_settings(const results::Store& store, const RunRecord& run) {
  if (!run.plan_id) return {};
  for (const results::PlanCell& cell : store.plan(*run.plan_id).cells) {
    if (cell.label == run.cell) return cell.features;
  }
  return {};
}

DiffedRun run_side(const DiffOptions& options, const Catalogue& catalogue, std::int64_t id) {
  const results::Store store(database_file(options.database), results::OpenMode::kReadOnly);
  DiffedRun side;
  side.name = "run " + std::to_string(id);
  side.run = store.run(id);
  const RunRecord& run = *side.run;
  ComparedSide& compared = side.compared;
  compared.config = core::read_train_config(core::parse_json(run.config, side.name), side.name);
  compared.request.record = run.record.value_or("");
  compared.request.settings = stored_settings(store, run);
  compared.request.scale = run.scale;
  compared.request.ranks = compared.config.data.ranks;
  compared.request.processes = compared.config.distributed.processes;
  try {
    compared.resolved = ablations::resolve(catalogue, compared.request);
  } catch (const Error& error) {
    rethrow_internal(error);
    side.warning = side.name + ": the catalogue no longer resolves its settings (" + error.what() +
                   "), so its features are read from its configuration";
  }
  return side;
}

DiffedRun record_side(const Catalogue& catalogue, const std::string& name, const std::string& scale) {
  DiffedRun side;
  side.name = name;
  side.compared.request.record = name;
  side.compared.request.scale = scale;
  side.compared.resolved = ablations::resolve(catalogue, side.compared.request);
  side.compared.config = side.compared.resolved->config;
  return side;
}

void require_known(const std::string& name, const Catalogue& catalogue) {
  if (parse_count(name) || catalogue.has_record(name)) return;
  std::vector<std::string> known;
  for (const ablations::Record* record : catalogue.records()) known.push_back(record->id);
  throw Error(ErrorCode::kNotFound, "there is no record or run named " + name + core::suggestion(name, known) +
                                        "; `nanobench list records` and `nanobench list runs" + typed_database() +
                                        "` show them");
}

/// Records get the requested scale, else the scale of the other side, else their official size.
std::vector<DiffedRun> sides_of(const DiffOptions& options, const Catalogue& catalogue) {
  const std::vector<std::string> names = {options.a, options.b};
  for (const std::string& name : names) require_known(name, catalogue);
  if (!options.scale.empty() && parse_count(options.a) && parse_count(options.b)) {
    throw Error(ErrorCode::kInvalidArgument, "--scale: a run has its own scale; name a record to choose one");
  }
  std::vector<DiffedRun> sides(2);
  std::string scale = options.scale.empty() ? "official" : options.scale;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::optional<std::int64_t> id = parse_count(names[i]);
    if (!id) continue;
    sides[i] = run_side(options, catalogue, *id);
    if (options.scale.empty()) scale = sides[i].run->scale;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!parse_count(names[i])) sides[i] = record_side(catalogue, names[i], scale);
  }
  return sides;
}

std::vector<reports::Circumstance> circumstances_of(const DiffedRun& a, const DiffedRun& b) {
  std::vector<reports::Circumstance> all = {{"record", "record", a.compared.request.record, b.compared.request.record},
                                            {"scale", "scale", a.compared.request.scale, b.compared.request.scale}};
  if (!a.run || !b.run) return all;
  const auto add = [&](const char* key, const char* title, const std::string& one, const std::string& two) {
    all.push_back({key, title, one, two});
  };
  add("cell", "cell", a.run->cell, b.run->cell);
  add("suite", "suite", a.run->suite, b.run->suite);
  add("seed", "seed", std::to_string(a.run->seed), std::to_string(b.run->seed));
  add("data", "data", a.run->data_name, b.run->data_name);
  add("data_digest", "digest of the data", a.run->data_digest, b.run->data_digest);
  add("dtype", "number type", a.run->dtype, b.run->dtype);
  add("threads", "threads", std::to_string(a.run->threads), std::to_string(b.run->threads));
  add("engine", "engine", a.run->engine_text(), b.run->engine_text());
  add("engine_version", "version of the engine", a.run->engine_version, b.run->engine_version);
  add("hardware", "hardware", a.run->hardware, b.run->hardware);
  return all;
}

void diff(const DiffOptions& options) {
  const Catalogue catalogue = load_catalogue(options.catalogue);
  const std::vector<DiffedRun> sides = sides_of(options, catalogue);
  reports::Document document =
      reports::difference_report(catalogue, sides[0].name, sides[1].name,
                                 ablations::config_difference(catalogue, sides[0].compared, sides[1].compared),
                                 circumstances_of(sides[0], sides[1]));
  for (const DiffedRun& side : sides) {
    if (!side.warning.empty()) document.warnings.push_back(side.warning);
  }
  print(document, options.is_json);
}

}  // namespace

void add_diff_command(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("diff", "Features and settings that differ between two records or runs");
  const auto options = std::make_shared<DiffOptions>();
  command->add_option("A", options->a, "Record, or number of a run")->required();
  command->add_option("B", options->b, "Record, or number of a run")->required();
  command->add_option("--scale", options->scale, "Scale of the records (default: the run's, or official)")
      ->type_name("NAME");
  add_database_option(*command, options->database);
  add_catalogue_option(*command, options->catalogue);
  add_json_option(*command, options->is_json);
  command->footer(kDiffFooter);
  command->callback([options] { diff(*options); });
}

}  // namespace nanobench::tools

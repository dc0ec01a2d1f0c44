// `nanobench hunt`: which of many features matter? A screening finds suspects; fresh runs of each alone judge them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>

#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/comparison/comparison.h"
#include "reports/effects/effects.h"
#include "reports/effects/screened_effects.h"
#include "reports/kinds/kinds.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"
#include "tools/cli/suite_run.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;

struct HuntOptions {
  std::string base;
  std::optional<std::string> features;
  SuiteSettings settings;
  SuiteRunOptions run;
  std::optional<std::int64_t> runs;
};

constexpr std::uint64_t kScreeningSeed = 1;
constexpr int kMinSeeds = reports::kMinSeedsAdvised;
constexpr int kMaxHuntSeeds = 30;
constexpr std::int64_t kMinRuns = 16;
constexpr std::int64_t kMaxRuns = 1024;  // half of them are cells of the screening, at most 512

constexpr const char* kHuntFooter =
    "Examples:\n"
    "  nanobench hunt record17 --scale smoke                every change in record 17: which of them matter?\n"
    "  nanobench hunt leave_one_out                         the features of a suite, around its base\n"
    "  nanobench hunt my_trainer.json --runs 60             a trainer of your own (docs/external.md)\n"
    "\n"
    "The first half of the runs are random cells with a quarter of the features at their other value, one seed each.\n"
    "The second half tests each suspect alone against the base, with seeds of its own, as leave_one_out does.\n"
    "Exit codes: 0 success, 2 usage, 4 a run failed, 130 interrupted (the same command continues).";

/// Throws Error{kInvalidArgument} for a named feature that cannot act alone. One that acts alone and cannot be combined
/// with the others is no error in a screening, because it is tested alone: no one has named it there.
suites::Suite without_idle_features(suites::Suite suite, const ablations::Catalogue& catalogue) {
  suites::Suite alone = suite;
  alone.design = suites::Design::kLeaveOneOut;
  if (!suite.external && !suite.features.empty()) suites::make_asked_matrix(alone, catalogue);
  alone.features.clear();
  suite.as_written = std::make_shared<const suites::Suite>(std::move(alone));
  return suite;
}

/// A suite around the base, or the base of a suite.
suites::Suite asked_suite(const HuntOptions& options) {
  const ablations::Catalogue catalogue = load_catalogue(options.run.catalogue);
  const auto records = catalogue.records();
  const bool is_record = std::any_of(records.begin(), records.end(),
                                     [&](const ablations::Record* record) { return record->id == options.base; });
  suites::Suite suite;
  if (is_record) {
    suite.base_record = suite.name = suite.source = options.base;
  } else {
    suite = suites::read_suite_file(find_suite(options.base));
  }
  if (suite.base_record.empty() && !suite.external) {
    throw Error(ErrorCode::kInvalidArgument,
                suite.source + ": the suite has no base whose features could be screened; name a record instead");
  }
  suite.axes.clear();
  suite.runs.reset();
  suite.resolution.reset();
  if (options.features) {
    suite.features.clear();
    for (const std::string& id : parts_of("--features", *options.features)) suite.features.push_back({.id = id});
  }
  for (const suites::FeatureChoice& choice : suite.features) {
    if (choice.values.empty()) continue;
    throw Error(ErrorCode::kInvalidArgument, suite.source + ": the suite lists several values of '" + choice.id +
                                                 "', and hunt tries one; name the features with --features");
  }
  return without_idle_features(suites::with_overrides(suite, overrides_of(options.settings)), catalogue);
}

/// The number of runs decides the number of cells, if it is given.
suites::Suite screening_suite(const suites::Suite& asked, const HuntOptions& options) {
  suites::Suite suite = asked;
  suite.name += " screening";
  suite.title = "What matters in " + asked.name;
  suite.design = suites::Design::kScreening;
  suite.seeds = {kScreeningSeed};
  if (options.runs) suite.runs = *options.runs / 2;
  return suite;
}

/// What can be tested alone, but was in no cell of the screening: it cannot be combined with the others.
std::vector<suites::FeatureChoice> never_screened(const suites::Suite& leave_one_out,
                                                  const reports::Screening& screening, const std::string& catalogue) {
  std::set<std::string> screened;
  for (const reports::ScreenedEffect& effect : screening.effects) {
    screened.insert(effect.feature);
    screened.insert(effect.always.begin(), effect.always.end());
  }
  std::vector<suites::FeatureChoice> choices;
  for (const results::PlanContrast& contrast : matrix_of(leave_one_out, catalogue).contrasts) {
    const std::string& id = contrast.factors.front().setting;
    if (screened.contains(id)) continue;
    const auto asked = std::find_if(leave_one_out.features.begin(), leave_one_out.features.end(),
                                    [&](const suites::FeatureChoice& choice) { return choice.id == id; });
    choices.push_back(asked == leave_one_out.features.end() ? suites::FeatureChoice{.id = id} : *asked);
  }
  return choices;
}

/// It has as many seeds as the runs left suffice for, and as much of what is to be tested as they suffice for: first
/// what could not be screened, then the suspects, the clearest first.
suites::Suite suspects_suite(const suites::Suite& asked, const reports::Screening& screening, std::int64_t runs,
                             const std::string& catalogue) {
  suites::Suite suite = asked;
  suite.name += " suspects";
  suite.title = "What is suspected of mattering in " + asked.name;
  suite.design = suites::Design::kLeaveOneOut;
  suite.features = never_screened(suite, screening, catalogue);
  for (const reports::ScreenedEffect& effect : screening.effects) {
    if (effect.is_suspect()) suite.features.push_back({.id = effect.feature, .value = effect.value, .values = {}});
  }
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, runs / kMinSeeds - 1));
  if (suite.features.size() > most) suite.features.resize(most);
  const auto cells = static_cast<std::int64_t>(suite.features.size()) + 1;
  suite.seeds.clear();
  for (std::int64_t i = 1; i <= std::clamp<std::int64_t>(runs / cells, kMinSeeds, kMaxHuntSeeds); ++i)
    suite.seeds.push_back(kScreeningSeed + static_cast<std::uint64_t>(i));
  return suite;
}

class Hunt {
 public:
  Hunt(const HuntOptions& options, const Session& session)
      : options_(options),
        session_(session),
        asked_(asked_suite(options)),
        store_(database_file(options.run.database)) {}

  int run() {
    const suites::SuiteRunResult first = run_stage(screening_suite(asked_, options_));
    if (first.is_interrupted) return report_interruption(store_, {first.plan_id}, session_.argv);
    const results::PlanRecord screening_plan = store_.plan(first.plan_id);
    const reports::Screening screening = reports::screened_effects(reports::read_cells(store_, screening_plan, {}));
    const auto screened = static_cast<std::int64_t>(screening_plan.lines.size());
    const std::int64_t runs_left = options_.runs ? *options_.runs - screened : screened;
    const suites::Suite suite = suspects_suite(asked_, screening, runs_left, options_.run.catalogue);
    if (suite.features.empty()) return finish(first, screening_plan, nullptr);
    say(screening, suite);
    const suites::SuiteRunResult second = run_stage(suite);
    if (second.is_interrupted) return report_interruption(store_, {second.plan_id}, session_.argv);
    const results::PlanRecord suspects_plan = store_.plan(second.plan_id);
    const int code = finish(second, screening_plan, &suspects_plan);
    return first.is_whole() ? code : core::kExitIncomplete;
  }

 private:
  suites::SuiteRunResult run_stage(const suites::Suite& suite) {
    const suites::Plan plan = plan_suite(suite, options_.run);
    return run_plan(plan, store_, {.is_fresh = options_.run.is_fresh, .argv = session_.argv}, options_.run);
  }

  void say(const reports::Screening& screening, const suites::Suite& suite) const {
    if (options_.run.is_quiet) return;
    const std::string text = counted(static_cast<std::int64_t>(screening.suspects()), "suspect") + " of " +
                             counted(static_cast<std::int64_t>(screening.effects.size()), "feature") + "; " +
                             std::to_string(suite.features.size());
    tell_on_stderr(text + " are tested alone with " + counted(static_cast<std::int64_t>(suite.seeds.size()), "seed") +
                   "\n");
  }

  int finish(const suites::SuiteRunResult& result, const results::PlanRecord& screening_plan,
             const results::PlanRecord* suspects_plan) const {
    const ablations::Catalogue catalogue = load_catalogue(options_.run.catalogue);
    const reports::ComparisonOptions comparison{.published_step_ms = reports::published_step_ms(catalogue),
                                                .has_provenance = options_.run.is_json,
                                                .records = reports::record_facts(catalogue)};
    reports::Document document = reports::hunt_report(store_, screening_plan, suspects_plan, comparison);
    const std::int64_t shown = suspects_plan == nullptr ? screening_plan.id : suspects_plan->id;
    document.next = {{.command = "report --plan " + std::to_string(shown) + " --open",
                      .gain = suspects_plan == nullptr ? "the page of the screening" : "the page of the suspects"}};
    print(document, options_.run.is_json, notes_of(options_.run.has_notes));
    if (!options_.run.is_quiet) {
      tell_on_stderr("\nstored in " + store_.file().string() + " as plan " + std::to_string(screening_plan.id) +
                     (suspects_plan == nullptr ? "" : " and plan " + std::to_string(suspects_plan->id)));
    }
    return result.is_whole() ? core::kExitSuccess : core::kExitIncomplete;
  }

  const HuntOptions& options_;
  const Session& session_;
  const suites::Suite asked_;
  results::Store store_;
};

int hunt(const HuntOptions& options, const Session& session) {
  if (options.runs && *options.runs < kMinRuns)
    throw Error(ErrorCode::kInvalidArgument, "--runs: expected " + std::to_string(kMinRuns) + " or more");
  if (options.runs && *options.runs > kMaxRuns)
    throw Error(ErrorCode::kInvalidArgument, "--runs: expected at most " + std::to_string(kMaxRuns));
  return Hunt(options, session).run();
}

}  // namespace

void add_hunt_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("hunt", "Find out which of many features matter, in few runs");
  const auto options = std::make_shared<HuntOptions>();
  command->add_option("BASE", options->base, "A record, or a suite (file or name): its base and features")
      ->type_name("RECORD|SUITE")
      ->required();
  command
      ->add_option("--features", options->features,
                   "A,B,C (default: the suite's, or every feature that the base has at its later value)")
      ->type_name("IDS");
  command
      ->add_option("--runs", options->runs,
                   "Runs of both halves together (default: as many as leave_one_out takes with three seeds)")
      ->type_name("N");
  add_suite_settings(*command, options->settings);
  command->remove_option(command->get_option("--seeds"));
  add_suite_run_options(*command, options->run);
  add_jobs_option(*command, options->run);
  add_keep_weights_option(*command, options->run);
  command->footer(kHuntFooter);
  command->callback([options, &session] { session.exit_code = hunt(*options, session); });
}

}  // namespace nanobench::tools

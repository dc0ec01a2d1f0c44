// `nanobench bisect SUITE --good A --bad B`: the first commit of a trainer's repository that the gate finds worse.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/comparison/conditions.h"
#include "reports/gate/bisection.h"
#include "reports/kinds/kinds.h"
#include "tools/cli/bisect_steps.h"
#include "tools/cli/engine_builds.h"
#include "tools/cli/gate_noise.h"
#include "tools/cli/gate_options.h"
#include "tools/cli/git.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"
#include "tools/cli/suite_run.h"
#include "tools/cli/until_decided.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using reports::BisectAnswer;
using reports::BisectResult;
using reports::BisectStep;
using reports::Commit;

struct BisectOptions {
  std::string suite;
  std::string good, bad;
  SuiteSettings settings;
  int max_seeds = UntilDecided::kMaxSeeds;
  std::string build;
  std::string repository, program;  ///< of our own engine
  std::vector<std::string> links;
  bool is_calibrated = false;
  GatePolicyOptions policy;
  SuiteRunOptions run;
};

constexpr const char* kBuildOfEngine = "./nanobench setup";
constexpr const char* kBuiltEngine = "build/release/bin/nanobench-train";

constexpr const char* kBisectFooter =
    "Examples:\n"
    "  nanobench bisect my_trainer.json --good v1.0 --bad main --only loss\n"
    "  nanobench bisect my_trainer.json --good 1a2b3c --bad HEAD --margin time=0.02 --max-seeds 20\n"
    "  nanobench bisect my_trainer.json --good v1.0 --bad main --build 'make -j2' --link data\n"
    "  nanobench bisect smoke_gate --good v0.1 --bad HEAD    our own engine: builds each commit that is tested\n"
    "\n"
    "Each commit runs in a folder of its own in the cache, beside the good revision; your checkout is only read. The\n"
    "gate judges it: worse is bad, not worse by more than the margins is good. Seeds are added until one is proved; a\n"
    "commit that stays undecided or does not run is skipped. --alpha is the chance of a wrong answer of the whole\n"
    "bisection.\n"
    "Exit codes: 0 the first bad commit is found, 1 the bad revision is not worse than the good one, 2 usage,\n"
    "3 several commits remain, or the bad revision stays undecided, 4 the good or the bad revision does not run,\n"
    "130 interrupted (the same command continues).";

Commit commit_of(const std::string& id, const fs::path& folder) {
  const CommitText text = commit_text(id, folder);
  return {.id = id, .subject = text.subject, .author = text.author, .date = text.date};
}

/// The commit that an option names. Throws Error{kInvalidArgument}.
Commit named_commit(const std::string& option, const std::string& revision, const fs::path& folder) {
  if (const auto id = find_commit(revision, folder)) return commit_of(*id, folder);
  throw Error(ErrorCode::kInvalidArgument, option + " " + revision + ": the repository of " + folder.string() +
                                               " has no such commit, branch or tag");
}

/// Trees of commits, where the suite names none: of the whole repository that the trainer's folder is in.
void add_source(suites::ExternalTrainer& trainer, const fs::path& root) {
  trainer.folder = fs::canonical(trainer.folder);
  trainer.source = suites::TrainerSource{.folder = fs::canonical(root)};
  trainer.sources.clear();
}

/// The command builds first, once in each folder. What the build prints is no log.
void add_build(suites::ExternalTrainer& trainer, const std::string& build) {
  const std::string script =
      "[ -e .nanobench_built ] || { { " + build + "\n} >&2 && : >.nanobench_built; } || exit 1\nexec \"$@\"";
  std::vector<std::string> command = {"sh", "-c", suites::with_braces_kept(script), "sh"};
  command.insert(command.end(), trainer.command.begin(), trainer.command.end());
  trainer.command = std::move(command);
}

/// Where our engine's commits are and how they are built. Throws Error.
EngineRecipe recipe_of(const BisectOptions& options) {
  const fs::path asked =
      !options.repository.empty() ? fs::path(options.repository) : source_root().value_or(fs::path());
  const auto root = asked.empty() ? std::nullopt : repository_root(asked);
  if (!root) {
    throw Error(ErrorCode::kInvalidArgument, (asked.empty() ? "this program has no source beside it"
                                                            : asked.string() + " is in no repository of git") +
                                                 "; name nanobench's repository with --repository DIR");
  }
  return {.repository = fs::canonical(*root),
          .build = options.build.empty() ? kBuildOfEngine : options.build,
          .program = options.program.empty() ? kBuiltEngine : options.program};
}

/// The suite, as its commits are to be run. Throws Error.
suites::Suite bisected_suite(const BisectOptions& options) {
  suites::Suite suite = load_suite(options.suite, options.settings);
  if (!suite.external) {
    if (!suite.mock.is_null())
      throw Error(ErrorCode::kInvalidArgument, suite.name + " has the mock engine, which no commit changes");
    if (!options.links.empty())
      throw Error(ErrorCode::kInvalidArgument,
                  "--link is for a trainer of your own; " + suite.name + " has our engine");
    return suite;
  }
  if (!options.repository.empty() || !options.program.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "--repository and --program are for suites with our engine; " + suite.name + " names its own trainer");
  }
  suites::ExternalTrainer& trainer = *suite.external;
  const fs::path folder = trainer.source ? trainer.source->folder : trainer.folder;
  const auto root = repository_root(folder);
  if (!root)
    throw Error(ErrorCode::kInvalidArgument, folder.string() + " is in no repository of git, so it has no commits");
  if (!trainer.source) add_source(trainer, *root);
  for (const std::string& link : options.links) {
    std::error_code ignored;
    if (!fs::exists(trainer.source->folder / link, ignored))
      throw Error(ErrorCode::kNotFound,
                  "--link " + link + ": " + trainer.source->folder.string() + " has no such file");
    trainer.source->links.push_back(link);
  }
  if (!options.build.empty()) add_build(trainer, options.build);
  return suite;
}

/// Throws Error{kInvalidArgument} unless `good` comes before `bad`.
void check_order(const Commit& good, const Commit& bad, const BisectOptions& options, const fs::path& folder) {
  const auto refuse = [](const std::string& text) { throw Error(ErrorCode::kInvalidArgument, text); };
  if (good.id == bad.id) refuse("--good and --bad name the same commit, " + good.short_id());
  if (is_ancestor(good.id, bad.id, folder)) return;
  if (is_ancestor(bad.id, good.id, folder))
    refuse("--bad " + options.bad + " comes before --good " + options.good + "; exchange them");
  const auto base = common_ancestor(good.id, bad.id, folder);
  refuse("--good " + options.good + " is no ancestor of --bad " + options.bad +
         (base ? "; they part at " + base->substr(0, 10) + ", which may be the good revision"
               : "; they share no history"));
}

class BisectRun {
 public:
  BisectRun(const BisectOptions& options, const Session& session) : options_(options), session_(session) {}

  int run() {
    suites::Suite suite = bisected_suite(options_);
    if (!suite.external) {
      const EngineRecipe recipe = recipe_of(options_);
      folder_ = recipe.repository;
      builds_.emplace(recipe, [this](const std::string& line) { tell(line); });
    } else {
      folder_ = suite.external->source->folder;
    }
    find_commits(suite);
    results::Store store(database_file(options_.run.database));
    BisectSteps steps(setup_of(std::move(suite), store), result_.good, store);
    steps_ = &steps;
    tell_begin();
    if (!search()) {
      tell_interruption(store);
      return core::kExitInterrupted;
    }
    if (builds_) builds_->remove();
    reports::Document document = reports::bisect_report(result_);
    document.next = {{.command = "report --open", .gain = "the page of the runs that were compared last"}};
    print(document, options_.run.is_json, notes_of(options_.run.has_notes));
    return reports::exit_code(result_.answer);
  }

 private:
  void tell_interruption(const results::Store& store) const {
    tell_on_stderr("interrupted: " + counted(static_cast<std::int64_t>(result_.steps.size()), "commit") + " of " +
                   std::to_string(result_.commits.size()) + " are judged, and their runs are kept in " +
                   store.file().string() + "; a run in progress is made again");
    write_to_stderr("continue: " + command_to_continue(session_.argv) + "\n");
    write_to_stderr("look at it: " + program_name() + " report" + typed_database() + "\n");
  }

  void find_commits(const suites::Suite& suite) {
    const fs::path& folder = folder_;
    result_.suite = suite.name;
    result_.good = named_commit("--good", options_.good, folder);
    result_.bad = named_commit("--bad", options_.bad, folder);
    check_order(result_.good, result_.bad, options_, folder);
    result_.all_commits = commits_between(result_.good.id, result_.bad.id, false, folder).size();
    for (const std::string& id : commits_between(result_.good.id, result_.bad.id, true, folder))
      result_.commits.push_back(commit_of(id, folder));
    if (!result_.commits.empty()) return;
    throw Error(ErrorCode::kInvalidArgument, "no commit from --good " + options_.good + " to --bad " + options_.bad +
                                                 " changes a file of " + folder.string());
  }

  BisectSetup setup_of(suites::Suite suite, const results::Store& store) {
    reports::GatePolicy policy = policy_of(options_.policy);
    result_.alpha = policy.alpha;
    result_.alpha_of_test = policy.alpha = reports::alpha_of_test(policy.alpha, result_.commits.size());
    const int first = std::min(options_.max_seeds, std::max(static_cast<int>(suite.seeds.size()), policy.min_runs));
    if (options_.is_calibrated) policy = calibrated(suite, policy, first, store);
    suite.seeds = seeds_up_to(suite.seeds, options_.max_seeds);
    return {.suite = std::move(suite),
            .builds = builds_ ? &*builds_ : nullptr,
            .policy = policy,
            .first_seeds = first,
            .max_seeds = options_.max_seeds,
            .keeps_trees = !builds_ && !options_.build.empty(),
            .run = options_.run,
            .argv = session_.argv};
  }

  reports::GatePolicy calibrated(suites::Suite suite, const reports::GatePolicy& policy, int n,
                                 const results::Store& store) {
    PlanRequest request;
    if (builds_)
      request.engine = suites::native_engine(builds_->of(result_.good.id).program, use_of(suite, options_.run));
    else
      suite.external->source->revision = result_.good.id;
    const suites::Plan plan = plan_suite(suite, options_.run, request);
    CalibratedPolicy with_margins =
        calibrated_policy({.suite = suite,
                           .name = options_.suite,
                           .conditions = reports::conditions_of(plan),
                           .size = {.n = n, .cells = static_cast<int>(plan.matrix.cells.size())}},
                          policy, store);
    result_.notes.push_back(std::move(with_margins.note));
    return with_margins.policy;
  }

  /// False if the user interrupts.
  bool search() {
    const Commit& last = result_.commits.back();
    std::optional<BisectStep> whole = test(last, reports::tests_of_bisection(result_.commits.size()));
    if (!whole) return false;
    if (whole->verdict != reports::CommitVerdict::kBad) {
      result_.answer = whole->verdict == reports::CommitVerdict::kGood ? BisectAnswer::kNoDifference
                       : whole->is_judged                              ? BisectAnswer::kUndecided
                                                                       : BisectAnswer::kIncomplete;
      return true;
    }
    reports::Bisection bisection(result_.commits.size());
    while (const auto next = bisection.next()) {
      const std::optional<BisectStep> step = test(result_.commits[*next], bisection.tests_left());
      if (!step) return false;
      bisection.set(*next, step->verdict);
    }
    for (const std::size_t suspect : bisection.suspects()) result_.suspects.push_back(result_.commits[suspect]);
    result_.answer = result_.suspects.size() == 1 ? BisectAnswer::kFound : BisectAnswer::kSeveral;
    return true;
  }

  std::optional<BisectStep> test(const Commit& commit, int tests_left) {
    const std::string number = "step " + std::to_string(result_.steps.size() + 1);
    tell(number + ": " + commit.short_id() + " \"" + commit.subject + "\"; " + left_text(tests_left));
    std::optional<BisectStep> step = steps_->test(commit);
    if (!step) return std::nullopt;
    result_.steps.push_back(*step);
    tell(number + ": " + reports::bisect_step_text(*step) + "\n");
    return step;
  }

  /// "at most 3 tests left, about 4 min"
  std::string left_text(int tests) const {
    std::string text = "at most " + counted(tests, "test") + " left";
    if (const auto seconds = steps_->seconds_per_test()) text += ", about " + format_duration(*seconds * tests);
    return text;
  }

  void tell_begin() const {
    const std::size_t all = result_.all_commits, changing = result_.commits.size();
    const int tests = reports::tests_of_bisection(changing);
    tell("bisecting " + counted(static_cast<std::int64_t>(all), "commit") +
         (changing < all ? ", of which " + std::to_string(changing) + " change the source" : "") + ": at most " +
         counted(tests, "test") + ", each at alpha " + format_significant(result_.alpha_of_test, 2) +
         ", so that at most " + format_percent(result_.alpha, 1) + " of answers are wrong\n");
  }

  void tell(const std::string& line) const {
    if (!options_.run.is_quiet)
      tell_on_stderr(printable(line.substr(0, line.find('\n'))) + (line.ends_with('\n') ? "\n" : ""));
  }

  const BisectOptions& options_;
  const Session& session_;
  BisectResult result_;
  fs::path folder_;                     ///< whose commits are tested
  std::optional<EngineBuilds> builds_;  ///< of our engine
  BisectSteps* steps_ = nullptr;
};

int bisect(const BisectOptions& options, const Session& session) {
  if (options.max_seeds < 2) throw Error(ErrorCode::kInvalidArgument, "--max-seeds: expected 2 or more");
  return BisectRun(options, session).run();
}

void add_search_options(CLI::App& command, BisectOptions& options) {
  command.add_option("SUITE", options.suite, "Suite, of a trainer of your own (docs/external.md) or of our engine")
      ->required();
  command.add_option("--good", options.good, "Commit, branch or tag that is good")->type_name("REV")->required();
  command.add_option("--bad", options.bad, "Later revision that is worse")->type_name("REV")->required();
  command
      .add_option("--seeds", options.settings.seeds,
                  "Seeds of the first look at a commit: a number, or a list (default: the suite's)")
      ->type_name("N|A,B");
  command.add_option("--max-seeds", options.max_seeds, "Seeds of the last look; then it is skipped (default: 10)")
      ->type_name("N");
  command
      .add_option("--build", options.build,
                  "Shell command that runs once in each commit's folder before the trainer; if it fails, the commit is "
                  "skipped (default for our engine: ./nanobench setup)")
      ->type_name("COMMAND");
  command
      .add_option("--repository", options.repository,
                  "Repository of our engine's commits (default: the one that this program was built in)")
      ->type_name("DIR");
  command
      .add_option("--program", options.program,
                  "Engine that the build of a commit makes (default: build/release/bin/nanobench-train)")
      ->type_name("FILE");
  command
      .add_option("--link", options.links,
                  "File or folder of the repository that git does not track, such as data; each commit gets a link to "
                  "it")
      ->type_name("FILE|DIR");
}

}  // namespace

void add_bisect_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("bisect", "Find the commit that made a trainer worse, with the gate as judge");
  const auto options = std::make_shared<BisectOptions>();
  add_search_options(*command, *options);
  add_gate_policy_options(*command, options->policy);
  command->get_option("--alpha")->description(
      "Chance of a wrong answer of the whole bisection (default: 5%); tests share it");
  command->add_flag("--calibrated", options->is_calibrated,
                    "Widen the margins to what this machine's noise requires (nanobench calibrate)");
  command->add_flag("--fresh", options->run.is_fresh, "Run finished runs again");
  add_database_option(*command, options->run.database);
  add_json_option(*command, options->run.is_json);
  add_notes_option(*command, options->run.has_notes);
  command->add_flag("--quiet", options->run.is_quiet, "Print no progress on standard error");
  command->footer(kBisectFooter);
  command->callback([options, &session] { session.exit_code = bisect(*options, session); });
}

}  // namespace nanobench::tools

// What a user may do next with a plan, as commands with their price.
#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/process/command.h"
#include "reports/forecast/run_cost.h"
#include "reports/kinds/sections.h"
#include "results/host_load.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kMaxNextSteps = 3;
constexpr std::size_t kMaxNamedChanges = 3;  // changes

/// The command that made the plan, without what must not be repeated; nullopt for plans of other commands.
std::optional<std::vector<std::string>> command_of(const results::PlanRecord& plan) {
  if (plan.argv.size() < 2) return std::vector<std::string>{"run", plan.suite};
  if (plan.argv[1] != "run" && plan.argv[1] != "ablate") return std::nullopt;
  return core::without_options(
      {plan.argv.begin() + 1, plan.argv.end()}, {"--seeds", "--save", "--budget", "--max-seeds", "--format", "--out"},
      {"--fresh", "--json", "--quiet", "--notes", "--overwrite", "--dry-run", "--until-decided"});
}

/// "--seeds 8", or a list where the plan's seeds are not 1, 2, 3 and so on.
std::string seeds_value(const results::PlanRecord& plan, std::size_t count) {
  std::set<std::uint64_t> seeds;
  for (const results::PlanLine& line : plan.lines) seeds.insert(line.seed);
  if (seeds.empty() || *seeds.rbegin() == seeds.size()) return std::to_string(count);
  while (seeds.size() < count) seeds.insert(*seeds.rbegin() + 1);
  return joined(seeds, ",");
}

/// The smallest number of seeds that may decide something.
struct Offer {
  int seeds = 0;
  std::vector<std::string> decides;  ///< changes; empty: the first verdicts on all
};

std::optional<Offer> offer_of(const std::vector<EffectResult>& effects,
                              const std::vector<std::optional<SeedsForVerdict>>& needed) {
  std::optional<Offer> offer;
  bool has_one_seed = false;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    has_one_seed = has_one_seed || needed[i]->status == SeedsForVerdict::Status::kOneSeed;
    if (needed[i]->status != SeedsForVerdict::Status::kKnown) continue;
    const int seeds = *needed[i]->seeds;
    if (offer && seeds > offer->seeds) continue;
    if (!offer || seeds < offer->seeds) offer = Offer{.seeds = seeds, .decides = {}};
    offer->decides.push_back(effects[i].contrast.effect);
  }
  if (!offer && has_one_seed) offer = Offer{.seeds = kMinSeedsAdvised, .decides = {}};
  return offer;
}

/// What the runs up to so many seeds take; nullopt if a cell's time is unknown.
std::optional<double> seconds_to(int seeds, const std::vector<CellMeasures>& cells,
                                 const std::map<std::string, double>& seconds) {
  double sum = 0.0;
  for (const CellMeasures& cell : cells) {
    const auto done =
        std::count_if(cell.runs.begin(), cell.runs.end(), [](const RunMeasure& run) { return run.run.is_evidence(); });
    if (done >= seeds) continue;
    const auto known = seconds.find(cell.cell.label);
    if (known == seconds.end()) return std::nullopt;
    sum += static_cast<double>(seeds - done) * known->second;
  }
  return sum;
}

const RunMeasure* newest_failure(const std::vector<CellMeasures>& cells) {
  const RunMeasure* newest = nullptr;
  for (const CellMeasures& cell : cells) {
    for (const RunMeasure& run : cell.runs) {
      const bool has_failed =
          run.run.result && !run.run.is_evidence() && run.run.result->outcome != core::RunOutcome::kInterrupted;
      if (has_failed && (newest == nullptr || run.run.id > newest->run.id)) newest = &run;
    }
  }
  return newest;
}

/// Runs that the plan still lacks, and whose cell has not failed.
int missing_seeds(const std::vector<CellMeasures>& cells) {
  int planned = 0, missing = 0;
  for (const CellMeasures& cell : cells) {
    planned = std::max(planned, cell.planned);
    const auto ended = std::count_if(cell.runs.begin(), cell.runs.end(), [](const RunMeasure& run) {
      return run.run.result && run.run.result->outcome != core::RunOutcome::kInterrupted;
    });
    if (ended < cell.planned) ++missing;
  }
  return missing > 0 ? planned : 0;
}

}  // namespace

std::vector<OfferedStep> offered_steps(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                       const std::vector<EffectResult>& effects,
                                       const std::vector<std::optional<SeedsForVerdict>>& needed,
                                       const std::map<std::string, double>& seconds) {
  std::vector<OfferedStep> steps;
  if (const RunMeasure* failed = newest_failure(cells)) {
    steps.push_back({.command = "show " + std::to_string(failed->run.id),
                     .gain = {.kind = StepGain::Kind::kWhyFailed, .run_id = failed->run.id}});
  }
  const std::optional<std::vector<std::string>> command = command_of(plan);
  const int planned = missing_seeds(cells);
  if (command && planned > 0) {
    std::vector<std::string> again = *command;
    if (plan.argv.size() >= 2) again = {plan.argv.begin() + 1, plan.argv.end()};
    std::erase(again, "--fresh");
    steps.push_back({.command = shell_words(again),
                     .gain = {.kind = StepGain::Kind::kMissingRuns, .seconds = seconds_to(planned, cells, seconds)}});
  } else if (const std::optional<Offer> offer = offer_of(effects, needed); command && offer && !plan.sequential) {
    std::vector<std::string> more = *command;
    more.insert(more.end(), {"--seeds", seeds_value(plan, static_cast<std::size_t>(offer->seeds))});
    steps.push_back(
        {.command = shell_words(more),
         .gain = {.kind = offer->decides.empty() ? StepGain::Kind::kFirstVerdicts : StepGain::Kind::kVerdicts,
                  .seconds = seconds_to(offer->seeds, cells, seconds),
                  .changes = offer->decides}});
  }
  steps.push_back({.command = "report --plan " + std::to_string(plan.id) + " --open", .gain = {}});
  if (steps.size() > kMaxNextSteps) steps.resize(kMaxNextSteps);
  return steps;
}

std::vector<NextStep> next_steps(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                                 const std::vector<EffectResult>& effects,
                                 const std::vector<std::optional<SeedsForVerdict>>& needed,
                                 const std::map<std::string, double>& seconds) {
  std::vector<NextStep> steps;
  for (const OfferedStep& step : offered_steps(plan, cells, effects, needed, seconds))
    steps.push_back({.command = step.command, .gain = text_of(step.gain)});
  return steps;
}

std::string text_of(const StepGain& gain) {
  switch (gain.kind) {
    case StepGain::Kind::kWhyFailed:
      return "why run " + std::to_string(gain.run_id) + " failed, and the files with its output";
    case StepGain::Kind::kMissingRuns: return price_text(gain.seconds) + "makes the runs that are missing";
    case StepGain::Kind::kFirstVerdicts:
      return price_text(gain.seconds) + "first verdicts, which need a spread over seeds";
    case StepGain::Kind::kVerdicts:
      return price_text(gain.seconds) + "may decide " + listed_first(gain.changes, kMaxNamedChanges);
    case StepGain::Kind::kPage: break;
  }
  return "the page with charts and every interval; --out report.html writes it to a file";
}

std::map<std::string, double> run_seconds(const results::Store& store, const std::vector<CellMeasures>& cells) {
  std::map<std::string, double> seconds;
  for (const CellMeasures& cell : cells) {
    double sum = 0.0;
    int runs = 0;
    for (const RunMeasure& run : cell.runs) {
      if (!run.run.is_completed() || !run.run.finished_at) continue;
      const std::optional<double> used =
          results::used_seconds(store.run_facts(run.run.id), run.run.started_at, *run.run.finished_at);
      if (!used) continue;
      sum += *used;
      ++runs;
    }
    if (runs > 0) seconds[cell.cell.label] = sum / runs;
  }
  return seconds;
}

}  // namespace nanobench::reports

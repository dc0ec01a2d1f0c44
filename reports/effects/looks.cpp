// Earlier looks at the results of a plan.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "reports/effects/effects.h"

namespace nanobench::reports {

namespace {

using results::PlanCell;
using results::PlanLine;
using results::PlanRecord;
using Seeds = std::set<std::uint64_t>;
using Lines = std::map<std::pair<std::string, std::uint64_t>, const PlanLine*>;  // by cell and seed

Lines lines_of(const PlanRecord& plan) {
  Lines lines;
  for (const PlanLine& line : plan.lines) lines[{line.cell, line.seed}] = &line;
  return lines;
}

Seeds seeds_of(const PlanRecord& plan) {
  Seeds seeds;
  for (const PlanLine& line : plan.lines) seeds.insert(line.seed);
  return seeds;
}

bool is_earlier(const PlanRecord& one, const PlanRecord& other) {
  return std::tie(one.created_at, one.id) < std::tie(other.created_at, other.id);
}

bool asks_the_same(const PlanRecord& one, const PlanRecord& other) {
  const auto same_cell = [](const PlanCell& a, const PlanCell& b) {
    return a.label == b.label && a.config_digest == b.config_digest;
  };
  return one.suite == other.suite && one.scale == other.scale && one.data_name == other.data_name &&
         one.design == other.design &&
         std::equal(one.cells.begin(), one.cells.end(), other.cells.begin(), other.cells.end(), same_cell);
}

/// The seeds of `earlier` whose runs are all in `lines` too; nullopt if it has runs of its own.
std::optional<Seeds> shared_seeds(const PlanRecord& earlier, const Lines& lines) {
  Seeds seeds = seeds_of(earlier);
  for (const PlanLine& line : earlier.lines) {
    const auto found = lines.find({line.cell, line.seed});
    if (found == lines.end() || found->second->digest != line.digest) return std::nullopt;
    if (!line.run_id || line.run_id != found->second->run_id) seeds.erase(line.seed);
  }
  return seeds;
}

bool has_p_values(const PlanRecord& plan, std::size_t seeds) {
  return seeds >= 2 || (seeds == 1 && is_judged_by_lenth(plan.contrasts));
}

}  // namespace

std::vector<int> looks_taken(const PlanRecord& plan, const std::vector<PlanRecord>& plans) {
  if (plan.sequential || plan.contrasts.empty()) return {};
  const Lines lines = lines_of(plan);
  const Seeds own = seeds_of(plan);
  std::set<Seeds> looks;
  for (const PlanRecord& other : plans) {
    if (other.id == plan.id || !is_earlier(other, plan) || !asks_the_same(other, plan)) continue;
    const std::optional<Seeds> shared = shared_seeds(other, lines);
    if (shared && shared->size() < own.size() && has_p_values(other, shared->size())) looks.insert(*shared);
  }
  std::vector<int> counts;
  for (const Seeds& look : looks) counts.push_back(static_cast<int>(look.size()));
  std::sort(counts.begin(), counts.end());
  counts.push_back(static_cast<int>(own.size()));
  return counts;
}

}  // namespace nanobench::reports

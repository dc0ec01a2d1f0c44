#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "reports/stats/plan_model.h"
#include "reports/trend/series.h"

namespace nanobench::reports {
namespace {

constexpr double kSameLoss = 1e-8;  // sums in another order

/// The losses of one revision, in the order of the common seeds.
using LossRow = std::vector<double>;

std::vector<std::uint64_t> shared_seeds(std::span<const BySeed> before, const BySeed& own) {
  std::vector<std::uint64_t> seeds;
  if (before.empty()) return seeds;
  for (const auto& [seed, value] : own) {
    if (before.back().contains(seed)) seeds.push_back(seed);
  }
  return seeds;
}

LossRow row_of(const BySeed& losses, const std::vector<std::uint64_t>& seeds) {
  LossRow row;
  for (const std::uint64_t seed : seeds) {
    if (const auto found = losses.find(seed); found != losses.end()) row.push_back(found->second);
  }
  return row;
}

bool are_same(const LossRow& a, const LossRow& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] - b[i]) > kSameLoss) return false;
  }
  return true;
}

bool is_among(const std::vector<LossRow>& rows, const LossRow& row) {
  return std::any_of(rows.begin(), rows.end(), [&](const LossRow& known) { return are_same(known, row); });
}

/// Complete rows that differ from each other.
std::vector<LossRow> different_rows(std::span<const BySeed> before, const std::vector<std::uint64_t>& seeds) {
  std::vector<LossRow> rows;
  for (const BySeed& losses : before) {
    LossRow row = row_of(losses, seeds);
    if (row.size() == seeds.size() && !is_among(rows, row)) rows.push_back(std::move(row));
  }
  return rows;
}

/// The newest row against the mean of at least two different ones, by what the levels of revision and seed leave.
std::optional<Estimate> against_several(const std::vector<LossRow>& rows, const LossRow& own) {
  ResponseTable table;
  std::vector<double> means;
  for (const LossRow& row : rows) {
    table.emplace_back(row.begin(), row.end());
    means.push_back(*mean_of(row));
  }
  table.emplace_back(own.begin(), own.end());
  const PlanModel model(table);
  if (!model.plan_sd()) return std::nullopt;
  const double runs = static_cast<double>(own.size());
  const double se = *model.plan_sd() * std::sqrt((1.0 + 1.0 / static_cast<double>(rows.size())) / runs);
  const Estimate estimate{.value = *mean_of(own) - *mean_of(means), .se = se, .df = model.plan_df()};
  return estimate.is_usable() ? std::optional(estimate) : std::nullopt;
}

/// Two draws of the same spread.
std::optional<Estimate> against_one(const LossRow& row, const LossRow& own) {
  const std::optional<Moments> first = moments_of(own), second = moments_of(row);
  if (!first || !second) return std::nullopt;
  const auto seeds = static_cast<double>(own.size());
  const Estimate estimate{.value = first->mean - second->mean,
                          .se = std::sqrt((first->sd * first->sd + second->sd * second->sd) / seeds),
                          .df = 2.0 * (seeds - 1.0)};
  return estimate.is_usable() ? std::optional(estimate) : std::nullopt;
}

}  // namespace

std::optional<Shift> newest_loss_shift(std::span<const BySeed> before, const BySeed& own, double level) {
  const std::vector<std::uint64_t> seeds = shared_seeds(before, own);
  if (seeds.size() < 2) return std::nullopt;
  const std::vector<LossRow> rows = different_rows(before, seeds);
  const LossRow row = row_of(own, seeds);
  if (is_among(rows, row)) return Shift{.is_exact = true};
  const std::optional<Estimate> estimate =
      rows.size() > 1 ? against_several(rows, row) : against_one(rows.front(), row);
  if (!estimate) return std::nullopt;
  return Shift{.value = estimate->value, .interval = interval_of(*estimate, level), .p = p_of(*estimate)};
}

}  // namespace nanobench::reports

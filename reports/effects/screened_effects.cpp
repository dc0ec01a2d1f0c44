#include "reports/effects/screened_effects.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace nanobench::reports {
namespace {

/// A cell's means; absent where no run gives one.
struct CellResponse {
  std::optional<double> loss;
  std::optional<double> log_clock;
  bool has_diverged = false;
};

CellResponse response_of(const CellMeasures& cell) {
  std::vector<double> losses, logs;
  CellResponse response;
  for (const RunMeasure& run : cell.runs) {
    if (run.run.result && run.run.result->outcome == core::RunOutcome::kDiverged) response.has_diverged = true;
    if (run.val_loss && std::isfinite(*run.val_loss)) losses.push_back(*run.val_loss);
    if (run.clock_ms && *run.clock_ms > 0.0) logs.push_back(std::log(*run.clock_ms));
  }
  response.loss = mean_of(losses);
  response.log_clock = mean_of(logs);
  response.has_diverged = response.has_diverged && !response.loss;
  return response;
}

/// The features that differ from the base in any cell, with the other value.
std::map<std::string, std::string> changed_features(const std::vector<CellMeasures>& cells) {
  std::map<std::string, std::string> changed;
  const auto& base = cells.front().cell.features;
  for (const CellMeasures& cell : cells) {
    for (const auto& [id, value] : cell.cell.features) {
      const auto now = base.find(id);
      if (now == base.end() || now->second != value) changed.emplace(id, value);
    }
  }
  return changed;
}

bool differs(const CellMeasures& cell, const CellMeasures& base, const std::string& id) {
  const auto now = cell.cell.features.find(id), before = base.cell.features.find(id);
  if (now == cell.cell.features.end()) return false;
  return before == base.cell.features.end() || now->second != before->second;
}

class Analysis {
 public:
  explicit Analysis(const std::vector<CellMeasures>& cells) : cells_(cells) {
    for (const CellMeasures& cell : cells) responses_.push_back(response_of(cell));
    let_diverged_be_worst();
  }

  Screening run() {
    for (const auto& [id, value] : changed_features(cells_)) add_feature(id, value);
    fit(&CellResponse::loss, &ScreenedEffect::loss);
    fit(&CellResponse::log_clock, &ScreenedEffect::time);
    for (const CellResponse& response : responses_) result_.cells += response.loss ? 1 : 0;
    std::stable_sort(result_.effects.begin(), result_.effects.end(),
                     [](const ScreenedEffect& a, const ScreenedEffect& b) {
                       return std::pair(a.is_suspect(), a.t()) > std::pair(b.is_suspect(), b.t());
                     });
    return std::move(result_);
  }

 private:
  void let_diverged_be_worst() {
    std::optional<double> worst;
    for (const CellResponse& response : responses_) {
      if (response.loss) worst = std::max(worst.value_or(*response.loss), *response.loss);
    }
    for (CellResponse& response : responses_) {
      if (!response.has_diverged || !worst) continue;
      response.loss = worst;
      ++result_.diverged;
    }
  }

  void add_feature(const std::string& id, const std::string& value) {
    std::vector<bool> column;
    ScreenedEffect effect{.feature = id, .value = value, .always = {}, .cells = 0, .loss = {}, .time = {}};
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      column.push_back(differs(cells_[i], cells_.front(), id));
      effect.cells += column.back() && responses_[i].loss ? 1 : 0;
    }
    const auto same = std::find(columns_.begin(), columns_.end(), column);
    if (same != columns_.end()) {
      result_.effects[static_cast<std::size_t>(same - columns_.begin())].always.push_back(id);
      return;
    }
    columns_.push_back(std::move(column));
    result_.effects.push_back(std::move(effect));
  }

  void fit(std::optional<double> CellResponse::*response, ScreenedFactor ScreenedEffect::*place) {
    std::vector<double> values;
    std::vector<std::vector<bool>> factors(columns_.size());
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (!(responses_[i].*response)) continue;
      values.push_back(*(responses_[i].*response));
      for (std::size_t j = 0; j < columns_.size(); ++j) factors[j].push_back(columns_[j][i]);
    }
    const std::optional<std::vector<ScreenedFactor>> screened = screen_factors(factors, values);
    for (std::size_t j = 0; screened && j < columns_.size(); ++j) result_.effects[j].*place = (*screened)[j];
  }

  const std::vector<CellMeasures>& cells_;
  std::vector<CellResponse> responses_;
  std::vector<std::vector<bool>> columns_;  ///< of the effects: by cell
  Screening result_;
};

}  // namespace

double ScreenedEffect::t() const {
  if (!is_suspect()) return std::max(loss.t(), time.t());
  return std::max(loss.is_suspect ? loss.t() : 0.0, time.is_suspect ? time.t() : 0.0);
}

std::size_t Screening::suspects() const {
  return static_cast<std::size_t>(
      std::count_if(effects.begin(), effects.end(), [](const ScreenedEffect& one) { return one.is_suspect(); }));
}

Screening screened_effects(const std::vector<CellMeasures>& cells) {
  return cells.empty() ? Screening{} : Analysis(cells).run();
}

}  // namespace nanobench::reports

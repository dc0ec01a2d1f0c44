/// What must be run to measure a claim: training cells or an operation. Also what is known without a run: the records'
/// published figures and the settings of their configurations. Pure; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ablations/catalogue.h"
#include "ablations/claim.h"
#include "core/config/train_config.h"
#include "core/protocol/operation_spec.h"

namespace nanobench::ablations {

/// One thing to run. Equal labels mean the same thing, whichever claim needs it.
struct ClaimCell {
  std::string label;   ///< "record17 with attention_skip = none", "attention T 8192 ...: time_ms"
  std::string record;  ///< record of a training run; empty for an operation
  FeatureSettings features;
  std::optional<std::int64_t> processes;
  double rate_factor = 1.0;                   ///< on all learning rates of a training run
  bool measures_health = false;               ///< the run must measure the metric health
  std::optional<core::KernelChoice> kernels;  ///< absent: as the other runs of the suite
  std::optional<core::OperationSpec> operation;
  bool is_exact = false;  ///< every repetition gives the same result, so one is enough
};

/// Cells that measure one claim.
struct ClaimCells {
  std::optional<ClaimCell> before;     ///< kind cells
  std::optional<ClaimCell> after;      ///< kind cells
  std::optional<ClaimCell> whole;      ///< kind cells, share_of_saved_time
  std::optional<ClaimCell> operation;  ///< kind benchmark: both arms; share_of_peak: the machine's matrix products
  /// Metric stable_rate: the arms again at each of kStableRateFactors above 1, ascending.
  std::vector<ClaimCell> before_rates, after_rates;
  std::vector<ClaimCell> also;  ///< in the order of the measure's list
};

/// The factors on all rates at which stability is measured.
inline constexpr std::array kStableRateFactors = {1.0, 4.0, 16.0, 32.0, 64.0, 128.0};

/// The patch that sets a training cell's factor; empty for 1.
core::Json rate_patch(const ClaimCell& cell);

/// Whether the claim needs any run, even if only a run of two processes.
bool needs_runs(const Claim& claim);

/// Throws Error{kNotFound} for features that do not exist.
ClaimCells cells_of(const Catalogue& catalogue, const Claim& claim);

/// Throws Error{kUnavailable} if both sides of a claim resolve to the same configuration, so there is nothing to
/// compare.
void require_difference(const core::TrainConfig& before, const core::TrainConfig& after);

/// Whether the arms differ in how they compute, which is what the claim is about.
bool compares_kernels(const ClaimCells& cells);

/// The number of the first record whose setting is what the claim states: `equals`, or else that of the arm `after`.
/// Found in the records' official configurations alone, and it may come after the claim's record. nullopt for other
/// kinds than `config`, for arms with settings on their record, and if no record has it.
std::optional<std::int64_t> first_record_of(const Catalogue& catalogue, const Claim& claim);

/// All its cells, `before` first.
std::vector<ClaimCell> all_cells(const ClaimCells& cells);

/// The number that the claim's rule judges. It comes from the arms' resolved official configurations (config), from
/// their published figures (published_log; cells of plain records), or else from the claim's file. nullopt if none of
/// them has it. Throws Error{kNotFound} for an arm's record, feature or value that does not exist.
std::optional<double> known_value(const Catalogue& catalogue, const Claim& claim);

}  // namespace nanobench::ablations

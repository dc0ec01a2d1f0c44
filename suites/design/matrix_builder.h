/// What the designs share when they turn rows into cells (internal to suites). One builder per suite; not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ablations/catalogue.h"
#include "ablations/design.h"
#include "ablations/resolve.h"
#include "core/base/error.h"
#include "suites/design/plan.h"

namespace nanobench::suites {

/// Adds the table's contrasts to the matrix in the store's form. The table's cells are the matrix's, in the same order.
void add_contrasts(Matrix& matrix, const ablations::DesignTable& table);

class MatrixBuilder {
 public:
  MatrixBuilder(const Suite& suite, const ablations::Catalogue& catalogue) : suite_(suite), catalogue_(catalogue) {}

  const Suite& suite() const { return suite_; }
  const ablations::Catalogue& catalogue() const { return catalogue_; }
  const Matrix& matrix() const { return matrix_; }
  Matrix take() { return std::move(matrix_); }

  /// JSON pointer of what is being resolved, for messages.
  void at(const std::string& pointer) { where_ = pointer; }
  const std::string& where() const { return where_; }
  std::string place_of(const FeatureChoice& choice) const;

  /// Whether the suite names its features. A named feature that has no effect is an error; any other such feature is
  /// left out with a message.
  bool is_listed() const { return !suite_.features.empty(); }
  /// The suite's features. If it names none: all that the base has at their `after` value, with a message about the
  /// others.
  std::vector<FeatureChoice> choices(const ablations::FeatureSettings& effective);

  /// `patch` is applied after the base's own; `processes` replaces the suite's. Throws the same errors as
  /// ablations::resolve.
  ablations::Resolved resolve(const std::string& record, const ablations::FeatureSettings& settings,
                              const core::Json& patch = core::Json::object(),
                              std::optional<std::int64_t> processes = std::nullopt) const;
  ablations::Resolved resolve_base();

  /// Throws Error{kInvalidArgument} if the label already exists.
  void add_cell(const std::string& label, const std::string& record, const ablations::Resolved& resolved,
                const std::vector<std::string>& changes, std::int64_t arm = 0,
                std::optional<core::KernelChoice> kernels = std::nullopt);
  /// A cell that measures an operation.
  void add_operation(const std::string& label, const core::OperationSpec& operation,
                     const std::vector<std::string>& changes, bool is_exact);
  /// The runs of the cell with this label measure these too.
  void ask_for(const std::string& label, const core::AskedMetrics& metrics);
  void add_contrasts(const ablations::DesignTable& table) { suites::add_contrasts(matrix_, table); }
  /// Adds a message if an earlier cell has the same configuration and kernels: both rows then show one run, not two
  /// measurements.
  void note_twin(const std::string& label, const ablations::Resolved& resolved,
                 std::optional<core::KernelChoice> kernels = std::nullopt);
  /// Repeated messages are kept once.
  void note(const core::Message& message);

  /// The suite's scale, if it fixes the feature's value in the base.
  std::optional<std::string> holder_of(const ablations::Resolved& base, const std::string& feature) const;

 private:
  std::vector<FeatureChoice> with_own_names(std::vector<FeatureChoice> choices) const;
  std::string vocabulary_asked_by(const ablations::Resolved& resolved) const;

  const Suite& suite_;
  const ablations::Catalogue& catalogue_;
  std::string where_ = "/scale";
  Matrix matrix_;
  /// Label of the first cell with these kernels and this digest of its configuration.
  std::map<std::pair<std::optional<core::KernelChoice>, std::string>, std::string> trained_;
};

void add_grid(MatrixBuilder& builder);       ///< factorial, fractional_factorial, sweep and pairs: matrix_grid.cpp
void add_screening(MatrixBuilder& builder);  ///< matrix_screening.cpp

}  // namespace nanobench::suites

/// The factors of the designs that combine levels (internal to suites): features of the suite or axes of a sweep, each
/// level tried alone on the base.
#pragma once

#include <string>
#include <vector>

#include "suites/design/grid_table.h"
#include "suites/design/matrix_builder.h"
#include "suites/design/wording.h"

namespace nanobench::suites {

/// One factor of the design, and what its levels are here.
struct GridFactor : GridAxis {
  std::string feature;             ///< or empty:
  std::string path;                ///< one setting
  std::vector<core::Json> values;  ///< of each level; of a feature: names
  std::string place;               ///< pointer into the suite, for messages
};

/// A cell's settings on top of the base.
struct CellSettings {
  ablations::FeatureSettings features;
  core::Json patch = core::Json::object();
};

class GridFactors {
 public:
  /// Throws Error for a level that does not exist or can never act, with the builder's place at it. One that the base
  /// alone excludes is kept: another factor may change the base.
  explicit GridFactors(MatrixBuilder& builder);

  const std::vector<GridFactor>& factors() const { return factors_; }
  const ablations::Resolved& base() const { return base_; }

  /// What the base has anyway is not set.
  void set_level(CellSettings& settings, const GridFactor& factor, std::size_t level) const;
  ablations::Resolved resolve(const CellSettings& cell) const;
  /// The first factor at another value than its level says, as another level pulled it in or took its meaning away;
  /// nullopt when every factor is at its level.
  std::optional<Displacement> displaced(const ablations::DesignCell& cell, const ablations::Resolved& resolved) const;

 private:
  void add_axes();
  void shorten_paths();
  void add_features();
  std::vector<std::string> levels_of(const FeatureChoice& choice, const ablations::Feature& feature);
  void keep_if_possible(GridFactor factor);
  void try_alone(const CellSettings& settings) const;
  void keep_compatible();
  std::string clash(const ablations::DesignCell& cell) const;

  MatrixBuilder& builder_;
  const Suite& suite_;
  const ablations::Resolved base_;
  std::vector<GridFactor> factors_;
};

}  // namespace nanobench::suites

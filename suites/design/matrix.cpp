// Suite -> Matrix: which cells, what each of them is, and what estimates what. One file for each kind of design.
#include "suites/design/external_suite.h"
#include "suites/design/matrix_builder.h"

namespace nanobench::suites {
namespace {

using ablations::Catalogue;
using core::Error;

void add_cells(MatrixBuilder& builder) {
  builder.catalogue().scale(builder.suite().scale);
  switch (builder.suite().design) {
    case Design::kHistory: return add_history(builder);
    case Design::kLeaveOneOut: return add_leave_one_out(builder);
    case Design::kAddOneIn: return add_add_one_in(builder);
    case Design::kAA: return add_arms(builder);
    case Design::kClaims: return add_claims(builder);
    case Design::kFactorial:
    case Design::kFractionalFactorial:
    case Design::kSweep:
    case Design::kPairs: return add_grid(builder);
    case Design::kCells: break;  // an external trainer's: external_matrix.cpp
  }
}

/// Throws Error with the suite's file and the pointer to what was being resolved.
Matrix build(const Suite& suite, const Catalogue& catalogue) {
  MatrixBuilder builder(suite, catalogue);
  try {
    add_cells(builder);
  } catch (const Error& error) {
    throw Error(error.code(), core::json_location(suite.source, builder.where()) + ": " + error.what());
  }
  return builder.take();
}

}  // namespace

Matrix make_matrix(const Suite& suite, const Catalogue& catalogue) {
  if (suite.external) return make_external_matrix(suite);
  if (suite.inline_features.empty()) return build(suite, catalogue);
  Catalogue extended = catalogue;
  for (std::size_t i = 0; i < suite.inline_features.size(); ++i)
    extended.add_feature(suite.inline_features[i], suite.source + "#/inline_features/" + std::to_string(i));
  extended.check();
  return build(suite, extended);
}

}  // namespace nanobench::suites

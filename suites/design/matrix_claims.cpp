// claims: what the catalogue's claims are measured by, each thing once however many claims ask for it.
#include <set>

#include "ablations/claim_cells.h"
#include "core/base/rethrow.h"
#include "suites/design/matrix_builder.h"
#include "suites/design/wording.h"

namespace nanobench::suites {
namespace {

using ablations::Claim;
using ablations::ClaimCell;
using core::Error;
using core::ErrorCode;

class ClaimMatrix {
 public:
  explicit ClaimMatrix(MatrixBuilder& builder) : builder_(builder) {}

  void add() {
    for (const Claim* claim : chosen()) {
      if (ablations::needs_runs(*claim)) add_cells_of(*claim);
    }
  }

 private:
  std::vector<const Claim*> chosen() {
    const std::vector<std::string>& ids = builder_.suite().claims;
    if (ids.empty()) return builder_.catalogue().claims();
    std::vector<const Claim*> claims;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      builder_.at("/claims/" + std::to_string(i));
      claims.push_back(&builder_.catalogue().claim(ids[i]));
    }
    return claims;
  }

  ablations::Resolved resolved_cell(const ClaimCell& cell) const {
    return builder_.resolve(cell.record, cell.features, core::Json::object(), cell.processes);
  }

  /// All cells of the claim, or none and a message when one of them cannot be had at this scale.
  void add_cells_of(const Claim& claim) {
    std::vector<ClaimCell> fresh;
    std::vector<ablations::Resolved> resolved;
    try {
      const ablations::ClaimCells cells = ablations::cells_of(builder_.catalogue(), claim);
      if (cells.before && cells.after)
        ablations::require_difference(resolved_cell(*cells.before).config, resolved_cell(*cells.after).config);
      for (const ClaimCell& cell : ablations::all_cells(cells)) {
        if (labels_.contains(cell.label)) continue;
        resolved.push_back(cell.operation ? ablations::Resolved() : resolved_cell(cell));
        fresh.push_back(cell);
      }
    } catch (const Error& error) {
      rethrow_internal(error);
      builder_.note(not_measurable(claim.id, error.what()));
      return;
    }
    for (std::size_t i = 0; i < fresh.size(); ++i) add_cell(fresh[i], resolved[i], "for claim " + claim.id);
  }

  void add_cell(const ClaimCell& cell, const ablations::Resolved& resolved, const std::string& changed) {
    if (!labels_.insert(cell.label).second) return;  // twice in one claim
    if (cell.operation) {
      builder_.add_operation(cell.label, *cell.operation, changed, cell.is_exact);
    } else {
      builder_.note_twin(cell.label, resolved);
      builder_.add_cell(cell.label, cell.record, resolved, changed);
    }
  }

  MatrixBuilder& builder_;
  std::set<std::string> labels_;
};

}  // namespace

void add_claims(MatrixBuilder& builder) {
  builder.at("/claims");
  ClaimMatrix(builder).add();
  if (builder.matrix().cells.empty())
    throw Error(ErrorCode::kUnavailable, "none of the claims needs a run at scale " + builder.suite().scale);
}

}  // namespace nanobench::suites

// Suite -> Matrix: the cells, their configurations, and the contrasts that estimate the effects. matrix_grid.cpp has
// the designs that combine levels, external_matrix.cpp those of an external trainer.
#include <algorithm>
#include <set>

#include "ablations/claim_cells.h"
#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"
#include "suites/design/external_suite.h"
#include "suites/design/matrix_builder.h"
#include "suites/design/wording.h"

namespace nanobench::suites {
namespace {

using ablations::Catalogue;
using ablations::Claim;
using ablations::ClaimCell;
using ablations::Feature;
using ablations::FeatureSettings;
using core::Error;
using core::ErrorCode;

// history and a_a: records one after the other, and one configuration several times.

std::vector<std::string> changes_between(const ablations::Catalogue& catalogue, const std::string& previous,
                                         const std::string& id) {
  std::vector<std::string> changes;
  const auto lineage = catalogue.lineage(id);
  auto step = std::find_if(lineage.begin(), lineage.end(), [&](const auto* r) { return r->id == previous; });
  if (step == lineage.end()) return {catalogue.record(id).title};
  for (++step; step != lineage.end(); ++step)
    changes.insert(changes.end(), (*step)->changes.begin(), (*step)->changes.end());
  if (changes.empty()) changes.push_back(catalogue.record(id).title);
  return changes;
}

void add_history(MatrixBuilder& builder) {
  const std::vector<std::string>& records = builder.suite().records;
  for (std::size_t i = 0; i < records.size(); ++i) {
    builder.at("/records/" + std::to_string(i));
    const ablations::Resolved resolved = builder.resolve(records[i], {});
    builder.note_twin(records[i], resolved);
    builder.add_cell(records[i], records[i], resolved,
                     i == 0 ? std::vector<std::string>{"the starting point"}
                            : changes_between(builder.catalogue(), records[i - 1], records[i]));
  }
  builder.add_contrasts(ablations::ladder({"record", records}));
}

/// Every arm has its own runs, including the first: results of another suite on another day do not belong to it.
void add_arms(MatrixBuilder& builder) {
  const ablations::Resolved base = builder.resolve_base();
  ablations::Factor arms{"arm", {}};
  for (std::int64_t arm = 1; arm <= builder.suite().arms; ++arm) {
    const std::string name(1, static_cast<char>('A' + arm - 1));
    arms.levels.push_back(name);
    builder.add_cell(builder.suite().base_record + " " + name, builder.suite().base_record, base,
                     {arm == 1 ? "the base" : "nothing: the same configuration again"}, arm);
  }
  builder.add_contrasts(ablations::replicas(arms));
}

// leave_one_out and its mirror add_one_in: a base, and one cell for each feature at another value.

class OneAtATime {
 public:
  explicit OneAtATime(MatrixBuilder& builder)
      : builder_(builder), suite_(builder.suite()), is_added_(suite_.design == Design::kAddOneIn) {}

  void leave_one_out() {
    const ablations::Resolved base = builder_.resolve_base();
    builder_.add_cell(suite_.base_record, suite_.base_record, base, {"the base"});
    for (const FeatureChoice& choice : builder_.choices(base.effective))
      add_variant(base, choice, suite_.base_features);
    builder_.add_contrasts(ablations::one_at_a_time(factors_));
  }

  void add_one_in() {
    const ablations::Resolved full = builder_.resolve_base();
    builder_.at("/features");
    const std::vector<FeatureChoice> chosen = builder_.choices(full.effective);
    const FeatureSettings off = builder_.is_listed() ? all_before(chosen) : as_many_before_as_possible(chosen);
    const ablations::Resolved base = builder_.resolve(suite_.base_record, off);
    builder_.add_cell("none", suite_.base_record, base, {"the base, every feature of the suite turned off"});
    for (const FeatureChoice& choice : chosen) {
      if (off.contains(choice.id)) add_variant(base, choice, off);
    }
    builder_.add_contrasts(ablations::one_at_a_time(factors_));
  }

 private:
  FeatureSettings all_before(const std::vector<FeatureChoice>& chosen) const {
    FeatureSettings off = suite_.base_features;
    for (const FeatureChoice& choice : chosen) off[choice.id] = builder_.catalogue().feature(choice.id).before;
    return off;
  }

  /// Newest features first: reverting the oldest makes many others inapplicable (Muon's settings under Adam).
  FeatureSettings as_many_before_as_possible(const std::vector<FeatureChoice>& chosen) {
    FeatureSettings off = suite_.base_features;
    for (auto choice = chosen.rbegin(); choice != chosen.rend(); ++choice) {
      FeatureSettings more = off;
      more[choice->id] = builder_.catalogue().feature(choice->id).before;
      try {
        builder_.resolve(suite_.base_record, more);
        off = std::move(more);
      } catch (const Error& error) {
        rethrow_internal(error);
        builder_.note(left_out("only " + choice->id, error.what()));
      }
    }
    return off;
  }

  /// The base with one feature at another value. Combinations that exclude each other are left out, with a message.
  void add_variant(const ablations::Resolved& base, const FeatureChoice& choice, const FeatureSettings& base_settings) {
    builder_.at(builder_.place_of(choice));
    const Feature& feature = builder_.catalogue().feature(choice.id);
    const std::string usual = is_added_ ? feature.after : feature.before;
    const std::string value = choice.value.value_or(usual);
    feature.value(value);  // throws for an unknown value, and for a feature that cannot be set
    const bool is_usual = value == usual;
    const std::string label = is_usual ? (is_added_ ? "only " : "without ") + feature.id : feature.id + " = " + value;
    const auto found = base.effective.find(feature.id);
    const std::optional<std::string> now =
        found == base.effective.end() ? std::nullopt : std::optional<std::string>(found->second);
    if (is_idle(base, choice, label, value, now)) return;
    FeatureSettings settings = base_settings;
    settings[feature.id] = value;
    try {
      const ablations::Resolved resolved = builder_.resolve(suite_.base_record, settings);
      require_difference(base, resolved, label);
      const std::string before = now.value_or("another value");
      builder_.add_cell(label, suite_.base_record, resolved, {feature.title + ": " + before + " -> " + value});
      // What the base's value does that the cell's does not; the reverse in add_one_in, and if the cell turns on what
      // the base lacks.
      const bool is_turned_on = is_added_ || (now == feature.before && value == feature.after);
      const std::string effect = is_usual ? feature.id : feature.id + (is_turned_on ? "=" : " over ") + value;
      factors_.push_back({effect, {before, value}, !is_turned_on, feature.id});
    } catch (const Error& error) {
      rethrow_internal(error);
      if (builder_.is_listed() && error.code() != ErrorCode::kConflict) throw;
      builder_.note(left_out(label, error.what()));
    }
  }

  /// Whether there is nothing to change in the base; if so, adds a message.
  bool is_idle(const ablations::Resolved& base, const FeatureChoice& choice, const std::string& label,
               const std::string& value, const std::optional<std::string>& now) {
    const Feature& feature = builder_.catalogue().feature(choice.id);
    const std::optional<std::string> held_by = builder_.holder_of(base, feature.id);
    if (now == value) {
      builder_.note(left_out(label, already_in_base(feature.id, value, held_by)));
      return true;
    }
    if (choice.value || is_added_ || now == feature.after) return false;
    builder_.note(left_out(label, other_value_in_base(feature.id, now, feature.after, held_by)));
    return true;
  }

  void require_difference(const ablations::Resolved& base, const ablations::Resolved& cell,
                          const std::string& label) const {
    if (cell.config.digest() != base.config.digest()) return;
    throw core::Refusal(ErrorCode::kUnavailable, core::Reason::kSameValue,
                        label + " is the same configuration as the base at scale " + suite_.scale +
                            "; leave it out, or choose another scale",
                        label);
  }

  MatrixBuilder& builder_;
  const Suite& suite_;
  const bool is_added_;
  std::vector<ablations::Factor> factors_;  ///< factors of the cells after the base
};

void add_leave_one_out(MatrixBuilder& builder) {
  OneAtATime(builder).leave_one_out();
}

void add_add_one_in(MatrixBuilder& builder) {
  OneAtATime(builder).add_one_in();
}

// claims: the cells that measure the catalogue's claims, each once, however many claims need it.

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
    return builder_.resolve(cell.record, cell.features, rate_patch(cell), cell.processes);
  }

  void require_other_kernels(const ClaimCell& cell) const {
    if (cell.kernels != builder_.suite().kernels) return;
    throw core::Refusal(ErrorCode::kUnavailable, core::Reason::kSameValue,
                        "every run has " + enum_name(builder_.suite().kernels) + " kernels; leave out --kernels",
                        "--kernels");
  }

  /// Adds all cells of the claim, or none and a message if one of them is impossible at this scale.
  void add_cells_of(const Claim& claim) {
    std::vector<ClaimCell> wanted, fresh;
    std::vector<ablations::Resolved> resolved;
    ablations::ClaimCells cells;
    try {
      cells = ablations::cells_of(builder_.catalogue(), claim);
      if (ablations::compares_kernels(cells)) {
        require_other_kernels(*cells.before);
      } else if (cells.before && cells.after) {
        ablations::require_difference(resolved_cell(*cells.before).config, resolved_cell(*cells.after).config);
      }
      wanted = ablations::all_cells(cells);
      for (const ClaimCell& cell : wanted) {
        if (labels_.contains(cell.label)) continue;
        resolved.push_back(cell.operation ? ablations::Resolved() : resolved_cell(cell));
        fresh.push_back(cell);
      }
    } catch (const Error& error) {
      rethrow_internal(error);
      builder_.note(not_measurable(claim.id, error.what()));
      return;
    }
    for (std::size_t i = 0; i < fresh.size(); ++i) add_cell(fresh[i], resolved[i], {"for claim " + claim.id});
    for (const ClaimCell& cell : wanted) {
      builder_.ask_for(cell.label, ablations::asked_metrics(claim));
      if (cell.measures_health) builder_.ask_for(cell.label, {core::AskedMetric::kHealth});
    }
  }

  void add_cell(const ClaimCell& cell, const ablations::Resolved& resolved, const std::vector<std::string>& changes) {
    if (!labels_.insert(cell.label).second) return;  // appears twice in one claim
    if (cell.operation) {
      builder_.add_operation(cell.label, *cell.operation, changes, cell.is_exact);
    } else {
      builder_.note_twin(cell.label, resolved, cell.kernels);
      builder_.add_cell(cell.label, cell.record, resolved, changes, 0, cell.kernels);
    }
  }

  MatrixBuilder& builder_;
  std::set<std::string> labels_;
};

void add_claims(MatrixBuilder& builder) {
  builder.at("/claims");
  ClaimMatrix(builder).add();
  if (builder.matrix().cells.empty())
    throw core::Refusal(ErrorCode::kUnavailable, core::Reason::kEmpty,
                        "none of the claims needs a run at scale " + builder.suite().scale, builder.suite().scale);
}

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
    case Design::kScreening: return add_screening(builder);
    case Design::kCells: break;  // for external trainers: external_matrix.cpp
  }
}

/// Throws Error with the suite's file and the pointer to what was being resolved.
Matrix build(const Suite& suite, const Catalogue& catalogue) {
  MatrixBuilder builder(suite, catalogue);
  try {
    add_cells(builder);
  } catch (const Error& error) {
    throw_again(error, core::json_location(suite.source, builder.where()) + ": " + error.what());
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

namespace {

/// What the suite names and the matrix leaves out.
std::vector<core::Message> named_but_left_out(const Suite& suite, const Matrix& matrix) {
  std::vector<core::Message> messages;
  if (suite.features.empty()) return messages;
  for (const core::Message& message : matrix.messages) {
    if (message.kind == core::MessageKind::kLeftOut && !message.subject.empty()) messages.push_back(message);
  }
  return messages;
}

/// The subjects of what is left out of the suite before a command line changed it. A suite that was impossible then
/// leaves out nothing.
std::set<std::string> left_out_before(const Suite& as_written, const Catalogue& catalogue) {
  std::set<std::string> subjects;
  try {
    for (const core::Message& message : named_but_left_out(as_written, make_matrix(as_written, catalogue)))
      subjects.insert(message.subject);
  } catch (const Error& error) {
    rethrow_internal(error);
  }
  return subjects;
}

}  // namespace

Matrix make_asked_matrix(const Suite& suite, const Catalogue& catalogue) {
  Matrix matrix = make_matrix(suite, catalogue);
  std::vector<core::Message> idle = named_but_left_out(suite, matrix);
  if (!idle.empty() && suite.as_written) {
    const std::set<std::string> before = left_out_before(*suite.as_written, catalogue);
    std::erase_if(idle, [&](const core::Message& message) { return !before.contains(message.subject); });
  }
  if (idle.empty()) return matrix;
  throw core::LocatedError(ErrorCode::kInvalidArgument, core::Reason::kLeftOut, suite.source, {"/features"},
                           idle_features(core::texts_of(idle)));
}

}  // namespace nanobench::suites

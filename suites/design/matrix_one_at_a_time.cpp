// leave_one_out and its mirror add_one_in: a base, and one cell for each feature at another value.
#include "core/base/rethrow.h"
#include "suites/design/matrix_builder.h"
#include "suites/design/wording.h"

namespace nanobench::suites {
namespace {

using ablations::Feature;
using ablations::FeatureSettings;
using core::Error;
using core::ErrorCode;

class OneAtATime {
 public:
  explicit OneAtATime(MatrixBuilder& builder)
      : builder_(builder), suite_(builder.suite()), is_added_(suite_.design == Design::kAddOneIn) {}

  void leave_one_out() {
    const ablations::Resolved base = builder_.resolve_base();
    builder_.add_cell(suite_.base_record, suite_.base_record, base, "the base");
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
    builder_.add_cell("none", suite_.base_record, base, "the base, every feature of the suite turned off");
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

  /// The newest first, as the oldest take the ground from many others (Muon's settings have no meaning under Adam).
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

  /// The base with one feature at another value. Combinations that exclude each other are left out, and that is said.
  void add_variant(const ablations::Resolved& base, const FeatureChoice& choice, const FeatureSettings& base_settings) {
    builder_.at(builder_.place_of(choice));
    const Feature& feature = builder_.catalogue().feature(choice.id);
    const std::string usual = is_added_ ? feature.after : feature.before;
    const std::string value = choice.value.value_or(usual);
    feature.value(value);  // throws for an unknown one, and for a feature that cannot be set
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
      builder_.add_cell(label, suite_.base_record, resolved, feature.title + ": " + before + " -> " + value);
      // The effect of a feature is what its later value does, whichever of the two is the base's.
      factors_.push_back(
          {is_usual ? feature.id : feature.id + "=" + value, {before, value}, is_usual && !is_added_, feature.id});
    } catch (const Error& error) {
      rethrow_internal(error);
      if (builder_.is_listed() && error.code() != ErrorCode::kConflict) throw;
      builder_.note(left_out(label, error.what()));
    }
  }

  /// Is there nothing to change in the base? Then that is said.
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
    throw Error(ErrorCode::kUnavailable, label + " is the same configuration as the base at scale " + suite_.scale +
                                             "; leave it out, or choose another scale");
  }

  MatrixBuilder& builder_;
  const Suite& suite_;
  const bool is_added_;
  std::vector<ablations::Factor> factors_;  ///< of the cells after the base
};

}  // namespace

void add_leave_one_out(MatrixBuilder& builder) {
  OneAtATime(builder).leave_one_out();
}

void add_add_one_in(MatrixBuilder& builder) {
  OneAtATime(builder).add_one_in();
}

}  // namespace nanobench::suites

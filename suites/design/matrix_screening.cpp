// The design screening: the base, then random cells with about a quarter of the features at their other value.
#include <algorithm>
#include <utility>

#include "ablations/screening.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "suites/design/grid_table.h"
#include "suites/design/matrix_builder.h"
#include "suites/design/wording.h"

namespace nanobench::suites {
namespace {

using ablations::DesignCell;
using ablations::Resolved;
using core::Error;

/// A feature, with its value in the base and the other one.
struct Switch {
  std::string feature;
  std::string on, off;
};

class ScreeningMatrix {
 public:
  explicit ScreeningMatrix(MatrixBuilder& builder)
      : builder_(builder), suite_(builder.suite()), base_(builder.resolve_base()) {}

  void add() {
    for (const FeatureChoice& choice : builder_.choices(base_.effective)) add_switch(choice);
    builder_.at("/features");
    require_factors(suite_, switches_.size());
    const auto turn = [this](const DesignCell& cell, std::size_t factor) { return turned(cell, factor); };
    const std::vector<DesignCell> cells =
        ablations::screening_cells(switches_.size(), screening_cells_of(suite_, switches_.size()), turn);
    for (std::size_t i = 0; i < cells.size(); ++i) add_cell(i, cells[i]);
    for (std::size_t j = 0; j < switches_.size(); ++j) {
      const auto has = [j](const DesignCell& cell) { return cell[j] > 0; };
      if (std::none_of(cells.begin(), cells.end(), has))
        builder_.note(left_out(switches_[j].feature, "it cannot be combined with the others; it can be tested alone"));
    }
  }

 private:
  /// A feature that cannot be changed alone, or whose change does nothing, is left out with a message.
  void add_switch(const FeatureChoice& choice) {
    builder_.at(builder_.place_of(choice));
    const ablations::Feature& feature = builder_.catalogue().feature(choice.id);
    const auto now = base_.effective.find(choice.id);
    if (now == base_.effective.end()) {
      builder_.note(left_out(choice.id, "the base has none of its values"));
      return;
    }
    const std::string off = choice.value.value_or(now->second == feature.before ? feature.after : feature.before);
    feature.value(off);  // throws for an unknown value, and for a feature that cannot be set
    if (now->second == off) {
      builder_.note(left_out(choice.id, already_in_base("it", off, builder_.holder_of(base_, choice.id))));
      return;
    }
    switches_.push_back({choice.id, now->second, off});
    try {
      const Resolved alone = resolve({{choice.id, off}});
      if (alone.config.digest() != base_.config.digest()) return;
      builder_.note(left_out(choice.id, choice.id + "=" + off + " changes nothing at scale " + suite_.scale));
    } catch (const Error& error) {
      rethrow_internal(error);
      if (builder_.is_listed() && error.code() != core::ErrorCode::kConflict) throw;
      builder_.note(left_out(choice.id, error.what()));
    }
    switches_.pop_back();
  }

  ablations::FeatureSettings with_base(const ablations::FeatureSettings& off) const {
    ablations::FeatureSettings settings = suite_.base_features;
    for (const auto& [id, value] : off) settings[id] = value;
    return settings;
  }
  Resolved resolve(const ablations::FeatureSettings& off) const {
    return builder_.resolve(suite_.base_record, with_base(off));
  }

  ablations::FeatureSettings settings_of(const DesignCell& cell) const {
    ablations::FeatureSettings off;
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      if (cell[i] > 0) off[switches_[i].feature] = switches_[i].off;
    }
    return off;
  }

  /// With what the change pulls in, which must also be possible as a setting of its own.
  std::optional<DesignCell> turned(const DesignCell& cell, std::size_t factor) const {
    DesignCell more = cell;
    more[factor] = 1;
    const std::optional<DesignCell> whole = levels_with(more);
    if (!whole || *whole == more) return whole;
    return levels_with(*whole) == whole ? whole : std::nullopt;
  }

  /// The levels of all features with these settings; nullopt if they are impossible, do not all hold, or leave a
  /// feature at a third value.
  std::optional<DesignCell> levels_with(const DesignCell& cell) const {
    try {
      const Resolved resolved = resolve(settings_of(cell));
      DesignCell levels = cell;
      for (std::size_t i = 0; i < switches_.size(); ++i) {
        const auto now = resolved.effective.find(switches_[i].feature);
        if (now == resolved.effective.end()) return std::nullopt;
        const bool is_off = now->second == switches_[i].off;
        if ((cell[i] > 0 && !is_off) || (!is_off && now->second != switches_[i].on)) return std::nullopt;
        levels[i] = is_off ? 1 : 0;
      }
      return levels;
    } catch (const Error& error) {
      rethrow_internal(error);
      return std::nullopt;
    }
  }

  void add_cell(std::size_t number, const DesignCell& cell) {
    if (number == 0) return builder_.add_cell(suite_.base_record, suite_.base_record, base_, {"the base"});
    Resolved resolved = resolve(settings_of(cell));
    resolved.settings = with_base(settings_of(cell));  // what they pull in is no change of its own
    resolved.messages.clear();
    std::vector<std::string> changed;
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      if (cell[i] > 0) changed.push_back(switches_[i].feature + "=" + switches_[i].off);
    }
    builder_.add_cell(screening_label(number), suite_.base_record, resolved, {joined(changed)});
  }

  MatrixBuilder& builder_;
  const Suite& suite_;
  const Resolved base_;
  std::vector<Switch> switches_;
};

}  // namespace

void add_screening(MatrixBuilder& builder) {
  ScreeningMatrix(builder).add();
}

}  // namespace nanobench::suites

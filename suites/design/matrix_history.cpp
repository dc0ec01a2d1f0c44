// The designs without toggles: records one after the other, and one configuration several times.
#include <algorithm>

#include "suites/design/matrix_builder.h"

namespace nanobench::suites {
namespace {

std::string changes_between(const ablations::Catalogue& catalogue, const std::string& previous, const std::string& id) {
  std::vector<std::string> changes;
  const auto lineage = catalogue.lineage(id);
  auto step = std::find_if(lineage.begin(), lineage.end(), [&](const auto* r) { return r->id == previous; });
  if (step == lineage.end()) return catalogue.record(id).title;
  for (++step; step != lineage.end(); ++step)
    changes.insert(changes.end(), (*step)->changes.begin(), (*step)->changes.end());
  std::string text;
  for (const std::string& change : changes) text += (text.empty() ? "" : "; ") + change;
  return text.empty() ? catalogue.record(id).title : text;
}

}  // namespace

void add_history(MatrixBuilder& builder) {
  const std::vector<std::string>& records = builder.suite().records;
  for (std::size_t i = 0; i < records.size(); ++i) {
    builder.at("/records/" + std::to_string(i));
    const ablations::Resolved resolved = builder.resolve(records[i], {});
    builder.note_twin(records[i], resolved);
    builder.add_cell(records[i], records[i], resolved,
                     i == 0 ? "the starting point" : changes_between(builder.catalogue(), records[i - 1], records[i]));
  }
  builder.add_contrasts(ablations::ladder({"record", records}));
}

/// Every arm has runs of its own, also the first: what another suite measured on another day is no part of it.
void add_arms(MatrixBuilder& builder) {
  const ablations::Resolved base = builder.resolve_base();
  ablations::Factor arms{"arm", {}};
  for (std::int64_t arm = 1; arm <= builder.suite().arms; ++arm) {
    const std::string name(1, static_cast<char>('A' + arm - 1));
    arms.levels.push_back(name);
    builder.add_cell(builder.suite().base_record + " " + name, builder.suite().base_record, base,
                     arm == 1 ? "the base" : "nothing: the same configuration again", arm);
  }
  builder.add_contrasts(ablations::replicas(arms));
}

}  // namespace nanobench::suites

/// A plan whose engine only pretends, and whose data nobody reads.
#pragma once

#include <string>
#include <vector>

#include "ablations/catalogue.h"
#include "core/base/json.h"
#include "suites/design/plan.h"

namespace nanobench::suites {

/// `extra` is merged into the suite: "seeds", "records", "limits", ...; `mock` are the mock engine's settings.
inline Plan mock_plan(const std::string& engine_program, const core::Json& mock, const core::Json& extra = {}) {
  core::Json json = {{"name", "mock_history"}, {"design", "history"}, {"records", {"record12", "record13", "record14"}},
                     {"scale", "smoke"},       {"threads", 1},        {"engine", {{"mock", mock}}}};
  if (!extra.is_null()) json.merge_patch(extra);
  const Suite suite = read_suite(json, "mock_history.json");
  core::DataSet data;
  data.name = "none";
  data.digest = "none";
  return make_plan(suite, make_matrix(suite, ablations::Catalogue::embedded()), data, mock_engine({engine_program}),
                   results::machine_info());
}

}  // namespace nanobench::suites

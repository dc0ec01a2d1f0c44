#include "suites/design/suite.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/protocol/run_spec.h"
#include "suites/design/data_source.h"
#include "suites/design/suite_cells.h"

namespace nanobench::suites {
namespace {

using core::Json;
using core::JsonObject;

std::vector<std::uint64_t> read_seeds(JsonObject& object) {
  std::vector<std::uint64_t> seeds;
  for (const Json& item : list_at(object, "seeds")) {
    if (!item.is_number_integer() || item.get<std::int64_t>() < 0)
      object.fail("seeds", "expected whole numbers of at least 0, got " + item.dump());
    const auto seed = item.get<std::uint64_t>();
    if (std::find(seeds.begin(), seeds.end(), seed) != seeds.end())
      object.fail("seeds", "the seed " + std::to_string(seed) + " is there twice; keep one of them");
    seeds.push_back(seed);
  }
  if (object.has("seeds") && seeds.empty()) object.fail("seeds", "expected at least one seed");
  return seeds.empty() ? Suite{}.seeds : seeds;
}

Limits read_limits(JsonObject& object) {
  Limits limits;
  if (object.find("limits") == nullptr) return limits;
  JsonObject nested = object.object("limits");
  constexpr double kYear = 365.0 * 86400;
  if (nested.find("seconds_per_run") != nullptr) limits.seconds_per_run = nested.number("seconds_per_run", 0.01, kYear);
  if (nested.find("silence_seconds") != nullptr) limits.silence_seconds = nested.number("silence_seconds", 0.01, kYear);
  nested.finish();
  return limits;
}

/// An external trainer has no record, scale or data of ours; their keys are unknown keys.
void read_external(JsonObject& object, Suite& suite) {
  suite.external = read_external_trainer(object);
  suite.scale = suite.data = "external";
  read_cells(object, suite);
}

/// "native" or {"mock": {...}}.
Json read_mock(JsonObject& object) {
  const Json* engine = object.find("engine");
  if (engine == nullptr) return nullptr;
  if (engine->is_string()) {
    if (engine->get<std::string>() == "native") return nullptr;
    if (engine->get<std::string>() == "mock") return Json::object();
    object.fail("engine", "expected \"native\", \"mock\" or {\"mock\": {...}}, got " + engine->dump());
  }
  JsonObject nested = object.object("engine");
  const Json mock = nested.at("mock");
  if (!mock.is_object()) nested.fail("mock", "expected an object, got " + std::string(mock.type_name()));
  nested.finish();
  return mock;
}

/// What belongs to our own engines alone.
void read_native(JsonObject& object, Suite& suite) {
  if (object.find("cells") != nullptr)
    object.fail("cells", "only an external trainer has listed cells: {\"engine\": {\"command\": [...]}}");
  for (const Json& feature : list_at(object, "inline_features")) suite.inline_features.push_back(feature);
  suite.scale = object.string_or("scale", suite.scale);
  suite.data = object.string_or("data", suite.data);
  parse_data_request(suite.data, core::json_location(suite.source, "/data"));
  suite.dtype = object.enumeration_or("dtype", suite.dtype);
  suite.threads = static_cast<int>(object.integer_or("threads", 0, 0, 4096));
  suite.device = core::read_device(object);
  suite.kernels = object.enumeration_or("kernels", suite.kernels);
  suite.mock = read_mock(object);
  read_cells(object, suite);
}

}  // namespace

Suite read_suite(const Json& value, const std::string& source) {
  JsonObject object(value, source);
  Suite suite;
  suite.source = source;
  object.find("$schema");
  suite.name = object.string("name");
  if (suite.name.empty()) object.fail("name", "expected a name, got \"\"");
  suite.title = object.string_or("title", suite.name);
  suite.text = object.string_or("text", "");
  suite.design = read_design(object);
  suite.seeds = read_seeds(object);
  suite.order_seed =
      static_cast<std::uint64_t>(object.integer_or("order_seed", 1, 0, std::numeric_limits<std::int64_t>::max()));
  if (object.find("target") != nullptr) suite.target = object.number("target", 0, 100);
  suite.limits = read_limits(object);
  if (is_external_engine(object.find("engine"))) {
    read_external(object, suite);
  } else {
    read_native(object, suite);
  }
  object.finish();
  return suite;
}

Suite read_suite_file(const std::filesystem::path& file) {
  Suite suite = read_suite(core::read_json_file(file), file.string());
  if (!suite.external) suite.data = relative_to(suite.data, file.parent_path());
  return suite;
}

Suite with_overrides(Suite suite, const SuiteOverrides& overrides) {
  if (suite.external && (overrides.scale || overrides.data || overrides.threads || overrides.device ||
                         overrides.kernels || overrides.ranks || overrides.processes)) {
    throw core::Error(core::ErrorCode::kInvalidArgument,
                      suite.source +
                          ": an external trainer takes no --scale, --data, --threads, --device, --kernels, --ranks or "
                          "--processes; put what it needs into its command");
  }
  if (overrides.scale) suite.scale = *overrides.scale;
  if (overrides.seeds) suite.seeds = *overrides.seeds;
  if (overrides.data) {
    parse_data_request(*overrides.data, "--data");
    suite.data = *overrides.data;
  }
  if (overrides.threads) suite.threads = *overrides.threads;
  if (overrides.device) suite.device = *overrides.device;
  if (overrides.kernels) suite.kernels = *overrides.kernels;
  if (overrides.ranks || overrides.processes) {  // together: ranks of the file may not fit processes asked for here
    suite.ranks = overrides.ranks;
    suite.processes = overrides.processes;
  }
  if (overrides.order_seed) suite.order_seed = *overrides.order_seed;
  return suite;
}

}  // namespace nanobench::suites

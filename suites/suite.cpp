#include "suites/suite.h"

#include <algorithm>
#include <limits>
#include <set>

#include "core/base/error.h"
#include "suites/data_source.h"

namespace nanobench::suites {
namespace {

using core::Json;
using core::JsonObject;

const std::vector<std::pair<Design, std::string>>& design_names() {
  static const std::vector<std::pair<Design, std::string>> names = {
      {Design::kHistory, "history"}, {Design::kLeaveOneOut, "leave_one_out"}, {Design::kAddOneIn, "add_one_in"}};
  return names;
}

Design read_design(JsonObject& object) {
  const std::string text = object.string("design");
  std::vector<std::string> known;
  for (const auto& [design, name] : design_names()) {
    if (name == text) return design;
    known.push_back(name);
  }
  object.fail("design", "expected \"history\", \"leave_one_out\" or \"add_one_in\", got \"" + text + "\"" +
                            core::suggestion(text, known));
}

const Json& list_at(JsonObject& object, const std::string& key) {
  static const Json empty = Json::array();
  const Json* value = object.find(key);
  if (value == nullptr) return empty;
  if (!value->is_array()) object.fail(key, "expected a list, got " + std::string(value->type_name()));
  return *value;
}

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

std::vector<FeatureChoice> read_features(JsonObject& object) {
  std::vector<FeatureChoice> choices;
  const Json& list = list_at(object, "features");
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].is_string()) {
      choices.push_back({list[i].get<std::string>(), std::nullopt});
      continue;
    }
    JsonObject choice(list[i], object.source(), object.pointer_to("features") + "/" + std::to_string(i));
    choices.push_back({choice.string("id"), choice.string("value")});
    choice.finish();
  }
  return choices;
}

/// "ranks" and "processes", which every design may have in its base.
void read_participants(JsonObject& base, Suite& suite) {
  constexpr std::int64_t kMost = 1 << 16;
  if (base.find("ranks") != nullptr) suite.ranks = base.integer("ranks", 1, kMost);
  if (base.find("processes") != nullptr) suite.processes = base.integer("processes", 1, kMost);
  if (suite.ranks && suite.processes && *suite.ranks % *suite.processes != 0) {
    base.fail("ranks", "expected a multiple of the " + std::to_string(*suite.processes) + " processes, got " +
                           std::to_string(*suite.ranks));
  }
}

void read_base(JsonObject& object, Suite& suite) {
  JsonObject base = object.object("base");
  suite.base_record = base.string("record");
  read_participants(base, suite);
  if (base.find("features") != nullptr) {
    JsonObject settings = base.object("features");
    for (const auto& [id, value] : base.at("features").items()) suite.base_features[id] = settings.string(id);
  }
  if (const Json* patch = base.find("patch")) {
    if (!patch->is_object()) base.fail("patch", "expected an object, got " + std::string(patch->type_name()));
    suite.base_patch = *patch;
  }
  base.finish();
}

/// The keys that belong to the design; those of another design are unknown keys.
void read_cells(JsonObject& object, Suite& suite) {
  if (suite.design == Design::kHistory) {
    object.find("records");
    if (object.find("base") != nullptr) {
      JsonObject base = object.object("base");
      read_participants(base, suite);
      base.finish();
    }
    object.finish();  // all else has been read: a misspelt "records" is said as such, not as missing
    suite.records = object.strings_or_empty("records");
    if (suite.records.empty()) object.fail("records", "the design \"history\" needs a list of records");
    if (std::set<std::string>(suite.records.begin(), suite.records.end()).size() != suite.records.size())
      object.fail("records", "a record is there twice; keep one of them");
    return;
  }
  read_base(object, suite);
  suite.features = read_features(object);
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

}  // namespace

std::string to_string(Design design) {
  for (const auto& [value, name] : design_names()) {
    if (value == design) return name;
  }
  return "";
}

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
  for (const Json& feature : list_at(object, "inline_features")) suite.inline_features.push_back(feature);
  suite.scale = object.string_or("scale", suite.scale);
  suite.seeds = read_seeds(object);
  suite.data = object.string_or("data", suite.data);
  parse_data_request(suite.data, core::json_location(source, "/data"));
  suite.dtype = object.string_or("dtype", suite.dtype);
  if (suite.dtype != "float32" && suite.dtype != "float64")
    object.fail("dtype", "expected \"float32\" or \"float64\", got \"" + suite.dtype + "\"");
  suite.threads = static_cast<int>(object.integer_or("threads", 0, 0, 4096));
  suite.order_seed =
      static_cast<std::uint64_t>(object.integer_or("order_seed", 1, 0, std::numeric_limits<std::int64_t>::max()));
  if (object.find("target") != nullptr) suite.target = object.number("target", 0, 100);
  suite.limits = read_limits(object);
  suite.mock = read_mock(object);
  read_cells(object, suite);
  object.finish();
  return suite;
}

Suite read_suite_file(const std::filesystem::path& file) {
  Suite suite = read_suite(core::read_json_file(file), file.string());
  suite.data = relative_to(suite.data, file.parent_path());
  return suite;
}

Suite with_overrides(Suite suite, const SuiteOverrides& overrides) {
  if (overrides.scale) suite.scale = *overrides.scale;
  if (overrides.seeds) suite.seeds = *overrides.seeds;
  if (overrides.data) {
    parse_data_request(*overrides.data, "--data");
    suite.data = *overrides.data;
  }
  if (overrides.threads) suite.threads = *overrides.threads;
  if (overrides.ranks || overrides.processes) {  // together: ranks of the file may not fit processes asked for here
    suite.ranks = overrides.ranks;
    suite.processes = overrides.processes;
  }
  if (overrides.order_seed) suite.order_seed = *overrides.order_seed;
  return suite;
}

}  // namespace nanobench::suites

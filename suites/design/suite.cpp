#include "suites/design/suite.h"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_set>

#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"
#include "core/protocol/run_spec.h"
#include "suites/design/grid_table.h"

namespace nanobench::suites {
namespace {

using core::Json;
using core::JsonObject;
using core::Reason;

/// The list at `key`; empty if absent.
const Json& list_at(JsonObject& object, const std::string& key) {
  static const Json empty = Json::array();
  const Json* value = object.find(key);
  if (value == nullptr) return empty;
  if (!value->is_array())
    object.fail(key, Reason::kWrongType, "expected a list, got " + std::string(value->type_name()));
  return *value;
}

bool is_factorial(Design design) {
  return design == Design::kFactorial || design == Design::kFractionalFactorial;
}

/// {"id", "value"}; in factorials also {"id", "values"}.
FeatureChoice read_choice(JsonObject& choice, Design design) {
  FeatureChoice feature;
  feature.id = choice.string("id");
  if (is_factorial(design) && choice.find("values") != nullptr) {
    feature.values = choice.strings_or_empty("values");
    const std::set<std::string> distinct(feature.values.begin(), feature.values.end());
    if (distinct.size() != feature.values.size())
      choice.fail("values", Reason::kRepeated, "a value appears twice; keep one of them");
    if (design == Design::kFractionalFactorial && feature.values.size() != 2)
      choice.fail("values", Reason::kWrongLength, "expected two values, got " + std::to_string(feature.values.size()));
    if (feature.values.size() < 2) choice.fail("values", Reason::kWrongLength, "expected at least two values");
  } else {
    feature.value = choice.string("value");
  }
  choice.finish();
  return feature;
}

std::vector<FeatureChoice> read_features(JsonObject& object, Design design) {
  const bool may_repeat = design == Design::kLeaveOneOut || design == Design::kAddOneIn;  // with different values
  std::vector<FeatureChoice> choices;
  const Json& list = list_at(object, "features");
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].is_string()) {
      choices.push_back({.id = list[i].get<std::string>()});
    } else {
      JsonObject choice(list[i], object.source(), object.pointer_to("features") + "/" + std::to_string(i));
      choices.push_back(read_choice(choice, design));
    }
    const auto is_same = [&](const FeatureChoice& other) {
      return other.id == choices.back().id && (!may_repeat || other.value == choices.back().value);
    };
    if (std::count_if(choices.begin(), choices.end(), is_same) > 1)
      object.fail("features", Reason::kRepeated, choices.back().id + " appears twice; keep one of them");
  }
  return choices;
}

/// "ranks" and "processes", which every design may have in its base.
void read_participants(JsonObject& base, Suite& suite) {
  constexpr std::int64_t kMax = 1 << 16;
  if (base.find("ranks") != nullptr) suite.ranks = base.integer("ranks", 1, kMax);
  if (base.find("processes") != nullptr) suite.processes = base.integer("processes", 1, kMax);
  if (suite.ranks && suite.processes && *suite.ranks % *suite.processes != 0) {
    base.fail("ranks", Reason::kNoMultiple,
              "expected a multiple of the " + std::to_string(*suite.processes) + " processes, got " +
                  std::to_string(*suite.ranks));
  }
}

/// What the runs of the suite do besides training.
void read_run_settings(JsonObject& object, Suite& suite) {
  if (object.find("run") == nullptr) return;
  JsonObject nested = object.object("run");
  if (nested.find("keep_weights") != nullptr)
    suite.keep_weights = nested.enumeration<results::KeepWeights>("keep_weights");
  if (const Json* evaluations = nested.find("evaluations"))
    suite.evaluations = read_evaluation_requests(*evaluations, suite.source, object.pointer_to("run") + "/evaluations");
  if (!suite.evaluations.empty() && !suite.mock.is_null())
    nested.fail("evaluations", Reason::kExcluded, "the mock engine has no model that answers; use the native one");
  nested.finish();
}

/// An external trainer has no record: its base is the command, with the named features at other values.
void read_external_base(JsonObject& object, Suite& suite) {
  if (object.find("base") == nullptr) return;
  JsonObject base = object.object("base");
  suite.base_features = base.named_strings_or_empty("features");
  base.finish();
}

void read_base(JsonObject& object, Suite& suite) {
  if (suite.external) return read_external_base(object, suite);
  JsonObject base = object.object("base");
  suite.base_record = base.string("record");
  read_participants(base, suite);
  suite.base_features = base.named_strings_or_empty("features");
  if (const Json* patch = base.find("patch")) {
    if (!patch->is_object())
      base.fail("patch", Reason::kWrongType, "expected an object, got " + std::string(patch->type_name()));
    suite.base_patch = *patch;
  }
  base.finish();
}

void read_records(JsonObject& object, Suite& suite) {
  object.find("records");
  if (object.find("base") != nullptr) {
    JsonObject base = object.object("base");
    read_participants(base, suite);
    base.finish();
  }
  object.finish();  // all else has been read, so a misspelt "records" is reported as unknown, not as missing
  suite.records = object.strings_or_empty("records");
  if (suite.records.empty()) object.fail("records", Reason::kEmpty, "the design \"history\" needs a list of records");
  if (std::set<std::string>(suite.records.begin(), suite.records.end()).size() != suite.records.size())
    object.fail("records", Reason::kRepeated, "a record appears twice; keep one of them");
}

void read_claims(JsonObject& object, Suite& suite) {
  if (suite.external)
    object.fail("design", Reason::kExcluded, "\"claims\" are about our engine, not an external trainer");
  suite.claims = object.strings_or_empty("claims");
  if (std::set<std::string>(suite.claims.begin(), suite.claims.end()).size() != suite.claims.size())
    object.fail("claims", Reason::kRepeated, "a claim appears twice; keep one of them");
}

Axis read_axis(JsonObject& object, bool is_external) {
  Axis axis;
  if (is_external && object.has("path"))
    object.fail("path", Reason::kExcluded,
                "an external trainer's settings are not known; name a \"feature\" of the engine");
  if (object.has("feature") == object.has("path"))
    object.fail("", Reason::kAmbiguous, "an axis has either a \"feature\" or a \"path\" to one setting");
  if (object.has("feature")) {
    axis.feature = object.string("feature");
  } else {
    axis.path = object.string("path");
    if (axis.path.size() < 2 || axis.path[0] != '/' || axis.path.back() == '/')
      object.fail("path", Reason::kMalformed,
                  "expected a JSON pointer such as \"/optimizer/hidden_matrices/lr\", got \"" + axis.path + "\"");
  }
  for (const Json& value : list_at(object, "values")) {
    if (!axis.feature.empty() && !value.is_string())
      object.fail("values", Reason::kWrongType, "expected names of the feature's values, got " + value.dump());
    if (value.is_object()) object.fail("values", Reason::kWrongType, "expected values of one setting, got an object");
    if (std::count(axis.values.begin(), axis.values.end(), value) > 0)
      object.fail("values", Reason::kRepeated, "the value " + value.dump() + " appears twice; keep one of them");
    axis.values.push_back(value);
  }
  if (axis.values.empty()) object.fail("values", Reason::kEmpty, "expected at least one value");
  object.finish();
  return axis;
}

void read_axes(JsonObject& object, Suite& suite) {
  const Json& list = list_at(object, "axes");
  for (std::size_t i = 0; i < list.size(); ++i) {
    JsonObject axis(list[i], object.source(), object.pointer_to("axes") + "/" + std::to_string(i));
    suite.axes.push_back(read_axis(axis, suite.external.has_value()));
    const auto is_same = [&](const Axis& other) {
      return other.feature == suite.axes.back().feature && other.path == suite.axes.back().path;
    };
    if (std::count_if(suite.axes.begin(), suite.axes.end(), is_same) > 1)
      object.fail("axes", Reason::kRepeated,
                  suite.axes.back().feature + suite.axes.back().path + " appears twice; keep one of them");
  }
}

/// Reads the keys of the suite's design; those of other designs stay unknown keys. An external trainer is read before.
void read_cells(JsonObject& object, Suite& suite) {
  constexpr std::int64_t kMax = 1 << 20;
  const bool is_listed = suite.design == Design::kCells || suite.design == Design::kHistory;
  if (suite.design == Design::kCells && !suite.external)
    object.fail("design", Reason::kExcluded,
                "\"cells\" is for an external trainer: {\"engine\": {\"command\": [...]}}");
  if (suite.design == Design::kHistory && !suite.external) return read_records(object, suite);
  if (suite.design == Design::kClaims) return read_claims(object, suite);
  read_base(object, suite);
  if (is_listed) return read_external_cells(object, *suite.external);
  if (suite.design == Design::kSweep) {
    read_axes(object, suite);
    object.finish();  // a misspelt "axes" is reported as unknown
    if (suite.axes.empty()) object.fail("axes", Reason::kEmpty, "the design \"sweep\" needs at least one axis");
    return;
  }
  if (suite.design == Design::kAA) {
    suite.arms = object.integer_or("arms", suite.arms, 2, 26);
    return;
  }
  suite.features = read_features(object, suite.design);
  if (suite.design == Design::kScreening && object.find("runs") != nullptr)
    suite.runs = object.integer("runs", kMinScreeningCells, static_cast<std::int64_t>(kMaxCells));
  if (suite.design != Design::kFractionalFactorial) return;
  if (object.find("runs") != nullptr) suite.runs = object.integer("runs", 2, kMax);
  if (object.find("resolution") != nullptr) suite.resolution = object.integer("resolution", 3, 16);
  if (suite.runs && suite.resolution)
    object.fail("resolution", Reason::kExcluded, "\"runs\" is given too; keep one of them");
}

std::vector<std::uint64_t> read_seeds(JsonObject& object) {
  std::vector<std::uint64_t> seeds;
  std::unordered_set<std::uint64_t> known;
  for (const Json& item : list_at(object, "seeds")) {
    const auto seed = core::integer_of<std::int64_t>(item);
    if (!seed || *seed < 0)
      object.fail("seeds", Reason::kOutOfRange,
                  "expected whole numbers from 0 to " + std::to_string(INT64_MAX) + ", got " + item.dump());
    if (!known.insert(static_cast<std::uint64_t>(*seed)).second)
      object.fail("seeds", Reason::kRepeated, "the seed " + std::to_string(*seed) + " appears twice; keep one of them");
    seeds.push_back(static_cast<std::uint64_t>(*seed));
  }
  if (object.has("seeds") && seeds.empty()) object.fail("seeds", Reason::kEmpty, "expected at least one seed");
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
  suite.scale = "external";
  read_cells(object, suite);
}

/// "native" or {"mock": {...}}.
Json read_mock(JsonObject& object) {
  const Json* engine = object.find("engine");
  if (engine == nullptr) return nullptr;
  if (engine->is_string()) {
    if (engine->get<std::string>() == "native") return nullptr;
    if (engine->get<std::string>() == "mock") return Json::object();
    object.fail("engine", Reason::kUnknownName,
                "expected \"native\", \"mock\" or {\"mock\": {...}}, got " + engine->dump());
  }
  JsonObject nested = object.object("engine");
  const Json mock = nested.at("mock");
  if (!mock.is_object())
    nested.fail("mock", Reason::kWrongType, "expected an object, got " + std::string(mock.type_name()));
  nested.finish();
  return mock;
}

constexpr const char* kNoModel = "the mock engine trains no model to measure; leave it out";

/// Reads what only our own engines have.
void read_native(JsonObject& object, Suite& suite) {
  if (object.find("cells") != nullptr)
    object.fail("cells", Reason::kExcluded,
                "only an external trainer has listed cells: {\"engine\": {\"command\": [...]}}");
  for (const Json& feature : list_at(object, "inline_features")) suite.inline_features.push_back(feature);
  suite.scale = object.string_or("scale", suite.scale);
  suite.data = parse_data_request(object.string_or("data", "synthetic"), core::json_location(suite.source, "/data"));
  suite.dtype = object.enumeration_or("dtype", suite.dtype);
  suite.threads = static_cast<int>(object.integer_or("threads", 0, 0, 4096));
  suite.device = core::read_device(object);
  suite.kernels = object.enumeration_or("kernels", suite.kernels);
  suite.metrics = core::read_asked_metrics(object);
  suite.health_every = core::read_health_every(object, suite.metrics);
  suite.mock = read_mock(object);
  read_run_settings(object, suite);
  if (!suite.mock.is_null() && !suite.metrics.empty()) object.fail("metrics", Reason::kExcluded, kNoModel);
  read_cells(object, suite);
}

}  // namespace

Suite read_suite(const Json& value, const std::string& source) {
  JsonObject object(value, source);
  Suite suite;
  suite.source = source;
  object.find("$schema");
  suite.name = object.string("name");
  if (suite.name.empty()) object.fail("name", Reason::kEmpty, "expected a name, got \"\"");
  suite.title = object.string_or("title", suite.name);
  suite.text = object.string_or("text", "");
  suite.design = object.enumeration<Design>("design");
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
  suite.data = relative_to(std::move(suite.data), file.parent_path());
  for (EvaluationRequest& evaluation : suite.evaluations)
    evaluation = relative_to(std::move(evaluation), file.parent_path());
  return suite;
}

Suite with_overrides(Suite suite, const SuiteOverrides& overrides) {
  if (suite.external &&
      (overrides.scale || overrides.data || overrides.threads || overrides.device || overrides.kernels ||
       overrides.metrics || overrides.health_every || overrides.ranks || overrides.processes)) {
    throw core::Refusal(
        core::ErrorCode::kInvalidArgument, Reason::kExcluded,
        suite.source +
            ": an external trainer takes no --scale, --data, --threads, --device, --kernels, --metrics, "
            "--health-every, --ranks or --processes; put what it needs into its command",
        suite.source);
  }
  const bool changes_cells =
      overrides.scale || overrides.threads || overrides.device || overrides.ranks || overrides.processes;
  if (changes_cells && !suite.as_written) suite.as_written = std::make_shared<const Suite>(suite);
  if (overrides.scale) suite.scale = *overrides.scale;
  if (overrides.seeds) suite.seeds = *overrides.seeds;
  if (overrides.data) suite.data = *overrides.data;
  if (overrides.threads) suite.threads = *overrides.threads;
  if (overrides.device) suite.device = *overrides.device;
  if (overrides.kernels) suite.kernels = *overrides.kernels;
  if (overrides.metrics) suite.metrics = *overrides.metrics;
  if (overrides.health_every) suite.health_every = overrides.health_every;
  if (!suite.metrics.contains(core::AskedMetric::kHealth)) {
    if (overrides.health_every)
      throw core::Refusal(core::ErrorCode::kInvalidArgument, Reason::kInactive, "--health-every: add --metrics health",
                          "--health-every");
    suite.health_every.reset();  // the command leaves the suite's metric out
  }
  if (!suite.mock.is_null() && !suite.metrics.empty())
    throw core::Refusal(core::ErrorCode::kInvalidArgument, Reason::kExcluded, std::string("--metrics: ") + kNoModel,
                        "--metrics");
  if (overrides.ranks || overrides.processes) {  // together: the file's ranks may not fit the processes requested here
    suite.ranks = overrides.ranks;
    suite.processes = overrides.processes;
  }
  if (overrides.order_seed) suite.order_seed = *overrides.order_seed;
  return suite;
}

}  // namespace nanobench::suites

#include "tools/cli/suite_json.h"

#include <algorithm>
#include <filesystem>

#include "core/base/error.h"
#include "suites/design/data_source.h"
#include "tools/cli/options.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;
using core::OrderedJson;

[[noreturn]] void fail(const std::string& option, const std::string& text, const std::string& detail) {
  throw Error(ErrorCode::kInvalidArgument, option + " " + text + ": " + detail);
}

/// "a,b": no empty parts.
std::vector<std::string> parts_of(const std::string& option, const std::string& text) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    parts.push_back(text.substr(start, end - start));
    if (parts.back().empty()) fail(option, text, "expected names with one comma between them");
    start = end + 1;
  }
  return parts;
}

/// "a=x".
std::pair<std::string, std::string> assignment_of(const std::string& option, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    fail(option, text, "expected NAME=VALUE, such as logit_softcap=30");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// "record:17" is record17.
std::string record_of(const std::string& text) {
  constexpr std::string_view kPrefix = "record:";
  return text.starts_with(kPrefix) ? "record" + text.substr(kPrefix.size()) : text;
}

/// Values of each feature that --values names, in the order of naming.
std::vector<std::pair<std::string, std::vector<std::string>>> values_of(const SuiteRequest& request) {
  std::vector<std::pair<std::string, std::vector<std::string>>> values;
  if (request.values.empty()) return values;
  for (const std::string& part : parts_of("--values", request.values)) {
    const auto [id, value] = assignment_of("--values", part);
    const std::string& name = id;
    const auto known = std::find_if(values.begin(), values.end(), [&](const auto& item) { return item.first == name; });
    if (known == values.end()) {
      values.emplace_back(id, std::vector<std::string>{value});
    } else {
      known->second.push_back(value);
    }
  }
  return values;
}

/// "features": the ids, those of --values with theirs; ids that only --values names come last.
OrderedJson features_of(const SuiteRequest& request) {
  const auto values = values_of(request);
  std::vector<std::string> ids;
  if (!request.features.empty() && request.features != "all") ids = parts_of("--features", request.features);
  if (request.features == "all" && !values.empty())
    fail("--values", request.values, "--features all takes every feature as it is; name the features instead");
  for (const auto& [id, unused] : values) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  OrderedJson list = OrderedJson::array();
  for (const std::string& id : ids) {
    const auto found = std::find_if(values.begin(), values.end(), [&](const auto& item) { return item.first == id; });
    if (found == values.end()) {
      list.push_back(id);
    } else if (found->second.size() == 1) {
      list.push_back({{"id", id}, {"value", found->second[0]}});
    } else {
      list.push_back({{"id", id}, {"values", found->second}});
    }
  }
  return list;
}

OrderedJson axis_of(const std::string& text) {
  const auto [name, values] = assignment_of("--axis", text);
  const bool is_path = name[0] == '/';
  OrderedJson axis = {{is_path ? "path" : "feature", name}, {"values", OrderedJson::array()}};
  for (const std::string& value : parts_of("--axis", values)) {
    const Json number = is_path ? Json::parse(value, nullptr, false) : Json(value);
    axis["values"].push_back(number.is_discarded() ? OrderedJson(value) : OrderedJson(number));
  }
  return axis;
}

OrderedJson base_of(const SuiteRequest& request, const suites::SuiteOverrides& overrides) {
  OrderedJson base = OrderedJson::object();
  if (request.design != "history") {
    if (request.base.empty()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "--base is missing: name the record that the cells are based on, such as --base record:17");
    }
    base["record"] = record_of(request.base);
    for (const auto& [id, value] : parse_settings(request.settings)) base["features"][id] = value;
  }
  if (overrides.ranks) base["ranks"] = *overrides.ranks;
  if (overrides.processes) base["processes"] = *overrides.processes;
  return base;
}

/// Options of another design would do nothing.
void check_options(const SuiteRequest& request) {
  const auto refuse = [&](bool is_given, const char* option, std::initializer_list<const char*> designs) {
    const auto is_own = [&](const char* design) { return request.design == design; };
    if (!is_given || std::any_of(designs.begin(), designs.end(), is_own)) return;
    throw Error(ErrorCode::kInvalidArgument, std::string(option) + " has no meaning in the design \"" + request.design +
                                                 "\"; it belongs to \"" + *designs.begin() + "\"");
  };
  const std::vector<std::string> known = enum_names<suites::Design>();
  if (std::find(known.begin(), known.end(), request.design) == known.end()) {
    std::string names;
    for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
    fail("--design", request.design, "expected one of " + names + core::suggestion(request.design, known));
  }
  const auto with_features = {"leave_one_out", "add_one_in", "factorial", "fractional_factorial", "pairs"};
  refuse(!request.features.empty(), "--features", with_features);
  refuse(!request.values.empty(), "--values", with_features);
  refuse(!request.axes.empty(), "--axis", {"sweep"});
  refuse(!request.records.empty(), "--records", {"history"});
  refuse(request.runs.has_value(), "--runs", {"fractional_factorial"});
  refuse(request.resolution.has_value(), "--resolution", {"fractional_factorial"});
  refuse(request.arms.has_value(), "--arms", {"a_a"});
  if (request.design == "history" && (!request.base.empty() || !request.settings.empty()))
    throw Error(ErrorCode::kInvalidArgument,
                "--base and --set have no meaning in the design \"history\"; --records has");
  const bool has_features = std::find_if(with_features.begin(), with_features.end(), [&](const char* design) {
                              return request.design == design;
                            }) != with_features.end();
  if (has_features && request.features.empty() && request.values.empty())
    throw Error(ErrorCode::kInvalidArgument, "--features is missing: name some, or say --features all");
}

void add_cells(OrderedJson& json, const SuiteRequest& request) {
  if (request.design == "sweep") {
    json["axes"] = OrderedJson::array();
    for (const std::string& axis : request.axes) json["axes"].push_back(axis_of(axis));
  } else if (request.design == "history") {
    json["records"] = OrderedJson::array();
    if (!request.records.empty()) {
      for (const std::string& record : parts_of("--records", request.records))
        json["records"].push_back(record_of(record));
    }
  } else if (request.design != "a_a") {
    const OrderedJson features = features_of(request);
    if (!features.empty()) json["features"] = features;
  }
  if (request.runs) json["runs"] = *request.runs;
  if (request.resolution) json["resolution"] = *request.resolution;
  if (request.arms) json["arms"] = *request.arms;
}

OrderedJson engine_of(const std::string& text) {
  if (!text.starts_with("{")) return text;
  const Json settings = core::parse_json(text, "--engine");
  return settings.contains("mock") && settings.size() == 1 ? OrderedJson(settings)
                                                           : OrderedJson{{"mock", OrderedJson(settings)}};
}

std::string title_of(const SuiteRequest& request) {
  if (request.design == "history") return "Records " + request.records;
  std::string title = record_of(request.base) + ", " + request.design;
  if (!request.features.empty()) title += " of " + request.features;
  for (const std::string& axis : request.axes) title += " " + axis;
  return title;
}

}  // namespace

OrderedJson suite_json(const SuiteRequest& request, const suites::SuiteOverrides& overrides, const std::string& file) {
  check_options(request);
  OrderedJson json;
  json["name"] = !request.name.empty() ? request.name
                 : file.empty()        ? "ablate"
                                       : std::filesystem::path(file).stem().string();
  json["title"] = title_of(request);
  json["design"] = request.design;
  if (const OrderedJson base = base_of(request, overrides); !base.empty()) json["base"] = base;
  add_cells(json, request);
  json["scale"] = overrides.scale.value_or("nano");
  json["seeds"] = overrides.seeds.value_or(suites::Suite{}.seeds);
  // A file's own paths are relative to it, those of a command to where it was typed.
  json["data"] = suites::relative_to(overrides.data.value_or("synthetic"), std::filesystem::current_path());
  if (overrides.threads) json["threads"] = *overrides.threads;
  if (overrides.device) json["device"] = to_string(*overrides.device);
  if (overrides.kernels) json["kernels"] = enum_name(*overrides.kernels);
  if (!request.engine.empty()) json["engine"] = engine_of(request.engine);
  return json;
}

}  // namespace nanobench::tools

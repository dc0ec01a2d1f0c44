#include "suites/external_suite.h"

#include <algorithm>
#include <set>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "suites/plan.h"
#include "suites/suite.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::Json;
using core::JsonObject;

const ExternalFeature* find_feature(const ExternalTrainer& trainer, const std::string& id) {
  const auto found =
      std::find_if(trainer.features.begin(), trainer.features.end(), [&](const auto& item) { return item.id == id; });
  return found == trainer.features.end() ? nullptr : &*found;
}

std::vector<std::string> ids_of(const ExternalTrainer& trainer) {
  std::vector<std::string> ids;
  for (const ExternalFeature& feature : trainer.features) ids.push_back(feature.id);
  return ids;
}

/// Calls `replace` with each name in braces and puts its answer there; "{{" and "}}" stand for braces, and stay as they
/// are for a later round with `is_last` false.
template <class Replace>
std::string filled(const std::string& text, Replace replace, bool is_last = true) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_double = i + 1 < text.size() && text[i + 1] == text[i] && (text[i] == '{' || text[i] == '}');
    if (is_double) ++i;
    const std::size_t end = text[i] == '{' && !is_double ? text.find('}', i) : std::string::npos;
    if (end == std::string::npos) {
      out += is_double && !is_last ? std::string(2, text[i]) : std::string(1, text[i]);
    } else {
      out += replace(text.substr(i + 1, end - i - 1));
      i = end;
    }
  }
  return out;
}

std::string with_braces_kept(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
  return out;
}

std::vector<std::pair<std::string, std::string>> read_values(JsonObject& object) {
  const Json& json = object.at("values");
  std::vector<std::pair<std::string, std::string>> values;
  if (json.is_array()) {
    for (const std::string& text : object.strings_or_empty("values")) values.emplace_back(text, text);
  } else {
    JsonObject names = object.object("values");
    for (const auto& [name, unused] : json.items()) values.emplace_back(name, names.string(name));
  }
  std::set<std::string> distinct;
  for (const auto& [name, text] : values) distinct.insert(name);
  if (values.size() < 2 || distinct.size() != values.size())
    object.fail("values", "expected at least two values, each once");
  return values;
}

ExternalFeature read_feature(const std::string& id, JsonObject object) {
  ExternalFeature feature{.id = id};
  feature.title = object.string_or("title", id);
  feature.values = read_values(object);
  const bool is_list = object.at("values").is_array();  // only a list has a first and a last one
  feature.before = is_list ? object.string_or("before", feature.values.front().first) : object.string("before");
  feature.after = is_list ? object.string_or("after", feature.values.back().first) : object.string("after");
  for (const char* key : {"before", "after"}) {
    const std::string& value = std::string(key) == "before" ? feature.before : feature.after;
    if (feature.text_of(value) == nullptr) object.fail(key, "\"" + value + "\" is none of the values");
  }
  if (feature.before == feature.after) object.fail("after", "is the same value as before");
  object.finish();
  return feature;
}

ExternalCell read_cell(const ExternalTrainer& trainer, JsonObject object) {
  ExternalCell cell{.label = object.string("label")};
  if (cell.label.empty()) object.fail("label", "expected a name, got \"\"");
  if (object.find("values") != nullptr) {
    JsonObject values = object.object("values");
    for (const auto& [id, unused] : object.at("values").items()) {
      const ExternalFeature* feature = find_feature(trainer, id);
      if (feature == nullptr) values.fail(id, "the engine has no such feature" + core::suggestion(id, ids_of(trainer)));
      cell.values[id] = values.string(id);
      if (feature->text_of(cell.values[id]) == nullptr)
        values.fail(id, "\"" + cell.values[id] + "\" is none of the feature's values");
    }
  }
  object.finish();
  return cell;
}

void read_cells(JsonObject& suite, ExternalTrainer& trainer) {
  const Json& list = suite.at("cells");
  if (!list.is_array() || list.empty()) suite.fail("cells", "expected a list with at least one cell");
  std::set<std::string> labels;
  for (std::size_t i = 0; i < list.size(); ++i) {
    trainer.cells.push_back(
        read_cell(trainer, JsonObject(list[i], suite.source(), suite.pointer_to("cells") + "/" + std::to_string(i))));
    if (!labels.insert(trainer.cells.back().label).second)
      suite.fail("cells", "the label \"" + trainer.cells.back().label + "\" is there twice");
  }
}

/// Every name in braces must mean something, and every feature must be named: a cell that changes nothing is a mistake.
void check_templates(JsonObject& engine, const ExternalTrainer& trainer) {
  std::set<std::string> used;
  const auto check = [&](const char* key, const std::string& text) {
    filled(text, [&](const std::string& name) -> std::string {
      const bool is_feature = name.rfind("feature:", 0) == 0;
      if (is_feature && find_feature(trainer, name.substr(8)) != nullptr) {
        used.insert(name.substr(8));
      } else if (name != "seed" && name != "cell") {
        engine.fail(key, "{" + name + "} is unknown; expected {feature:ID}, {seed} or {cell}, and {{ for a brace" +
                             (is_feature ? core::suggestion(name.substr(8), ids_of(trainer)) : ""));
      }
      return "";
    });
  };
  for (const std::string& word : trainer.command) check("command", word);
  for (const auto& [name, text] : trainer.env) check("env", text);
  for (const ExternalFeature& feature : trainer.features) {
    if (!used.contains(feature.id))
      engine.fail("features",
                  "nothing uses {feature:" + feature.id + "} in command or env, so it would change nothing");
  }
}

/// Digests of the files that the command names, as seen from the folder.
Json files_of(const std::vector<std::string>& words, const fs::path& folder) {
  Json files = Json::object();
  for (const std::string& word : words) {
    const fs::path file = folder / word;
    std::error_code ignored;
    if (!word.empty() && fs::is_regular_file(file, ignored)) files[word] = core::digest_of_file(file);
  }
  return files;
}

std::map<std::string, std::string> all_after(const ExternalTrainer& trainer) {
  std::map<std::string, std::string> values;
  for (const ExternalFeature& feature : trainer.features) values[feature.id] = feature.after;
  return values;
}

class ExternalMatrix {
 public:
  explicit ExternalMatrix(const Suite& suite) : suite_(suite), trainer_(*suite.external) {}

  Matrix build() {
    switch (suite_.design) {
      case Design::kCells: add_listed(); break;
      case Design::kLeaveOneOut: add_one_at_a_time(all_after(trainer_), "without ", &ExternalFeature::before); break;
      case Design::kAddOneIn: add_from_before(); break;
      default: break;  // read_suite refuses the others
    }
    add_contrasts();
    return std::move(matrix_);
  }

 private:
  /// Each cell against the first. Without a feature, the effect is of having it, so the first one less the other.
  void add_contrasts() {
    const bool is_reversed = suite_.design == Design::kLeaveOneOut;
    for (std::size_t i = 1; i < matrix_.cells.size(); ++i) {
      const std::string &first = matrix_.cells.front().label, &label = matrix_.cells[i].label;
      const std::string effect = suite_.design == Design::kCells ? label : trainer_.features[i - 1].id;
      matrix_.contrasts.push_back(
          {.effect = effect,
           .kind = "simple",
           .meaning = is_reversed ? first + " less " + label : label + " less " + first,
           .coefficients = {{first, is_reversed ? 1.0 : -1.0}, {label, is_reversed ? -1.0 : 1.0}},
           .aliases = {}});
    }
  }

  void add_listed() {
    for (const ExternalCell& cell : trainer_.cells) {
      std::map<std::string, std::string> values = all_after(trainer_);
      std::string changed;
      for (const auto& [id, value] : cell.values) {
        values[id] = value;
        changed += (changed.empty() ? "" : "; ") + id + " = " + value;
      }
      add(cell.label, values, changed.empty() ? "as the command is" : changed);
    }
  }

  void add_from_before() {
    std::map<std::string, std::string> values;
    for (const ExternalFeature& feature : trainer_.features) values[feature.id] = feature.before;
    add_one_at_a_time(values, "with ", &ExternalFeature::after);
  }

  void add_one_at_a_time(const std::map<std::string, std::string>& base, const std::string& prefix,
                         std::string ExternalFeature::*turned) {
    add("base", base, "the base");
    for (const ExternalFeature& feature : trainer_.features) {
      std::map<std::string, std::string> values = base;
      values[feature.id] = feature.*turned;
      add(prefix + feature.id, values, feature.title + ": " + base.at(feature.id) + " -> " + feature.*turned);
    }
  }

  void add(const std::string& label, const std::map<std::string, std::string>& values, const std::string& changed) {
    const auto value_of = [&](const std::string& name) -> std::string {
      if (name == "seed") return "{seed}";
      if (name == "cell") return with_braces_kept(label);
      const std::string id = name.substr(std::string("feature:").size());
      return with_braces_kept(*find_feature(trainer_, id)->text_of(values.at(id)));
    };
    const auto fill = [&](const std::string& text) { return filled(text, value_of, false); };
    std::vector<std::string> command;
    for (const std::string& word : trainer_.command) command.push_back(fill(word));
    Json env = Json::object();
    for (const auto& [name, text] : trainer_.env) env[name] = fill(text);
    Cell cell;
    cell.label = label;
    cell.features = values;
    cell.changed = changed;
    if (trainer_.steps) {
      cell.config.run.stop_after = *trainer_.steps;
      cell.config.schedule.num_steps = std::max(cell.config.schedule.num_steps, *trainer_.steps);
    }
    cell.external = {{"command", command},
                     {"env", env},
                     {"folder", trainer_.folder.string()},
                     {"files", files_of(command, trainer_.folder)}};
    matrix_.cells.push_back(std::move(cell));
  }

  const Suite& suite_;
  const ExternalTrainer& trainer_;
  Matrix matrix_;
};

}  // namespace

const std::string* ExternalFeature::text_of(const std::string& value) const {
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& item) { return item.first == value; });
  return found == values.end() ? nullptr : &found->second;
}

bool is_external_engine(const Json* engine) {
  return engine != nullptr && engine->is_object() && engine->contains("command");
}

ExternalTrainer read_external_trainer(JsonObject& suite, bool has_cells) {
  JsonObject engine = suite.object("engine");
  ExternalTrainer trainer;
  trainer.folder = fs::absolute(fs::path(suite.source())).parent_path();
  engine.at("command");
  trainer.command = engine.strings_or_empty("command");
  if (trainer.command.empty() || trainer.command.front().empty())
    engine.fail("command", "expected the program and its arguments, such as [\"python3\", \"train.py\"]");
  if (const std::string log = engine.string_or("log", "speedrun"); log != "speedrun")
    engine.fail("log", "expected \"speedrun\", got \"" + log + "\"");
  if (engine.find("env") != nullptr) {
    JsonObject env = engine.object("env");
    for (const auto& [name, unused] : engine.at("env").items()) trainer.env[name] = env.string(name);
  }
  if (engine.find("features") != nullptr) {
    JsonObject features = engine.object("features");
    for (const auto& [id, unused] : engine.at("features").items())
      trainer.features.push_back(read_feature(id, features.object(id)));
  }
  if (engine.find("steps") != nullptr) trainer.steps = engine.integer("steps", 1, 1'000'000'000);
  check_templates(engine, trainer);
  engine.finish();
  if (has_cells) {
    read_cells(suite, trainer);
  } else if (trainer.features.empty()) {
    engine.fail("features", "the design needs at least one feature");
  }
  return trainer;
}

Matrix make_external_matrix(const Suite& suite) {
  return ExternalMatrix(suite).build();
}

Json external_settings(const Json& cell_settings, std::uint64_t seed) {
  Json settings = cell_settings;
  const auto fill = [&](Json& text) {
    text = filled(text.get<std::string>(), [&](const std::string&) { return std::to_string(seed); });
  };
  for (Json& word : settings.at("command")) fill(word);
  for (auto& [name, text] : settings.at("env").items()) fill(text);
  return settings;
}

Engine external_engine(const Suite& suite, std::vector<std::string> command) {
  const ExternalTrainer& trainer = *suite.external;
  const Json identity = {{"command", trainer.command}, {"files", files_of(trainer.command, trainer.folder)}};
  return {std::move(command), "external",
          core::digest_of(identity.dump(-1, ' ', false, Json::error_handler_t::replace)).substr(0, 16)};
}

}  // namespace nanobench::suites

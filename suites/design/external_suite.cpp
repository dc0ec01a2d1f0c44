#include "suites/design/external_suite.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "results/records.h"
#include "suites/design/plan.h"
#include "suites/design/suite.h"
#include "suites/source/source_names.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Json;
using core::JsonObject;
using core::Reason;

/// Reads "values" into the feature.
void read_values(JsonObject& object, const fs::path& suite_folder, ExternalFeature& feature) {
  const Json& json = object.at("values");
  if (json.is_array()) {
    for (const std::string& text : object.strings_or_empty("values")) feature.values.emplace_back(text, text);
  } else {
    JsonObject names = object.object("values");
    for (const auto& [name, value] : json.items()) {
      if (value.is_object()) {
        feature.changes[name] = read_source_change(names.object(name), suite_folder);
        feature.values.emplace_back(name, name);
      } else {
        feature.values.emplace_back(name, names.string(name));
      }
    }
  }
  std::set<std::string> distinct;
  for (const auto& [name, text] : feature.values) distinct.insert(name);
  if (feature.values.size() < 2 || distinct.size() != feature.values.size())
    object.fail("values", Reason::kWrongLength, "expected at least two values, each once");
  if (!feature.changes.empty() && feature.changes.size() != feature.values.size())
    object.fail("values", Reason::kAmbiguous,
                "expected texts, or changes of the source such as {\"patch\": \"a.patch\"} and {}, not both");
}

ExternalFeature read_feature(const std::string& id, JsonObject object, const fs::path& suite_folder) {
  ExternalFeature feature{.id = id};
  feature.title = object.string_or("title", id);
  read_values(object, suite_folder, feature);
  const bool is_list = object.at("values").is_array();  // only a list has a first and a last one
  feature.before = is_list ? object.string_or("before", feature.values.front().first) : object.string("before");
  feature.after = is_list ? object.string_or("after", feature.values.back().first) : object.string("after");
  for (const char* key : {"before", "after"}) {
    const std::string& value = std::string(key) == "before" ? feature.before : feature.after;
    if (feature.text_of(value) == nullptr)
      object.fail(key, Reason::kUnknownName, "\"" + value + "\" is none of the values");
  }
  if (feature.before == feature.after) object.fail("after", Reason::kSameValue, "is the same value as before");
  object.finish();
  return feature;
}

ExternalCell read_cell(const ExternalTrainer& trainer, JsonObject object) {
  ExternalCell cell{.label = object.string("label"), .values = {}};
  if (cell.label.empty()) object.fail("label", Reason::kEmpty, "expected a name, got \"\"");
  if (object.find("values") != nullptr) {
    JsonObject values = object.object("values");
    for (const auto& [id, unused] : object.at("values").items()) {
      const ExternalFeature* feature = trainer.find(id);
      if (feature == nullptr)
        values.fail(id, Reason::kUnknownKey, "the engine has no such feature" + core::suggestion(id, trainer.ids()));
      cell.values[id] = values.string(id);
      if (feature->text_of(cell.values[id]) == nullptr)
        values.fail(id, Reason::kUnknownName, "\"" + cell.values[id] + "\" is none of the feature's values");
    }
  }
  object.finish();
  return cell;
}

/// Calls `check(key, text)` for each text that may contain names in braces.
void for_each_template(const ExternalTrainer& trainer,
                       const std::function<void(const char*, const std::string&)>& check) {
  for (const std::string& word : trainer.command) check("command", word);
  for (const auto& [name, text] : trainer.env) check("env", text);
  check("log_file", trainer.log_file);
}

/// Every name in braces must be known, and every feature must be used: a cell that changes nothing is a mistake.
void check_templates(JsonObject& engine, const ExternalTrainer& trainer) {
  std::set<std::string> used;
  for_each_template(trainer, [&](const char* key, const std::string& text) {
    filled(text, [&](const std::string& name) -> std::string {
      const bool is_feature = name.starts_with("feature:");
      if (is_feature && trainer.find(name.substr(8)) != nullptr) {
        if (std::string(key) != "log_file") used.insert(name.substr(8));
      } else if (name != "seed" && name != "cell") {
        engine.fail(key, Reason::kUnknownName,
                    "{" + name + "} is unknown; expected {feature:ID}, {seed} or {cell}, and {{ for a brace" +
                        (is_feature ? core::suggestion(name.substr(8), trainer.ids()) : ""));
      }
      return "";
    });
  });
  for (const ExternalFeature& feature : trainer.features) {
    if (!feature.changes.empty() && !trainer.source)
      engine.fail("features", Reason::kUnmet, feature.id + " changes the source, but the engine has no \"source\"");
    if (feature.changes.empty() && !used.contains(feature.id))
      engine.fail("features", Reason::kUnused,
                  "nothing uses {feature:" + feature.id + "} in command or env, so it would change nothing");
  }
}

bool is_shell(const std::string& word) {
  constexpr std::array<const char*, 6> kShells = {"sh", "bash", "dash", "zsh", "ksh", "fish"};
  const std::string name = fs::path(word).filename().string();
  return std::find(kShells.begin(), kShells.end(), name) != kShells.end();
}

/// "-c", "-ec", "-lc": the next word is code.
bool announces_code(const std::string& word) {
  return word.size() >= 2 && word[0] == '-' && word[1] != '-' && word.back() == 'c';
}

/// Words are passed to the program unchanged, without a shell. A shell in the command would read values as code.
void check_shells(JsonObject& engine, const ExternalTrainer& trainer) {
  bool has_shell = false;
  for (std::size_t i = 0; i < trainer.command.size(); ++i) {
    if (has_shell && announces_code(trainer.command[i - 1])) {
      filled(trainer.command[i], [&](const std::string& name) -> std::string {
        if (name == "seed") return "";
        engine.fail("command", Reason::kReadAsCode,
                    "the shell would read what stands for {" + name +
                        "} as code; pass it by env, or as a word of its own: [\"sh\", \"-c\", \"python3 "
                        "train.py \\\"$1\\\"\", \"sh\", \"{" +
                        name + "}\"]");
      });
    }
    has_shell = has_shell || is_shell(trainer.command[i]);
  }
}

/// Checks what a process can receive: a NUL would end a text, and a variable name cannot contain "=".
void check_texts(JsonObject& engine, const ExternalTrainer& trainer) {
  const auto has_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  for_each_template(trainer, [&](const char* key, const std::string& text) {
    if (has_nul(text))
      engine.fail(key, Reason::kHoldsNul, "a text holds the character NUL, which no program can be given");
  });
  for (const ExternalFeature& feature : trainer.features) {
    for (const auto& [name, text] : feature.values) {
      if (has_nul(text)) engine.fail("features", Reason::kHoldsNul, feature.id + ": a value holds the character NUL");
    }
  }
  for (const auto& [name, text] : trainer.env) {
    if (name.empty() || has_nul(name) || name.find('=') != std::string::npos)
      engine.fail("env", Reason::kBadName, "\"" + name + "\" is no name of an environment variable");
  }
}

/// true is one run.
std::int64_t read_warmup(JsonObject& engine) {
  const Json* json = engine.find("warmup");
  if (json == nullptr) return 0;
  return json->is_boolean() ? std::int64_t{engine.boolean_or("warmup", false)} : engine.integer("warmup", 0, 100);
}

void read_surroundings(JsonObject& engine, ExternalTrainer& trainer) {
  trainer.env = engine.named_strings_or_empty("env");
  if (engine.find("inherit") != nullptr) trainer.inherit = engine.strings_or_empty("inherit");
  if (engine.find("source") != nullptr) {
    trainer.source = read_trainer_source(engine, trainer.folder);
    trainer.folder = trainer.source->folder;
    if (engine.has("sources"))
      engine.fail("sources", Reason::kExcluded, "is the part of a \"folder\" that counts; a \"source\" counts whole");
    if (engine.has("folder") && fs::path(engine.string("folder")).is_absolute())
      engine.fail("folder", Reason::kOutside, "expected a folder of the source, as seen from there");
  }
  if (engine.find("folder") != nullptr) trainer.folder = trainer.folder / engine.string("folder");
  trainer.folder = trainer.folder.lexically_normal();
  if (!trainer.folder.has_filename()) trainer.folder = trainer.folder.parent_path();  // "a/.." is normally "./"
  if (engine.find("sources") != nullptr) {
    trainer.sources = engine.strings_or_empty("sources");
    if (trainer.sources.empty()) engine.fail("sources", Reason::kEmpty, "expected at least one file or folder");
  }
}

/// The suite and its patches are no part of the source that they lie in, so that an edit of one invalidates no more
/// than it changes.
void leave_out_suite(const std::string& suite_file, ExternalTrainer& trainer) {
  trainer.source->left_out.push_back(fs::absolute(suite_file));
  for (const ExternalFeature& feature : trainer.features) {
    for (const auto& [value, change] : feature.changes) {
      if (!change.file.empty()) trainer.source->left_out.push_back(fs::absolute(change.file));
    }
  }
}

constexpr int kMaxEntries = 20'000;       // of a folder that no source is named of
constexpr int kMaxLinkedEntries = 2'000;  // of a folder that a link in it leads to; what has more holds data

using NamedFiles = std::map<std::string, fs::path>;  ///< by the name in a suite

void add_folder(NamedFiles& files, const std::string& name, const fs::path& folder) {
  for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::recursive_directory_iterator(); ++entry) {
    if (is_left_behind(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      const std::string inside = entry->path().lexically_relative(folder).generic_string();
      files[(fs::path(name) / inside).generic_string()] = entry->path();
    }
  }
}

void add_source(NamedFiles& files, const std::string& name, const fs::path& folder) {
  const fs::path path = folder / name;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    add_folder(files, name, path);
  } else if (fs::is_regular_file(path, ignored)) {
    files[name] = path;
  } else {
    throw core::Refusal(ErrorCode::kNotFound, Reason::kMissingFile,
                        "there is no file or folder " + name + " in " + folder.string(), name);
  }
}

/// What a folder and its subfolders hold.
struct FoundSources {
  std::vector<fs::path> files;
  std::vector<fs::path> links;  ///< to folders
};

/// The sources below the folder, without environments of Python; nullopt if it has more entries.
std::optional<FoundSources> find_sources(const fs::path& folder, int max_entries) {
  FoundSources found;
  std::error_code ignored;
  int entries = 0;
  const auto options = fs::directory_options::skip_permission_denied;
  for (auto entry = fs::recursive_directory_iterator(folder, options); entry != fs::recursive_directory_iterator();
       ++entry) {
    if (++entries > max_entries) return std::nullopt;
    const fs::path& path = entry->path();
    if (is_left_behind(path) || fs::exists(path / "pyvenv.cfg", ignored) || path.filename() == "node_modules") {
      entry.disable_recursion_pending();
    } else if (entry->is_symlink() && entry->is_directory(ignored)) {
      found.links.push_back(path);
    } else if (entry->is_regular_file() && is_source_file(path)) {
      found.files.push_back(path);
    }
  }
  return found;
}

/// All sources below the folder and the folders that links in it lead to.
void add_all_sources(NamedFiles& files, const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return;
  const auto add = [&](const std::vector<fs::path>& found) {
    for (const fs::path& path : found) files[path.lexically_relative(folder).generic_string()] = path;
  };
  const std::optional<FoundSources> own = find_sources(folder, kMaxEntries);
  if (!own) {
    throw core::Refusal(ErrorCode::kInvalidArgument, Reason::kTooMany,
                        "the trainer's folder " + folder.string() + " has more than " + std::to_string(kMaxEntries) +
                            " entries, too many to look for its sources; name them with \"sources\"",
                        folder.string());
  }
  add(own->files);
  for (const fs::path& link : own->links) {
    const bool leads_above = is_within(fs::canonical(folder, ignored), fs::canonical(link, ignored));
    if (leads_above) continue;
    if (const auto linked = find_sources(link, kMaxLinkedEntries)) add(linked->files);
  }
}

NamedFiles source_files(const std::vector<std::string>& sources, const fs::path& folder) {
  NamedFiles files;
  try {
    for (const std::string& source : sources) add_source(files, source, folder);
    if (sources.empty()) add_all_sources(files, folder);
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::kIo, std::string("cannot read the trainer's sources: ") + error.what());
  }
  return files;
}

}  // namespace

const std::string* ExternalFeature::text_of(const std::string& value) const {
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& item) { return item.first == value; });
  return found == values.end() ? nullptr : &found->second;
}

const ExternalFeature* ExternalTrainer::find(const std::string& id) const {
  const auto found = std::find_if(features.begin(), features.end(), [&](const auto& item) { return item.id == id; });
  return found == features.end() ? nullptr : &*found;
}

std::vector<std::string> ExternalTrainer::ids() const {
  std::vector<std::string> all;
  for (const ExternalFeature& feature : features) all.push_back(feature.id);
  return all;
}

bool is_external_engine(const Json* engine) {
  return engine != nullptr && engine->is_object() && engine->contains("command");
}

ExternalTrainer read_external_trainer(JsonObject& suite) {
  JsonObject engine = suite.object("engine");
  ExternalTrainer trainer;
  const fs::path suite_folder = fs::absolute(fs::path(suite.source())).parent_path();
  trainer.folder = suite_folder;
  engine.at("command");
  trainer.command = engine.strings_or_empty("command");
  if (trainer.command.empty() || trainer.command.front().empty())
    engine.fail("command", Reason::kEmpty,
                "expected the program and its arguments, such as [\"python3\", \"train.py\"]");
  if (const std::string log = engine.string_or("log", "speedrun"); log != "speedrun")
    engine.fail("log", Reason::kUnknownName, "expected \"speedrun\", got \"" + log + "\"");
  trainer.log_file = engine.string_or("log_file", "");
  if (engine.has("log_file") && trainer.log_file.empty())
    engine.fail("log_file", Reason::kEmpty, "expected a path, got \"\"");
  read_surroundings(engine, trainer);
  if (engine.find("features") != nullptr) {
    JsonObject features = engine.object("features");
    for (const auto& [id, unused] : engine.at("features").items())
      trainer.features.push_back(read_feature(id, features.object(id), suite_folder));
  }
  if (engine.find("seats") != nullptr) trainer.seats = read_seats(engine);
  if (engine.find("steps") != nullptr) trainer.steps = engine.integer("steps", 1, 1'000'000'000);
  trainer.warmup = read_warmup(engine);
  if (trainer.source) leave_out_suite(suite.source(), trainer);
  check_texts(engine, trainer);
  check_templates(engine, trainer);
  check_shells(engine, trainer);
  engine.finish();
  return trainer;
}

void move_to_folder(ExternalTrainer& trainer, const fs::path& folder) {
  if (!trainer.source) {
    trainer.folder = folder;
    return;
  }
  trainer.folder = (folder / trainer.folder.lexically_relative(trainer.source->folder)).lexically_normal();
  trainer.source->folder = folder;
  trainer.source->revision.clear();
  trainer.source->base_tree.clear();
}

void read_external_cells(JsonObject& suite, ExternalTrainer& trainer) {
  const Json& list = suite.at("cells");
  if (!list.is_array() || list.empty()) suite.fail("cells", Reason::kEmpty, "expected a list with at least one cell");
  std::set<std::string> labels;
  for (std::size_t i = 0; i < list.size(); ++i) {
    trainer.cells.push_back(
        read_cell(trainer, JsonObject(list[i], suite.source(), suite.pointer_to("cells") + "/" + std::to_string(i))));
    if (!labels.insert(trainer.cells.back().label).second)
      suite.fail("cells", Reason::kRepeated, "the label \"" + trainer.cells.back().label + "\" appears twice");
  }
}

Json external_settings(const Json& cell_settings, std::uint64_t seed) {
  Json settings = cell_settings;
  const auto fill = [&](Json& text) {
    text = filled(text.get<std::string>(), [&](const std::string&) { return std::to_string(seed); });
  };
  for (Json& word : settings.at("command")) fill(word);
  for (auto& [name, text] : settings.at("env").items()) fill(text);
  if (settings.contains("log_file")) fill(settings.at("log_file"));
  return settings;
}

Json external_configuration(const Json& cell_settings) {
  Json configuration = cell_settings;
  for (const char* key : {"folder", "files", "has_named_sources", "revision", "source", "suite_file", "tree"})
    configuration.erase(key);
  return configuration;
}

Engine external_engine(const Suite& suite, std::vector<std::string> command) {
  const ExternalTrainer& trainer = *suite.external;
  if (trainer.source) {  // its cells have trees of their own, which nobody changes during a suite
    const Json identity = {{"command", trainer.command}, {"source", trainer.source->base_tree}};
    return {std::move(command), results::kExternalEngine, core::digest_of(core::safe_dump(identity)).substr(0, 16)};
  }
  Json files = digests_of_sources(trainer.sources, trainer.folder);
  files.update(digests_of_words(trainer.command, trainer.folder));
  const Json identity = {{"command", trainer.command}, {"files", files}, {"tree", trainer.tree}};
  return {std::move(command), results::kExternalEngine, core::digest_of(core::safe_dump(identity)).substr(0, 16)};
}

std::string external_calibration_name(const std::string& suite_name) {
  return "calibration of " + suite_name;
}

bool is_of_trainer(const std::string& suite_name, const std::string& stored_name) {
  return stored_name == suite_name || stored_name == external_calibration_name(suite_name);
}

std::string filled(const std::string& text, const TextOf& text_of, bool is_last) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_double = i + 1 < text.size() && text[i + 1] == text[i] && (text[i] == '{' || text[i] == '}');
    if (is_double) ++i;
    const std::size_t end = text[i] == '{' && !is_double ? text.find('}', i) : std::string::npos;
    if (end == std::string::npos) {
      out += is_double && !is_last ? std::string(2, text[i]) : std::string(1, text[i]);
    } else {
      out += text_of(text.substr(i + 1, end - i - 1));
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

Json digests_of_words(const std::vector<std::string>& words, const fs::path& folder) {
  Json digests = Json::object();
  for (const std::string& word : words) {
    std::error_code ignored;
    if (!word.empty() && fs::is_regular_file(folder / word, ignored))
      digests[word] = core::digest_of_file(folder / word);
  }
  return digests;
}

Json digests_of_sources(const std::vector<std::string>& sources, const fs::path& folder) {
  Json digests = Json::object();
  for (const auto& [name, file] : source_files(sources, folder)) digests[name] = core::digest_of_file(file);
  return digests;
}

std::string silencing_option(const std::vector<std::string>& command) {
  bool is_option = false;  // of Python
  for (const std::string& text : command) {
    std::istringstream words(text);  // that of `sh -c` has several
    for (std::string word; words >> word;) {
      const std::string name = fs::path(word).filename().string();
      if (is_option && word.starts_with("-") && !word.starts_with("--")) {
        const std::string letters = word.substr(0, word.find_first_of("cmWX"));  // what follows those is no option
        if (letters.find_first_of("EIS") != std::string::npos) return word;
        if (letters == word) continue;
      }
      is_option = name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string::npos;
    }
  }
  return "";
}

bool has_known_sources(const Json& settings) {
  return !settings.value("files", Json::object()).empty() || !settings.value("tree", "").empty();
}

}  // namespace nanobench::suites

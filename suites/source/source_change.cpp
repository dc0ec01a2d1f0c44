#include "suites/source/source_change.h"

#include "core/base/text.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::Json;
using core::JsonObject;

/// A path that stays below the folder it is relative to.
bool is_inside(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return !path.empty() && path.is_relative() && *normal.begin() != ".." && normal != ".";
}

Replacement read_replacement(JsonObject object) {
  Replacement replacement{
      .file = object.string("file"), .old_text = object.string("old"), .new_text = object.string("new")};
  if (!is_inside(replacement.file)) object.fail("file", "expected a file of the source, as seen from its folder");
  if (replacement.old_text.empty()) object.fail("old", "expected the text to replace");
  if (replacement.old_text == replacement.new_text) object.fail("new", "is the same text as \"old\"");
  object.finish();
  return replacement;
}

std::vector<Replacement> read_replacements(JsonObject& object) {
  const Json& list = object.at("replace");
  if (!list.is_array() || list.empty()) object.fail("replace", "expected a list of {\"file\", \"old\", \"new\"}");
  std::vector<Replacement> all;
  for (std::size_t i = 0; i < list.size(); ++i)
    all.push_back(read_replacement({list[i], object.source(), object.pointer_to("replace") + "/" + std::to_string(i)}));
  return all;
}

}  // namespace

std::string SourceChange::title() const {
  switch (kind) {
    case ChangeKind::kNone: return "the source as it is";
    case ChangeKind::kPatch: return name;
    case ChangeKind::kRevert: return "the revert of " + name;
    case ChangeKind::kCherryPick: return "the commit " + name;
    case ChangeKind::kBranch: return "the branch " + name;
    case ChangeKind::kReplace: break;
  }
  std::vector<std::string> files;
  for (const Replacement& item : replacements) {
    if (files.empty() || files.back() != item.file) files.push_back(item.file);
  }
  return "the replacement in " + listed(files);
}

SourceChange read_source_change(JsonObject object, const fs::path& folder) {
  SourceChange change;
  for (const ChangeKind kind :
       {ChangeKind::kPatch, ChangeKind::kRevert, ChangeKind::kCherryPick, ChangeKind::kBranch, ChangeKind::kReplace}) {
    const std::string key = enum_name(kind);
    if (!object.has(key)) continue;
    if (!change.is_none()) object.fail(key, "a value is one change; make two features, or one patch of both");
    change.kind = kind;
    if (kind == ChangeKind::kReplace) {
      change.replacements = read_replacements(object);
      continue;
    }
    change.name = object.string(key);
    if (change.name.empty() || change.name.front() == '-')
      object.fail(key, "expected a name, got \"" + change.name + "\"");
    if (kind == ChangeKind::kPatch) change.file = folder / change.name;
  }
  if (change.kind == ChangeKind::kRevert || change.kind == ChangeKind::kCherryPick ||
      change.kind == ChangeKind::kBranch)
    change.only = object.strings_or_empty("only");
  for (const std::string& file : change.only) {
    if (!is_inside(file)) object.fail("only", "\"" + file + "\" is not below the source's folder");
  }
  object.finish();
  return change;
}

TrainerSource read_trainer_source(JsonObject& engine, const fs::path& folder) {
  TrainerSource source;
  const Json& json = engine.at("source");
  if (json.is_string()) {
    source.folder = folder / engine.string("source");
  } else {
    JsonObject object = engine.object("source");
    source.folder = folder / object.string_or("folder", ".");
    source.revision = object.string_or("revision", "");
    if (object.has("revision") && (source.revision.empty() || source.revision.front() == '-'))
      object.fail("revision", "expected a commit, branch or tag of git");
    source.links = object.strings_or_empty("link");
    for (const std::string& link : source.links) {
      if (!is_inside(link)) object.fail("link", "\"" + link + "\" is not below the source's folder");
    }
    source.check = object.strings_or_empty("check");
    object.finish();
  }
  source.folder = source.folder.lexically_normal();
  if (!source.folder.has_filename()) source.folder = source.folder.parent_path();
  return source;
}

}  // namespace nanobench::suites

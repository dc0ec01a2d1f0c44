#include "reports/trend/revisions.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "core/base/text.h"
#include "results/records.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kShortest = 7;  // digits of a revision, as git displays it
constexpr std::size_t kProgramDigits = 8;
constexpr std::size_t kLabelColumns = 24;

using Facts = std::map<std::string, std::string>;

std::string fact(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() || found->second == "unknown" ? "" : found->second;
}

bool is_hexadecimal(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// "0.1.0 (abc...)" or "0.1.0 (abc..., dirty)".
std::optional<SourceRevision> from_version(const std::string& version) {
  const std::size_t open = version.find(" (");
  if (open == std::string::npos || version.back() != ')') return std::nullopt;
  const std::string inside = version.substr(open + 2, version.size() - open - 3);
  const std::size_t comma = inside.find(", ");
  SourceRevision revision{.name = inside.substr(0, comma), .is_dirty = comma != std::string::npos};
  if (!is_hexadecimal(revision.name) || (revision.is_dirty && inside.substr(comma + 2) != "dirty")) return std::nullopt;
  return revision;
}

std::string full_name(const SourceRevision& source) {
  if (!source.is_known()) return "program " + source.program;
  return source.name + (source.is_dirty ? "+dirty" : "");
}

/// Runs with equal identities belong to one revision.
std::tuple<std::string, std::string> identity_of(const SourceRevision& source) {
  return {full_name(source), source.is_known() && !source.is_dirty ? "" : source.program};
}

/// The fewest digits that distinguish all names.
std::size_t digits_needed(const std::set<std::string>& names) {
  std::size_t digits = kShortest;
  for (auto name = names.begin(); name != names.end(); ++name) {
    const auto next = std::next(name);
    if (next == names.end()) break;
    const auto differs = std::mismatch(name->begin(), name->end(), next->begin(), next->end()).first;
    digits = std::max(digits, static_cast<std::size_t>(differs - name->begin()) + 1);
  }
  return digits;
}

std::string label_of(const SourceRevision& source, std::size_t digits) {
  if (!source.is_known()) return "program " + shortened(printable(source.program), kProgramDigits);
  std::string label =
      is_hexadecimal(source.name) ? source.name.substr(0, digits) : shortened(printable(source.name), kLabelColumns);
  if (source.is_dirty) label += "+dirty";
  return label;
}

/// Several programs may share one label: they get numbers, from the second one on.
void make_unique(std::vector<Revision>& revisions) {
  std::map<std::string, int> seen;
  for (Revision& revision : revisions) {
    const int count = ++seen[revision.label];
    if (count > 1) revision.label += " #" + std::to_string(count);
  }
}

}  // namespace

SourceRevision source_revision(const std::string& engine, const std::string& program, const Facts& facts) {
  SourceRevision revision{.program = program};
  if (const std::string own = fact(facts, "engine/git_revision"); !own.empty()) {
    revision.name = own;
    revision.is_dirty = fact(facts, "engine/git_dirty") == "true";
    return revision;
  }
  if (engine == results::kExternalEngine) return revision;
  const std::string runner = fact(facts, "git_revision");
  if (const auto own = from_version(fact(facts, "engine_version"))) {
    revision.name = runner.starts_with(own->name) ? runner : own->name;
    revision.is_dirty = own->is_dirty;
    return revision;
  }
  revision.name = runner;
  revision.is_dirty = !runner.empty() && fact(facts, "git_dirty") == "true";
  return revision;
}

Revisions revisions_of(std::span<const RevisionRun> runs) {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return runs[a].started_at < runs[b].started_at; });
  std::set<std::string> names;
  for (const RevisionRun& run : runs) {
    if (is_hexadecimal(run.source.name)) names.insert(run.source.name);
  }
  const std::size_t digits = digits_needed(names);
  Revisions result{.of_run = std::vector<std::size_t>(runs.size())};
  std::map<std::tuple<std::string, std::string>, std::size_t> known;
  std::vector<std::set<std::string>> programs;
  for (const std::size_t i : order) {
    const SourceRevision& source = runs[i].source;
    const auto [at, is_new] = known.emplace(identity_of(source), result.all.size());
    if (is_new) {
      result.all.push_back({.name = full_name(source),
                            .label = label_of(source, digits),
                            .first_at = runs[i].started_at,
                            .is_dirty = source.is_dirty});
      programs.emplace_back();
    }
    result.of_run[i] = at->second;
    programs[at->second].insert(source.program);
  }
  for (std::size_t i = 0; i < programs.size(); ++i) result.all[i].programs = static_cast<int>(programs[i].size());
  make_unique(result.all);
  return result;
}

}  // namespace nanobench::reports

#include "tools/cli/gate_baseline.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "tools/cli/git.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;
using results::BaselineRecord;

constexpr int kAncestors = 1000;
constexpr std::string_view kDatabaseMagic = "SQLite format 3";

FoundBaseline from_record(const results::Store& store, const BaselineRecord& record, const std::string& why) {
  FoundBaseline found;
  found.arm = reports::read_arm(store, store.plan(record.plan_id), "baseline " + record.name);
  if (!record.revision.empty()) found.arm->revision = record.revision;
  found.plan_id = record.plan_id;
  found.how = "baseline " + record.name + " (" + why + ")";
  return found;
}

bool is_database(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string head(kDatabaseMagic.size(), '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head == kDatabaseMagic;
}

FoundBaseline from_file(const fs::path& file, const std::string& suite) {
  FoundBaseline found;
  found.how = "file " + file.string();
  if (!is_database(file)) {
    found.arm = reports::read_arm(core::read_json_file(file), file.string());
    return found;
  }
  const results::Store other(file, results::OpenMode::kReadOnly);
  if (const auto plan = other.newest_plan(suite)) {
    found.arm = reports::read_arm(other, *plan, file.string());
  } else {
    found.how = file.string() + " holds no results of the suite " + suite;
  }
  return found;
}

/// "3f2a... (changed)" was never committed.
bool is_revision(const BaselineRecord& record, const std::string& revision) {
  return record.revision == revision;
}

std::optional<FoundBaseline> from_merge_base(const results::Store& store, const std::vector<BaselineRecord>& known,
                                             const BaselineRequest& request) {
  const std::optional<std::string> base = merge_base(request.branch, request.folder);
  if (!base) return std::nullopt;
  for (const std::string& revision : first_parents(*base, kAncestors, request.folder)) {
    const auto found = std::find_if(known.rbegin(), known.rend(),
                                    [&](const BaselineRecord& record) { return is_revision(record, revision); });
    if (found == known.rend()) continue;
    const std::string where = revision == *base ? "of the merge base " : "of the merge base's ancestor ";
    return from_record(store, *found, where + revision.substr(0, 12));
  }
  return std::nullopt;
}

}  // namespace

FoundBaseline find_baseline(const results::Store& store, const BaselineRequest& request) {
  if (!request.name.empty()) {
    if (const auto record = store.find_baseline(request.name))
      return from_record(store, *record, "saved " + record->created_at);
    if (fs::is_regular_file(request.name)) return from_file(request.name, request.suite);
    std::vector<std::string> names;
    for (const BaselineRecord& record : store.baselines()) names.push_back(record.name);
    return {.arm = std::nullopt,
            .plan_id = std::nullopt,
            .how = "there is no baseline and no file named " + request.name + core::suggestion(request.name, names) +
                   "; `nanobench baseline list` shows what there is"};
  }
  const std::vector<BaselineRecord> known = store.baselines(request.suite);
  if (std::optional<FoundBaseline> found = from_merge_base(store, known, request)) return *found;
  const auto accepted =
      std::find_if(known.rbegin(), known.rend(), [](const BaselineRecord& record) { return record.is_accepted; });
  if (accepted != known.rend()) return from_record(store, *accepted, "accepted " + accepted->created_at);
  return {.arm = std::nullopt,
          .plan_id = std::nullopt,
          .how = "no baseline of the suite " + request.suite +
                 ": none is of the merge base or its ancestors, and none was accepted; name one with --baseline, run "
                 "one in turn with --baseline-engine (--baseline-folder for a trainer of your own), or make one: "
                 "nanobench run " +
                 request.suite + " && nanobench baseline accept --reason \"first\""};
}

}  // namespace nanobench::tools

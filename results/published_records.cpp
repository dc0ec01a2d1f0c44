#include "results/published_records.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/json.h"
#include "results/embedded_files.h"

namespace nanobench::results {
namespace {

constexpr std::string_view kFile = "published/speedrun_records.json";

PublishedRecord read_record(const core::Json& value, const std::string& pointer) {
  core::JsonObject object(value, std::string(kFile), pointer);
  PublishedRecord record;
  record.number = static_cast<int>(object.integer("number", 1, 10000));
  record.id = object.string("id");
  record.date = object.string("date");
  record.title = object.string("title");
  record.minutes = object.number("minutes", 0, 1e6);
  if (const core::Json& folder = object.at("folder"); !folder.is_null()) record.folder = folder.get<std::string>();
  record.is_retiming = object.boolean_or("is_retiming", false);
  object.finish();
  return record;
}

std::vector<PublishedRecord> read_records() {
  for (const core::EmbeddedFile& file : embedded_files()) {
    if (file.path != kFile) continue;
    const core::Json json = core::parse_json(file.text, std::string(kFile));
    std::vector<PublishedRecord> records;
    for (const core::Json& value : json.at("records"))
      records.push_back(read_record(value, "/records/" + std::to_string(records.size())));
    return records;
  }
  throw core::Error(core::ErrorCode::kInternal, std::string(kFile) + " is not part of this build");
}

}  // namespace

const std::vector<PublishedRecord>& published_records() {
  static const std::vector<PublishedRecord> records = read_records();
  return records;
}

const PublishedRecord* find_published_record(const std::string& folder) {
  const std::vector<PublishedRecord>& records = published_records();
  const auto found =
      std::find_if(records.begin(), records.end(), [&](const auto& item) { return item.folder == folder; });
  return found == records.end() ? nullptr : &*found;
}

const PublishedRecord* record_before(const PublishedRecord& record) {
  const std::vector<PublishedRecord>& records = published_records();
  const auto found =
      std::find_if(records.begin(), records.end(), [&](const auto& item) { return item.id == record.id; });
  if (found == records.begin() || found == records.end() || found->is_retiming) return nullptr;
  return &*(found - 1);
}

}  // namespace nanobench::results

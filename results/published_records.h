/// The record table of the speedrun as published: reference facts for logs (published/speedrun_records.json).
/// Thread-safe: constant data, read once.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace nanobench::results {

struct PublishedRecord {
  int number = 0;
  std::string id;    ///< "21-latest-torch": one record was timed again
  std::string date;  ///< YYYY-MM-DD
  std::string title;
  double minutes = 0;                 ///< training time on 8 H100
  std::optional<std::string> folder;  ///< folder of its logs
  bool is_retiming = false;           ///< an older record timed again, not a new one
};

/// In the order of the table.
const std::vector<PublishedRecord>& published_records();

/// The record whose logs are in this folder (its name, without a path), or nullptr.
const PublishedRecord* find_published_record(const std::string& folder);

/// The record that this one had to beat: the previous row. nullptr for the first one and for a retiming of an old
/// record.
const PublishedRecord* record_before(const PublishedRecord& record);

}  // namespace nanobench::results

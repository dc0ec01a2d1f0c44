// Every documented change of records #2 to #89 is an entry of the catalogue, and no entry invents one.
//
// tests/golden/record_changes.md documents them: paragraphs "**#OLDER→#NEWER**: ..." with each change's name between
// backquotes. A change belongs to the newer record of its pair, those of the re-timed record 21b to 21.
#include <algorithm>
#include <fstream>
#include <set>

#include "core/base/json.h"
#include "tests/ablations/catalogue_support.h"

namespace nanobench::ablations {
namespace {

using Change = std::pair<std::int64_t, std::string>;

std::string text_of(const std::set<Change>& changes) {
  std::string text;
  for (const auto& [record, id] : changes) text += "\n  #" + std::to_string(record) + " " + id;
  return text;
}

std::set<Change> covered_changes() {
  std::set<Change> changes;
  for (const Feature* feature : embedded_catalogue().all_features()) {
    for (const DocumentedChange& change : feature->changes) changes.emplace(change.record, change.id);
  }
  return changes;
}

std::set<Change> without(const std::set<Change>& all, const std::set<Change>& some) {
  std::set<Change> rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::inserter(rest, rest.end()));
  return rest;
}

std::set<Change> documented_changes() {
  std::ifstream file(std::filesystem::path(NANOBENCH_SOURCE_DIR) / "tests" / "golden" / "record_changes.md");
  std::set<Change> changes;
  for (std::string line; std::getline(file, line);) {
    const std::size_t newer = line.find("→#");
    if (!line.starts_with("**#") || newer == std::string::npos) continue;
    const std::int64_t record = std::stoll(line.substr(newer + std::string("→#").size()));
    for (std::size_t open = line.find('`'); open != std::string::npos; open = line.find('`', open + 1)) {
      const std::size_t close = line.find('`', open + 1);
      changes.emplace(record, line.substr(open + 1, close - open - 1));
      open = close;
    }
  }
  EXPECT_GT(changes.size(), 100U);
  return changes;
}

TEST(DocumentedChanges, AreAllInTheCatalogue) {
  const std::set<Change> missing = without(documented_changes(), covered_changes());
  EXPECT_TRUE(missing.empty()) << "no entry's \"changes\" names" << text_of(missing);
}

TEST(DocumentedChanges, AreTheOnlyOnesThatEntriesName) {
  const std::set<Change> unknown = without(covered_changes(), documented_changes());
  EXPECT_TRUE(unknown.empty()) << "record_changes.md does not have" << text_of(unknown);
}

TEST(DocumentedChanges, ReachFromRecord2ToRecord89) {
  std::set<std::int64_t> records;
  for (const auto& [record, unused] : documented_changes()) records.insert(record);
  EXPECT_EQ(records.size(), 88U);
  EXPECT_EQ(*records.begin(), 2);
  EXPECT_EQ(*records.rbegin(), 89);
  EXPECT_TRUE(documented_changes().contains({21, "time-all-steps"}));
}

TEST(NotApplicable, EntriesSayWhyInOneSentence) {
  std::size_t count = 0;
  for (const Feature* feature : embedded_catalogue().all_features()) {
    if (feature->is_applicable()) continue;
    ++count;
    EXPECT_FALSE(feature->changes.empty()) << feature->id << " stands for no documented change";
    EXPECT_GT(feature->not_applicable->size(), 20U) << feature->id;
    EXPECT_EQ(feature->not_applicable->find('.'), feature->not_applicable->size() - 1) << feature->id;
  }
  EXPECT_GT(count, 10U);
}

}  // namespace
}  // namespace nanobench::ablations

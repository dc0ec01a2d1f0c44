// Every documented change of records #1 to #21 is an entry of the catalogue, and no entry invents one.
//
// documented_changes.json lists them: the newer record of a pair that differs (21 for the re-timed #21 too) and the
// change's name. The facts behind the list are in shared/records.md, section 3; where that file is there, the list is
// compared with it.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "core/base/json.h"
#include "tests/ablations/catalogue_support.h"

namespace nanobench::ablations {
namespace {

using Change = std::pair<std::int64_t, std::string>;

const std::filesystem::path kList =
    std::filesystem::path(NANOBENCH_SOURCE_DIR) / "tests" / "ablations" / "documented_changes.json";

std::string text_of(const std::set<Change>& changes) {
  std::string text;
  for (const auto& [record, id] : changes) text += "\n  #" + std::to_string(record) + " " + id;
  return text;
}

std::set<Change> listed_changes() {
  std::set<Change> changes;
  const core::Json json = core::read_json_file(kList.string());
  for (const core::Json& change : json.at("changes")) {
    const bool is_new = changes.emplace(change.at("record").get<std::int64_t>(), change.at("id")).second;
    EXPECT_TRUE(is_new) << change.dump() << " is listed twice";
  }
  return changes;
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

/// The names between backquotes in the lines "**#OLDER→#NEWER**: ..." of section 3.
std::set<Change> changes_of_document(const std::string& markdown) {
  const std::size_t begin = markdown.find("\n## 3.");
  std::istringstream lines(markdown.substr(begin, markdown.find("\n## 4.") - begin));
  std::set<Change> changes;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t newer = line.find("→#");
    if (!line.starts_with("**#") || newer == std::string::npos) continue;
    const std::int64_t record = std::stoll(line.substr(newer + std::string("→#").size()));
    for (std::size_t open = line.find('`'); open != std::string::npos; open = line.find('`', open + 1)) {
      const std::size_t close = line.find('`', open + 1);
      changes.emplace(record, line.substr(open + 1, close - open - 1));
      open = close;
    }
  }
  return changes;
}

TEST(DocumentedChanges, AreAllInTheCatalogue) {
  const std::set<Change> missing = without(listed_changes(), covered_changes());
  EXPECT_TRUE(missing.empty()) << "no entry's \"changes\" names" << text_of(missing);
}

TEST(DocumentedChanges, AreTheOnlyOnesThatEntriesName) {
  const std::set<Change> unknown = without(covered_changes(), listed_changes());
  EXPECT_TRUE(unknown.empty()) << kList << " does not have" << text_of(unknown);
}

TEST(DocumentedChanges, ReachFromRecord2ToTheRetimed21) {
  std::set<std::int64_t> records;
  for (const auto& [record, unused] : listed_changes()) records.insert(record);
  EXPECT_EQ(records.size(), 20U);
  EXPECT_EQ(*records.begin(), 2);
  EXPECT_EQ(*records.rbegin(), 21);
  EXPECT_TRUE(listed_changes().contains({21, "time-all-steps"}));
}

TEST(DocumentedChanges, AreThoseOfTheDocument) {
  const char* shared = std::getenv("NANOBENCH_SHARED");
  const std::filesystem::path root =
      shared != nullptr ? std::filesystem::path(shared) : std::filesystem::path(NANOBENCH_SOURCE_DIR) / "../shared";
  std::ifstream file(root / "records.md");
  if (!file)
    GTEST_SKIP() << "no " << root / "records.md"
                 << "; set NANOBENCH_SHARED";
  std::ostringstream text;
  text << file.rdbuf();
  const std::set<Change> documented = changes_of_document(text.str());
  const std::set<Change> listed = listed_changes();
  EXPECT_GT(documented.size(), 100U);
  EXPECT_TRUE(without(documented, listed).empty()) << kList << " lacks" << text_of(without(documented, listed));
  EXPECT_TRUE(without(listed, documented).empty()) << "not in the document:" << text_of(without(listed, documented));
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

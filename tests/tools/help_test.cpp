// Every --help is a golden file, and docs/settings.md is what a command prints; NB_UPDATE_GOLDEN=1 rewrites them.
#include <gtest/gtest.h>

#include <set>

#include "core/config/settings_reference.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

struct HelpCase {
  const char* name;
  std::vector<std::string> arguments;

  friend void PrintTo(const HelpCase& item, std::ostream* out) { *out << item.name; }
};

class Help : public testing::TestWithParam<HelpCase> {};

TEST_P(Help, IsTheGoldenText) {
  const CommandLine shell(std::string("help_") + GetParam().name);
  std::vector<std::string> arguments = GetParam().arguments;
  arguments.push_back("--help");
  const ProgramResult result = shell.run(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("Example"), std::string::npos) << "every help has examples";
  const std::filesystem::path golden = std::filesystem::path(NANOBENCH_SOURCE_DIR) / "tests" / "tools" / "golden" /
                                       (std::string(GetParam().name) + ".txt");
  if (std::getenv("NB_UPDATE_GOLDEN") != nullptr) std::ofstream(golden, std::ios::binary) << result.out;
  EXPECT_EQ(result.out, read_text(golden)) << "compare with " << golden << "; NB_UPDATE_GOLDEN=1 rewrites it";
}

INSTANTIATE_TEST_SUITE_P(
    Commands, Help,
    testing::Values(HelpCase{"nanobench", {}}, HelpCase{"run", {"run"}}, HelpCase{"ablate", {"ablate"}},
                    HelpCase{"hunt", {"hunt"}}, HelpCase{"bench", {"bench"}}, HelpCase{"suite", {"suite"}},
                    HelpCase{"suite_init", {"suite", "init"}}, HelpCase{"new", {"new"}}, HelpCase{"watch", {"watch"}},
                    HelpCase{"plan", {"plan"}}, HelpCase{"train", {"train"}}, HelpCase{"profile", {"profile"}},
                    HelpCase{"data", {"data"}}, HelpCase{"data_prepare", {"data", "prepare"}},
                    HelpCase{"data_info", {"data", "info"}}, HelpCase{"list", {"list"}}, HelpCase{"show", {"show"}},
                    HelpCase{"diff", {"diff"}}, HelpCase{"reproduce", {"reproduce"}}, HelpCase{"compare", {"compare"}},
                    HelpCase{"report", {"report"}}, HelpCase{"evaluate", {"evaluate"}}, HelpCase{"claims", {"claims"}},
                    HelpCase{"trend", {"trend"}}, HelpCase{"transfer", {"transfer"}},
                    HelpCase{"calibrate", {"calibrate"}}, HelpCase{"gate", {"gate"}},
                    HelpCase{"baseline", {"baseline"}}, HelpCase{"baseline_save", {"baseline", "save"}},
                    HelpCase{"baseline_accept", {"baseline", "accept"}}, HelpCase{"bisect", {"bisect"}},
                    HelpCase{"audit", {"audit"}}, HelpCase{"import", {"import"}}, HelpCase{"export", {"export"}},
                    HelpCase{"db", {"db"}}, HelpCase{"db_merge", {"db", "merge"}},
                    HelpCase{"db_check", {"db", "check"}}, HelpCase{"db_vacuum", {"db", "vacuum"}},
                    HelpCase{"doctor", {"doctor"}}, HelpCase{"completion", {"completion"}}, HelpCase{"help", {"help"}}),
    [](const auto& case_info) { return std::string(case_info.param.name); });

TEST(ListSettings, ThePageIsWhatTheCommandPrints) {
  const CommandLine shell("settings_page");
  const ProgramResult result = shell.run({"list", "settings", "--format", "md"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::filesystem::path page = std::filesystem::path(NANOBENCH_SOURCE_DIR) / "docs" / "settings.md";
  if (std::getenv("NB_UPDATE_GOLDEN") != nullptr) std::ofstream(page, std::ios::binary) << result.out;
  EXPECT_EQ(result.out, read_text(page)) << "compare with " << page << "; NB_UPDATE_GOLDEN=1 rewrites it";
}

TEST(ListSettings, HasEverySettingWithItsMeaning) {
  const CommandLine shell("settings_json");
  const core::Json tables = core::Json::parse(shell.run({"list", "settings", "--json"}).out).at("tables");
  std::set<std::string> found;
  for (const auto& [group, rows] : tables.items()) {
    for (const core::Json& row : rows) {
      EXPECT_FALSE(row.at("meaning").get<std::string>().empty()) << row;
      if (row.at("type") != "group") found.insert(row.at("setting").get<std::string>());
    }
  }
  const std::vector<std::string>& known = core::train_config_pointers();
  EXPECT_EQ(found, std::set<std::string>(known.begin(), known.end()));
}

TEST(Version, NamesVersionAndCompiler) {
  const CommandLine shell("version");
  const ProgramResult result = shell.run({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out.rfind("nanobench ", 0), 0U) << result.out;
}

}  // namespace
}  // namespace nanobench::tools

// `nanobench report --charts` and `--open` from the outside.
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "tests/tools/refusals.h"

namespace nanobench::tools {
namespace {

constexpr const char* kReportChartsSuite =
    R"({"name": "s", "title": "T", "design": "history", "records": ["record12", "record13"],
  "scale": "smoke", "seeds": [1, 2], "threads": 1, "engine": {"mock": {"steps": 6, "val_every": 2}}})";

void run_suite(const CommandLine& shell) {
  shell.write("s.json", kReportChartsSuite);
  ASSERT_EQ(shell.run({"run", "s.json", "--quiet"}).exit_code, 0);
}

TEST(ReportCharts, SpecificationsAreWholeAndMarkdownLinksToWhatWasDrawn) {
  const CommandLine shell("report_charts");
  run_suite(shell);
  const ProgramResult result = shell.run({"report", "--out", "r.md", "--charts", "a folder"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string markdown = read_text(shell.work() / "r.md");
  int charts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shell.work() / "a folder")) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".vl.json")) continue;
    ++charts;
    const core::Json spec = core::read_json_file(entry.path());
    EXPECT_FALSE(spec.at("datasets").at("data").empty()) << name;
    const std::string svg = name.substr(0, name.size() - std::string(".vl.json").size()) + ".svg";
    const bool is_drawn = std::filesystem::exists(shell.work() / "a folder" / svg);
    EXPECT_EQ(is_drawn, result.err.empty()) << "where nothing is drawn, that is said: " << result.err;
    EXPECT_EQ(is_drawn, markdown.find("](a%20folder/" + svg + ")") != std::string::npos) << markdown;
  }
  EXPECT_GE(charts, 5);
  EXPECT_NE(markdown.find("nanobench run s.json --quiet"), std::string::npos) << "the command that made it";
  EXPECT_NE(markdown.find("| nanobench run s.json --quiet --fresh |"), std::string::npos) << markdown;
  EXPECT_NE(markdown.find("| nanobench export --samples --plan 1 |"), std::string::npos) << markdown;
  EXPECT_NE(markdown.find("| git\\_revision | "), std::string::npos) << markdown;
  EXPECT_EQ(shell.run({"report", "--format", "md"}).out.find("!["), std::string::npos);
}

TEST(ReportCharts, WithoutPythonTheSpecificationsRemain) {
  const CommandLine shell("report_no_python");
  run_suite(shell);
  const ProgramResult result = shell.run({"report", "--format", "md", "--charts", "c"}, "PATH=/nowhere");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("no pictures were drawn"), std::string::npos) << result.err;
  EXPECT_TRUE(std::filesystem::exists(shell.work() / "c/loss.vl.json"));
  EXPECT_EQ(result.out.find("!["), std::string::npos);
}

TEST(ReportOpen, ShowsThePageOrSaysWhereItIs) {
  const CommandLine shell("report_open");
  run_suite(shell);
  std::filesystem::create_directories(shell.work() / "bin");
  shell.write("bin/xdg-open", "#!/bin/sh\necho \"$1\" >opened\n");
  std::filesystem::permissions(shell.work() / "bin/xdg-open", std::filesystem::perms::owner_all);
  const std::string path = "PATH=" + (shell.work() / "bin").string() + ":/usr/bin:/bin";
  const ProgramResult shown = shell.run({"report", "--open", "--out", "page.html"}, path);
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(read_text(shell.work() / "opened"), (shell.work() / "page.html").string() + "\n");
  EXPECT_EQ(read_text(shell.work() / "page.html").rfind("<!DOCTYPE html>", 0), 0U);
  std::filesystem::remove(shell.work() / "bin/xdg-open");
  const ProgramResult failed = shell.run({"report", "--open"}, "PATH=" + (shell.work() / "bin").string());
  EXPECT_EQ(failed.exit_code, 2);
  EXPECT_NE(failed.err.find("the page is "), std::string::npos) << failed.err;
}

TEST(ReportCharts, BadInputIsOneSentence) {
  const CommandLine shell("report_charts_bad");
  run_suite(shell);
  shell.write("file", "");
  expect_refusals(shell, {{{"report", "--charts", "file"}, "file"},
                          {{"report", "--open", "--json"}, "--open shows HTML"},
                          {{"report", "--open", "--out", "r.md"}, "--open shows HTML"}});
}

}  // namespace
}  // namespace nanobench::tools

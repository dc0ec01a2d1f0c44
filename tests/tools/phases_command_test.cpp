// A slowdown in one phase of a run is one of the whole run, from the command line.
#include "core/base/error.h"
#include "suites/run/mock_settings.h"
#include "tests/tools/gate_command_line.h"

namespace nanobench::tools {
namespace {

/// 60, 50 and 70 steps; the median step is one of the second phase.
std::string phased_suite(double first_ms, double second_ms, double third_ms) {
  const core::Json phases = {{{"steps", 60}, {"step_ms", first_ms}},
                             {{"steps", 50}, {"step_ms", second_ms}},
                             {{"steps", 70}, {"step_ms", third_ms}}};
  return gate_suite(core::Json({{"steps", 180}, {"val_every", 60}, {"phases", phases}}).dump());
}

core::Json time_row(const core::Json& report) {
  for (const core::Json& row : report.at("tables").at("checks")) {
    if (row.at("metric") == "training clock") return row;
  }
  return {};
}

/// 2 of 180 steps are not timed.
double clock_ms(double first_ms, double second_ms, double third_ms) {
  return 58 * first_ms + 50 * second_ms + 70 * third_ms;
}

TEST(GatePhases, ASlowdownInAnyPhaseIsNeverAnImprovement) {
  const double slow[][3] = {{80, 93, 204},  // the median step improves by 22 %, the run is 3 % slower or more
                            {87, 120, 160},
                            {80, 129, 160},
                            {80, 120, 166},
                            {82.4, 123.6, 164.8}};
  for (const auto& phase : slow) {
    const CommandLine shell("gate_phases");
    const ProgramResult result =
        gate_in_turn(shell, phased_suite(phase[0], phase[1], phase[2]), phased_suite(80, 120, 160), {"--json"});
    EXPECT_EQ(result.exit_code, 1) << result.err << result.out;
    const core::Json row = time_row(json_of(result));
    EXPECT_EQ(row.at("verdict"), "regressed") << row;
    const double planted = clock_ms(phase[0], phase[1], phase[2]) / clock_ms(80, 120, 160) - 1.0;
    EXPECT_NEAR(row.at("change").get<double>(), planted, 0.002) << row;
    EXPECT_NEAR(row.at("baseline").at("mean").get<double>() / clock_ms(80, 120, 160), 1.0, 0.002) << row;
  }
}

TEST(ReportPhases, HaveTheTimesOfEachPhase) {
  const CommandLine shell("report_phases");
  shell.write("g.json", phased_suite(80, 120, 160));
  ASSERT_EQ(shell.run({"run", "g.json", "--quiet"}).exit_code, 0);
  const ProgramResult result = shell.run({"report", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const core::Json report = json_of(result);
  const core::Json& rows = report.at("tables").at("schedule_phases");
  ASSERT_EQ(rows.size(), 3U) << rows;
  EXPECT_EQ(rows.at(1).at("steps").at("first"), 60);
  EXPECT_EQ(rows.at(2).at("steps").at("first"), 110);
  EXPECT_NEAR(rows.at(2).at("step_ms").at("mean").get<double>(), 160.0, 0.2);
  const core::Json& row = report.at("tables").at("rows").at(0);
  EXPECT_NEAR(row.at("step_ms").at("mean").get<double>(), clock_ms(80, 120, 160) / 178, 0.2);
  EXPECT_NEAR(row.at("median_step_ms").at("mean").get<double>(), 120.0, 0.3);
}

TEST(MockPhases, AreReadInOrderAndRefusedIfTheyAreNotPhases) {
  const auto read = [](const char* json) {
    return suites::read_mock_settings(core::Json::parse(json), core::TrainConfig{}, "test");
  };
  const suites::MockSettings settings =
      read(R"({"steps": 10, "step_drift": 1, "phases": [{"steps": 2, "step_ms": 8}, {"steps": 3, "step_ms": 9}]})");
  EXPECT_DOUBLE_EQ(settings.mean_step_ms(0), 8.0);
  EXPECT_DOUBLE_EQ(settings.mean_step_ms(1), 8.8);
  EXPECT_DOUBLE_EQ(settings.mean_step_ms(2), 10.8);
  EXPECT_DOUBLE_EQ(settings.mean_step_ms(9), 17.1) << "the last phase lasts to the end";
  for (const char* const mock : {R"({"phases": 3})", R"({"phases": [{"steps": 0}]})", R"({"phases": [{"ms": 1}]})"})
    EXPECT_THROW(read(mock), core::Error) << mock;
}

}  // namespace
}  // namespace nanobench::tools

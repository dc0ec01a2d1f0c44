// NorMuon's second moments and the schedules of records #22 to #41 against the golden data.
#include <gtest/gtest.h>

#include "core/config/schedule.h"
#include "engine/optim/muon.h"
#include "engine/optim/second_moment.h"
#include "tests/engine/golden_support.h"

namespace nanobench::core::testing {
namespace {

TEST(SecondMoment, NormalisesAsGolden) {
  int checked = 0;
  for (const OpCase& one : op_cases("second_moment")) {
    if (one.name.starts_with("step_")) continue;
    for (const at::ScalarType dtype : kBothDtypes) {
      const at::Tensor updates = one.input("updates", dtype);
      SecondMoment moment({{.tensor = at::zeros_like(updates[0])}}, one.attributes.at("second_moment_beta2"), false);
      for (std::int64_t step = 0; step < updates.size(0); ++step) {
        std::vector<at::Tensor> update = {updates[step].clone()};
        moment.normalize_(update);
        EXPECT_LE(relative_error(update[0], one["normalized"][step]), one.tolerance_of(dtype)) << one.name << step;
      }
      EXPECT_LE(relative_error(moment.moments()[0], one["second_moment"]), one.tolerance_of(dtype)) << one.name;
      ++checked;
    }
  }
  EXPECT_EQ(checked, 12);
}

TEST(SecondMoment, WholeUpdatesAreGolden) {
  int checked = 0;
  for (const OpCase& one : op_cases("second_moment")) {
    if (!one.name.starts_with("step_")) continue;
    const OptimizerGroupConfig config{.type = OptimizerType::kMuon,
                                      .lr = one.attributes.at("lr"),
                                      .orthogonalizer = Orthogonalizer::kPolarExpress,
                                      .ns_eps = one.attributes.at("ns_eps"),
                                      .ns_dtype = NewtonSchulzDtype::kCompute,
                                      .second_moment_beta2 = one.attributes.at("second_moment_beta2").get<double>()};
    const bool is_qkvo = one.name.starts_with("step_qkvo");
    const auto momenta = one.attributes.at("momentum_by_step").get<std::vector<double>>();
    for (const at::ScalarType dtype : kBothDtypes) {
      const at::Tensor start = one.input("parameter", dtype);
      MuonParameter parameter{.tensor = start.clone().requires_grad_(true), .matrices = is_qkvo ? 4 : 1};
      if (one.name == "step_qkvo_wide") parameter.matrix_columns = start.size(0);
      Muon muon({parameter}, config);
      for (std::size_t step = 0; step < momenta.size(); ++step) {
        const auto index = static_cast<std::int64_t>(step);
        parameter.tensor.mutable_grad() = one.input("gradients", dtype)[index];
        muon.step(1.0, momenta[step]);
        EXPECT_LE(relative_error(parameter.tensor, one["parameter_after"][index]), one.tolerance_of(dtype))
            << one.name << " step " << step << " " << dtype;
      }
      EXPECT_LE(relative_error(muon.momentum_buffer(0), one["buffer_after"]), one.tolerance_of(dtype)) << one.name;
      EXPECT_LE(relative_error(muon.second_moments(0), one["second_moment_after"]), one.tolerance_of(dtype))
          << one.name;
      ++checked;
    }
  }
  EXPECT_EQ(checked, 6);
}

/// [step, window, windows by layer, attention scale] wherever one of them changes.
Json windows_from_step(const TrainConfig& config) {
  Json changes = Json::array();
  const std::int64_t total = config.schedule.total_steps();
  for (std::int64_t step = 0; step <= total; ++step) {
    const StepWindows windows = step_windows(config.attention, config.schedule, step);
    const WindowConfig& window = config.attention.window;
    Json layers = Json::array();
    for (std::int64_t layer = 0; layer < config.model.num_layers; ++layer) {
      const auto is_in = [&](const std::vector<std::int64_t>& list) {
        return std::find(list.begin(), list.end(), layer) != list.end();
      };
      const bool is_listed = windows.listed && is_in(window.final_validation_layers);
      layers.push_back(is_listed ? *windows.listed : is_in(window.half_layers) ? *windows.half : *windows.whole);
    }
    const double scale = grown_attention_scale(config.model, window_history(config.attention, config.schedule, step));
    const Json entry = {step, *windows.whole, layers, scale};
    const bool is_same = !changes.empty() && changes.back()[1] == entry[1] && changes.back()[2] == entry[2];
    if (!is_same || step == total) changes.push_back(entry);
  }
  return changes;
}

TEST(Schedule, OfRecords22To41AreGolden) {
  int checked = 0;
  const std::filesystem::path folder = golden_data("golden_22_41");
  for (const Json& expected : read_json_file(folder / "ops_22_41" / "schedules.json")) {
    const std::string name = "record" + std::to_string(expected.at("record").get<int>());
    const TrainConfig config = read_train_config_file((folder / "records" / (name + ".json")).string());
    ASSERT_EQ(config.schedule.total_steps(), expected.at("total_steps").get<std::int64_t>());
    for (const Json& pair : expected.at("learning_rate_factor"))
      EXPECT_NEAR(learning_rate_factor(config.schedule, pair[0]), pair[1].get<double>(), 1e-12) << name << pair;
    for (const Json& pair : expected.at("muon_momentum"))
      EXPECT_NEAR(muon_momentum(config.schedule, pair[0]), pair[1].get<double>(), 1e-12) << name << pair;
    const Json got = windows_from_step(config);
    ASSERT_EQ(got.size(), expected.at("windows_from_step").size()) << name << got;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const Json& want = expected.at("windows_from_step")[i];
      EXPECT_EQ(Json({got[i][0], got[i][1], got[i][2]}), Json({want[0], want[1], want[2]})) << name;
      EXPECT_NEAR(got[i][3].get<double>(), want[3].get<double>(), 1e-12) << name;
    }
    ++checked;
  }
  EXPECT_EQ(checked, 20);
}

}  // namespace
}  // namespace nanobench::core::testing

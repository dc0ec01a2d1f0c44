// Adam, Muon and the schedules against the golden updates.
#include <gtest/gtest.h>

#include "core/config/schedule.h"
#include "core/config/train_config_names.h"
#include "engine/optim/adam.h"
#include "engine/optim/muon.h"
#include "tests/engine/golden_support.h"

namespace nanobench::core::testing {
namespace {

template <class Enum>
Enum enum_of(const Json& value) {
  for (const auto& [candidate, name] : enum_table(Enum{})) {
    if (value.get<std::string>() == name) return candidate;
  }
  throw std::runtime_error("unknown enumerator " + value.dump());
}

TEST(Adam, UpdatesAreGolden) {
  for (const OpCase& one : op_cases("adam_step")) {
    const auto rates = one.attributes.at("lr_by_step").get<std::vector<double>>();
    const OptimizerGroupConfig config{.lr = 1.0,
                                      .beta1 = one.attributes.at("betas")[0].get<double>(),
                                      .beta2 = one.attributes.at("betas")[1].get<double>(),
                                      .eps = one.attributes.at("eps").get<double>()};
    for (const at::ScalarType dtype : kBothDtypes) {
      at::Tensor parameter = one.input("parameter", dtype).requires_grad_(true);
      Adam adam({parameter}, config);
      for (std::size_t step = 0; step < rates.size(); ++step) {
        const auto index = static_cast<std::int64_t>(step);
        parameter.mutable_grad() = one.input("gradients", dtype)[index];
        adam.step(rates[step]);
        EXPECT_LE(relative_error(parameter, one["parameter_after"][index]), one.tolerance_of(dtype))
            << one.name << " step " << step;
      }
      EXPECT_LE(relative_error(adam.first_moments()[0], one["first_moment"]), one.tolerance_of(dtype));
      EXPECT_LE(relative_error(adam.second_moments()[0], one["second_moment"]), one.tolerance_of(dtype));
    }
  }
}

OptimizerGroupConfig optim_golden_muon_config(const Json& attributes) {
  return {.type = OptimizerType::kMuon,
          .lr = attributes.at("lr").get<double>(),
          .nesterov = attributes.at("nesterov").get<bool>(),
          .momentum_form = enum_of<MomentumForm>(attributes.at("momentum_form")),
          .orthogonalizer = enum_of<Orthogonalizer>(attributes.at("orthogonalizer")),
          .ns_steps = attributes.at("ns_steps").get<std::int64_t>(),
          .ns_eps = attributes.at("ns_eps").get<double>(),
          .ns_dtype = enum_of<NewtonSchulzDtype>(attributes.at("ns_dtype")),
          .update_scale = enum_of<UpdateScale>(attributes.at("update_scale"))};
}

TEST(Muon, UpdatesAreGolden) {
  int checked = 0;
  for (const OpCase& one : op_cases("muon_step")) {
    const auto momenta = one.attributes.at("momentum_by_step").get<std::vector<double>>();
    for (const at::ScalarType dtype : kBothDtypes) {
      at::Tensor parameter = one.input("parameter", dtype).requires_grad_(true);
      Muon muon({{parameter, 1}}, optim_golden_muon_config(one.attributes));
      for (std::size_t step = 0; step < momenta.size(); ++step) {
        const auto index = static_cast<std::int64_t>(step);
        parameter.mutable_grad() = one.input("gradients", dtype)[index];
        muon.step(1.0, momenta[step]);
        EXPECT_LE(relative_error(parameter, one["parameter_after"][index]), one.tolerance_of(dtype))
            << one.name << " step " << step;
      }
      EXPECT_LE(relative_error(muon.momentum_buffer(0), one["buffer_after"]), one.tolerance_of(dtype)) << one.name;
      ++checked;
    }
  }
  EXPECT_EQ(checked, 36);
}

TEST(Muon, StackedAndMergedMatricesAreUpdatedOneByOne) {
  // Batches by shape, a stacked (3 R, C) parameter and a merged (3, R, C) one: the same as three parameters.
  at::manual_seed(1);
  const at::Tensor start = at::randn({3, 16, 16}, at::kDouble);
  const at::Tensor gradient = at::randn({3, 16, 16}, at::kDouble);
  const OptimizerGroupConfig config{.type = OptimizerType::kMuon,
                                    .lr = 0.1,
                                    .ns_dtype = NewtonSchulzDtype::kCompute,
                                    .update_scale = UpdateScale::kSqrtLargestSide};
  const auto after_one_step = [&](std::vector<MuonParameter> parameters, const std::vector<at::Tensor>& gradients) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i].tensor.requires_grad_(true);
      parameters[i].tensor.mutable_grad() = gradients[i];
    }
    Muon(parameters, config).step(0.5, 0.9);
    std::vector<at::Tensor> flat;
    for (const MuonParameter& parameter : parameters) flat.push_back(parameter.tensor.detach().reshape({-1, 16, 16}));
    return at::cat(flat);
  };
  const at::Tensor separate = after_one_step({{start[0].clone()}, {start[1].clone()}, {start[2].clone()}},
                                             {gradient[0], gradient[1], gradient[2]});
  EXPECT_LE(relative_error(after_one_step({{start.clone(), 3}}, {gradient}), separate), 1e-13);
  EXPECT_LE(
      relative_error(after_one_step({{start.clone().reshape({48, 16}), 3}}, {gradient.reshape({48, 16})}), separate),
      1e-13);
  EXPECT_GT(
      relative_error(after_one_step({{start.clone().reshape({48, 16}), 1}}, {gradient.reshape({48, 16})}), separate),
      1e-3);
}

TEST(Schedule, RecordsAtTheirRealSizeAreGolden) {
  int checked = 0;
  for (const Json& expected : read_json_file(golden_folder() / "ops" / "schedules.json")) {
    const std::string number = std::to_string(expected.at("record").get<int>());
    const std::string file = "record" + std::string(number.size() < 2 ? "0" : "") + number + ".json";
    const TrainConfig config = read_train_config_file((golden_folder() / "records" / file).string());
    const std::int64_t steps = expected.at("num_steps").get<std::int64_t>();
    ASSERT_EQ(config.schedule.num_steps, steps);
    for (const Json& pair : expected.at("learning_rate_factor")) {
      EXPECT_NEAR(learning_rate_factor(config.schedule, pair[0].get<std::int64_t>()), pair[1].get<double>(), 1e-15)
          << file << " " << pair;
    }
    for (const Json& pair : expected.at("muon_momentum")) {
      EXPECT_NEAR(muon_momentum(config.schedule, pair[0].get<std::int64_t>()), pair[1].get<double>(), 1e-15)
          << file << " " << pair;
    }
    Json changes = Json::array();
    std::int64_t last = -1;
    for (std::int64_t step = 0; step <= steps; ++step) {
      const std::optional<std::int64_t> window = window_tokens(config.attention.window.schedule, step, steps);
      if (window.value_or(0) != last) changes.push_back({step, window ? Json(*window) : Json()});
      last = window.value_or(0);
    }
    EXPECT_EQ(changes, expected.at("window_tokens_from_step")) << file;
    ++checked;
  }
  EXPECT_GE(checked, 7);
}

}  // namespace
}  // namespace nanobench::core::testing

#include "engine/cuda/second_moment.h"

#include "kernel_numbers.h"

namespace nanobench::core::cuda {
namespace {

constexpr double kBeta2 = 0.95, kRate = 0.03125;

struct MomentCase {
  std::size_t rows, columns, matrices;
  bool rounds;
};

/// One matrix by the formulas in float64.
struct MomentReference {
  std::size_t rows, columns;
  Doubles v, s, parameter;
  Rounding rounded;

  std::size_t group(std::size_t i) const { return rows >= columns ? i / columns : i % columns; }
  double norm() const {
    double squares = 0.0;
    for (const double x : v) squares += x * x;
    return std::sqrt(squares);
  }
  void normalize() {
    const double before = norm(), count = static_cast<double>(rows >= columns ? columns : rows);
    Doubles mean(s.size());
    for (std::size_t i = 0; i < v.size(); ++i) mean[group(i)] += v[i] * v[i] / count;
    for (std::size_t i = 0; i < s.size(); ++i) s[i] += (1.0 - kBeta2) * (mean[i] - s[i]);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = rounded(v[i] / std::max(std::sqrt(s[group(i)]), 1e-10));
    const double factor = before / std::max(norm(), 1e-10);
    for (std::size_t i = 0; i < v.size(); ++i) {
      v[i] = rounded(v[i] * factor);
      parameter[i] -= kRate * v[i];
    }
  }
};

std::vector<MomentReference> moment_references(const MomentCase& c) {
  std::vector<MomentReference> matrices;
  for (std::size_t m = 0; m < c.matrices; ++m) {
    const std::size_t count = c.rows * c.columns;
    const Doubles v = c.rounds ? random_bf16(count, 3 * m + 1, 0.2) : random_floats(count, 3 * m + 1, 0.2);
    Doubles s = random_floats(std::max(c.rows, c.columns), 3 * m + 2, 0.2);
    for (double& x : s) x = static_cast<double>(static_cast<float>(x * x));
    matrices.push_back({c.rows, c.columns, v, s, random_floats(count, 3 * m + 3),
                        c.rounds ? Rounding(to_nearest_bf16) : Rounding(unrounded)});
  }
  return matrices;
}

struct MomentDevice {
  std::vector<DeviceArray<float>> updates, moments, parameters;
  DeviceArray<float> workspace;
  DeviceSecondMoment of;

  MomentDevice(const std::vector<MomentReference>& matrices, bool rounds, bool takes_parameters)
      : workspace(static_cast<std::size_t>(second_moment_workspace(static_cast<std::int64_t>(matrices.front().rows),
                                                                   static_cast<std::int64_t>(matrices.front().columns),
                                                                   static_cast<std::int64_t>(matrices.size())))) {
    of.rows = static_cast<std::int64_t>(matrices.front().rows);
    of.columns = static_cast<std::int64_t>(matrices.front().columns);
    of.matrices = static_cast<std::int64_t>(matrices.size());
    of.rate = static_cast<float>(kRate);
    of.rest = static_cast<float>(1.0 - kBeta2);
    of.rounds = rounds;
    for (const MomentReference& matrix : matrices) {
      updates.emplace_back(matrix.v);
      moments.emplace_back(matrix.s);
      parameters.emplace_back(matrix.parameter);
    }
    for (std::size_t m = 0; m < matrices.size(); ++m) {
      of.updates[m] = updates[m].data();
      of.moments[m] = moments[m].data();
      if (takes_parameters) of.parameters[m] = parameters[m].data();
    }
  }
};

class SecondMomentOnDevice : public ::testing::TestWithParam<MomentCase> {};
INSTANTIATE_TEST_SUITE_P(Shapes, SecondMomentOnDevice,
                         ::testing::Values(MomentCase{1, 12, 1, true}, MomentCase{6, 12, 3, true},
                                           MomentCase{12, 12, 2, false}, MomentCase{96, 384, 3, true},
                                           MomentCase{96, 384, 2, false}, MomentCase{300, 37, 2, true},
                                           MomentCase{30, 37, 64, false}));

TEST_P(SecondMomentOnDevice, IsThatOfTheFormulas) {
  const MomentCase& c = GetParam();
  for (const bool takes_parameters : {true, false}) {
    std::vector<MomentReference> matrices = moment_references(c);
    const std::vector<MomentReference> before = matrices;
    MomentDevice device(matrices, c.rounds, takes_parameters);
    second_moment_normalize(device.of, device.workspace.data(), nullptr);
    for (std::size_t m = 0; m < matrices.size(); ++m) {
      matrices[m].normalize();
      expect_near(device.moments[m].values(), matrices[m].s, 1e-6, "moments");
      if (c.rounds) {
        // A rounding on the other side of a tie passes through the second one too.
        expect_rounded(device.updates[m].values(), matrices[m].v, "update", 1.0 / 64, 0.05);
      } else {
        expect_near(device.updates[m].values(), matrices[m].v, 1e-6, "update");
      }
      const Doubles& parameter = takes_parameters ? matrices[m].parameter : before[m].parameter;
      expect_near(device.parameters[m].values(), parameter, c.rounds ? 1e-3 : 1e-6, "parameter");
      EXPECT_TRUE(device.updates[m].has_whole_guards() && device.moments[m].has_whole_guards() &&
                  device.parameters[m].has_whole_guards());
    }
    EXPECT_TRUE(device.workspace.has_whole_guards());
  }
}

TEST(SecondMomentOnDevice, OrderOfBlocksChangesNoBit) {
  const std::vector<MomentReference> matrices = moment_references({300, 128, 2, true});
  expect_same_in_every_order([&] {
    MomentDevice device(matrices, true, true);
    second_moment_normalize(device.of, device.workspace.data(), nullptr);
    return joined({device.updates[0].contents(), device.updates[1].contents(), device.moments[1].contents(),
                   device.parameters[1].contents()});
  });
}

TEST(SecondMomentOnDevice, RefusesMoreMatricesThanItHasRoomFor) {
  DeviceSecondMoment of;
  of.rows = of.columns = 8;
  of.matrices = kSecondMomentMatrices + 1;
  EXPECT_THROW(second_moment_normalize(of, nullptr, nullptr), Error);
}

}  // namespace
}  // namespace nanobench::core::cuda

// The operations of records #22 to #41 against the golden single operations, in float64 and float32, with and without
// kernels.
#include <gtest/gtest.h>

#include "core/data/block_mask.h"
#include "engine/ops/gates.h"
#include "engine/ops/orthogonalize.h"
#include "engine/ops/rms_norm.h"
#include "engine/ops/rotary.h"
#include "engine/ops/softcapped_cross_entropy.h"
#include "tests/engine/golden_support.h"

namespace nanobench::core::testing {
namespace {

void expect_golden(const OpCase& one, const char* what, const at::Tensor& got, at::ScalarType dtype) {
  EXPECT_LE(relative_error(got, one[what]), one.tolerance_of(dtype))
      << one.op << " " << one.name << " " << what << " " << dtype;
}

TEST(PolarExpress, IsGolden) {
  int checked = 0;
  for (const OpCase& one : op_cases("polar_express")) {
    for (const at::ScalarType dtype : kBothDtypes) {
      const NewtonSchulzOptions options{.steps = one.attributes.at("ns_steps").get<std::int64_t>(),
                                        .eps = one.attributes.at("ns_eps").get<double>(),
                                        .is_polar_express = true};
      expect_golden(one, "y", newton_schulz(one.input("g", dtype), options), dtype);
      ++checked;
    }
  }
  EXPECT_EQ(checked, 14);
}

TEST(PolarExpress, FusedRoundingIsCloserToTheExactIterations) {
  at::manual_seed(11);
  const at::Tensor g = at::randn({24, 40});
  NewtonSchulzOptions options{.eps = 1e-6, .is_polar_express = true};
  const at::Tensor exact = newton_schulz(g.to(at::kDouble), options);
  options.dtype = NewtonSchulzDtype::kBfloat16;
  const double each = relative_error(newton_schulz(g, options), exact);
  options.rounding = NewtonSchulzRounding::kFused;
  const at::Tensor fused = newton_schulz(g, options);
  EXPECT_TRUE(at::equal(fused, fused.to(at::kBFloat16).to(at::kFloat)));
  EXPECT_LT(relative_error(fused, exact), each);
}

TEST(Yarn, FrequenciesAreGolden) {
  int checked = 0;
  for (const OpCase& one : op_cases("yarn")) {
    const auto windows = one.attributes.at("windows").get<std::vector<std::int64_t>>();
    for (const at::ScalarType dtype : kBothDtypes) {
      at::Tensor frequencies = one.input("frequencies", dtype);
      for (std::size_t i = 1; i < windows.size(); ++i) {
        frequencies = yarn_frequencies(frequencies, windows[i - 1], windows[i]);
        const auto row = static_cast<std::int64_t>(i) - 1;
        const at::Tensor expected = one["frequencies_after"];
        const bool has_start = expected.size(0) == static_cast<std::int64_t>(windows.size());
        EXPECT_LE(relative_error(frequencies, expected[has_start ? row + 1 : row]), one.tolerance_of(dtype))
            << one.name << " " << i;
        ++checked;
      }
    }
  }
  EXPECT_GE(checked, 24);
}

TEST(Smear, IsGolden) {
  for (const OpCase& one : op_cases("smear")) {
    for (const at::ScalarType dtype : kBothDtypes) {
      at::Tensor e = one.input("e", dtype).requires_grad_(true);
      at::Tensor weight = one.input("weight", dtype).requires_grad_(true);
      at::Tensor lambda = one.input("lam", dtype).reshape({}).detach().requires_grad_(true);
      const at::Tensor y = smear(e, weight, lambda);
      y.backward(one.input("output_gradient", dtype));
      expect_golden(one, "y", y, dtype);
      expect_golden(one, "de", e.grad(), dtype);
      expect_golden(one, "dweight", weight.grad(), dtype);
      expect_golden(one, "dlam", lambda.grad(), dtype);
    }
  }
}

TEST(Smear, KernelAndOperationsAgree) {
  at::manual_seed(4);
  for (const std::int64_t length : {1, 2, 77}) {
    std::map<at::ScalarType, std::vector<at::Tensor>> results;
    const at::Tensor rows = at::randn({length, 48}, at::kDouble), gate = at::randn({1, 12}, at::kDouble);
    const at::Tensor dy = at::randn({length, 48}, at::kDouble);
    for (const at::ScalarType dtype : kBothDtypes) {  // float32 takes the kernel
      at::Tensor e = rows.to(dtype, false, true).requires_grad_(true);
      at::Tensor weight = gate.to(dtype, false, true).requires_grad_(true);
      at::Tensor lambda = at::scalar_tensor(0.7, dtype).requires_grad_(true);
      const at::Tensor y = smear(e, weight, lambda);
      y.backward(dy.to(dtype));
      results[dtype] = {y.detach(), e.grad(), weight.grad(), lambda.grad()};
    }
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_LE(relative_error(results[at::kFloat][i], results[at::kDouble][i]), 3e-6) << length << " " << i;
  }
}

/// The gate by tensor operations on the normalised input, as the records write it.
at::Tensor plain_gated_heads(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight, double eps) {
  const at::Tensor read = rms_norm(x, eps).narrow(1, 0, weight.size(1));
  return y * at::sigmoid(at::matmul(read, weight.t())).unsqueeze(-1);
}

TEST(GatedHeads, KernelAndOperationsAgree) {
  at::manual_seed(6);
  const at::Tensor y0 = at::randn({61, 3, 16}, at::kDouble), x0 = at::randn({61, 64}, at::kDouble) * 3;
  const at::Tensor w0 = at::randn({3, 12}, at::kDouble), dy = at::randn({61, 3, 16}, at::kDouble);
  std::vector<std::vector<at::Tensor>> results;
  for (const bool is_plain : {true, false}) {
    const at::ScalarType dtype = is_plain ? at::kDouble : at::kFloat;
    at::Tensor y = y0.to(dtype, false, true).requires_grad_(true), x = x0.to(dtype, false, true).requires_grad_(true);
    at::Tensor weight = w0.to(dtype, false, true).requires_grad_(true);
    const at::Tensor out = is_plain ? plain_gated_heads(y, x, weight, 1e-3) : gated_heads(y, x, weight, 1e-3);
    out.backward(dy.to(dtype));
    results.push_back({out.detach(), y.grad(), x.grad(), weight.grad()});
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_LE(relative_error(results[1][i], results[0][i]), 3e-6) << i;
}

TEST(BlockMask, InclusiveWindowsAreGolden) {
  int checked = 0;
  for (const OpCase& one : op_cases("window_mask")) {
    const at::Tensor ids = one["tokens"].to(at::kLong);
    std::vector<std::uint16_t> tokens;
    for (std::int64_t i = 0; i < ids.numel(); ++i)
      tokens.push_back(static_cast<std::uint16_t>(ids[i].item<std::int64_t>()));
    const BlockMask mask(tokens, {.block_size = 1,
                                  .document_separator = one.attributes.at("document_separator").get<std::int64_t>(),
                                  .granularity = WindowGranularity::kTokenInclusive,
                                  .window_tokens = one.attributes.at("window_tokens").get<std::int64_t>()});
    const at::Tensor expected = one["mask"].to(at::kBool);
    for (std::int64_t q = 0; q < mask.length(); ++q) {
      for (std::int64_t k = 0; k < mask.length(); ++k) {
        const bool sees = k <= q && k >= mask.first_key()[static_cast<std::size_t>(q)];
        ASSERT_EQ(sees, expected[q][k].item<bool>()) << one.name << " " << q << " " << k;
      }
    }
    ++checked;
  }
  EXPECT_EQ(checked, 5);
}

TEST(CrossEntropy, InBfloat16IsGolden) {
  for (const OpCase& one : op_cases("bfloat16_cross_entropy")) {
    const HeadOptions options{.softcap = {one.attributes.at("softcap").get<double>(), SoftcapForm::kSigmoid},
                              .loss_rounding = LossRounding::kAll,
                              .is_sum = true};
    for (const at::ScalarType dtype : kBothDtypes) {
      at::Tensor z = one.input("z", dtype);
      const at::Tensor loss = cross_entropy_rows_(z, one["targets"].to(at::kLong), options, 1.0, true);
      expect_golden(one, "y", loss, dtype);
      expect_golden(one, "dz", z, dtype);
    }
  }
}

}  // namespace
}  // namespace nanobench::core::testing

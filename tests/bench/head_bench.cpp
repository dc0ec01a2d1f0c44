// The head with its loss: the chunked operation with its own backward pass, and T x V logits through autograd.
#include "tests/bench/bench_support.h"

namespace nanobench::bench {
namespace {

constexpr double kCap = 30;

at::Tensor plain_loss(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& targets) {
  const at::Tensor logits = at::tanh(at::linear(x, weight) / kCap) * kCap;
  return at::nll_loss(at::log_softmax(logits, -1), targets);
}

std::string name_of(const ModelShape& s, const std::string& path) {
  return "head/" + path + "/" + shape_name({{"T", s.length}, {"C", s.dim}, {"V", s.padded_vocab()}});
}

void add_whole_logits(const BenchOptions& options, const ModelShape& s) {
  const std::int64_t rows = s.padded_vocab();
  const double product = 2.0 * static_cast<double>(s.length) * static_cast<double>(s.dim) * static_cast<double>(rows);
  add_case(options, {.name = name_of(s, "whole_logits"), .flop = 3 * product}, [=] {
    const at::Tensor x = random_leaf({s.length, s.dim}), weight = random_leaf({rows, s.dim});
    const at::Tensor targets = at::randint(s.vocab, {s.length}, at::kLong);
    return forward_backward([=] { return plain_loss(x, weight, targets); }, {x, weight});
  });
}

}  // namespace

void head_bench(const BenchOptions& options) {
  for (const ModelShape& s : options.shapes) {
    core::OperationArm arm{
        .name = "engine", .shapes = {{"T", s.length}, {"C", s.dim}, {"V", s.padded_vocab()}}, .config = {}};
    arm.config.model.logit_softcap = kCap;
    add_operation(options, {.name = name_of(s, "engine")}, "softcapped_cross_entropy", arm);
    add_whole_logits(options, s);
  }
}

}  // namespace nanobench::bench

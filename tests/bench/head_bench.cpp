// The head with its loss: the chunked operation with its own backward pass, and T x V logits through autograd.
#include "engine/ops/softcapped_cross_entropy.h"
#include "tests/bench/bench_support.h"

namespace nanobench::bench {
namespace {

constexpr double kCap = 30;

at::Tensor plain_loss(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& targets) {
  const at::Tensor logits = at::tanh(at::linear(x, weight) / kCap) * kCap;
  return at::nll_loss(at::log_softmax(logits, -1), targets);
}

void add_path(const BenchOptions& options, const ModelShape& s, bool is_engine) {
  const std::int64_t rows = s.padded_vocab();
  const std::string name = std::string("head/") + (is_engine ? "engine" : "whole_logits") + "/" +
                           shape_name({{"T", s.length}, {"C", s.dim}, {"V", rows}});
  const double product = 2.0 * static_cast<double>(s.length) * static_cast<double>(s.dim) * static_cast<double>(rows);
  add_case(options, {.name = name, .flop = 3 * product}, [=] {
    const at::Tensor x = random_leaf({s.length, s.dim}), weight = random_leaf({rows, s.dim});
    const at::Tensor targets = at::randint(s.vocab, {s.length}, at::kLong);
    const core::HeadOptions head{.softcap = {.cap = kCap}};
    std::function<at::Tensor()> engine = [=] { return core::softcapped_cross_entropy(x, weight, targets, head); };
    std::function<at::Tensor()> plain = [=] { return plain_loss(x, weight, targets); };
    return forward_backward(is_engine ? engine : plain, {x, weight});
  });
}

}  // namespace

void head_bench(const BenchOptions& options) {
  for (const ModelShape& s : options.shapes) {
    add_path(options, s, true);
    add_path(options, s, false);
  }
}

}  // namespace nanobench::bench

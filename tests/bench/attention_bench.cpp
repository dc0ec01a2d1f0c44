// Attention under a causal window: the vector kernel of every instruction set, tiles of tensors, and T x T products.
#include "engine/kernels/attention_kernel.h"
#include "engine/ops/attention.h"
#include "tests/bench/bench_support.h"

namespace nanobench::bench {
namespace {

constexpr double kBackwardShare = 2.5;        // of the forward pass's multiply-adds: five products instead of two
constexpr std::int64_t kLongestDense = 2048;  // T x T products beyond it take seconds a call

core::BlockMask mask_of(const ModelShape& s) {
  const std::vector<std::uint16_t> tokens(static_cast<std::size_t>(s.length), 1);
  return core::BlockMask(tokens, {.block_size = kBlockTokens,
                                  .document_mask = false,
                                  .granularity = core::WindowGranularity::kToken,
                                  .window_tokens = s.window});
}

enum class Path { kEngine, kTiles, kDense };

/// Tiles take what is not float32: a float64 plan sends float32 tensors there. Only its biases are float64.
std::shared_ptr<const core::AttentionPlan> plan_of(const core::BlockMask& mask, Path path) {
  return std::make_shared<const core::AttentionPlan>(mask, path == Path::kTiles ? at::kDouble : at::kFloat);
}

struct Heads {
  explicit Heads(const ModelShape& s)
      : q(random_leaf({s.length, s.heads, s.head_dim()})), k(random_leaf(q.sizes())), v(random_leaf(q.sizes())) {}
  at::Tensor q, k, v;
};

constexpr double kScale = 0.12;

std::function<at::Tensor()> operation(const ModelShape& s, const Heads& heads, Path path) {
  const core::BlockMask mask = mask_of(s);
  if (path == Path::kDense) return [=] { return core::dense_attention(heads.q, heads.k, heads.v, mask, kScale); };
  return [heads, plan = plan_of(mask, path)] { return core::attention(heads.q, heads.k, heads.v, plan, kScale); };
}

core::OperationArm arm_of(const ModelShape& s) {
  core::OperationArm arm{.name = "engine",
                         .shapes = {{"T", s.length}, {"H", s.heads}, {"D", s.head_dim()}, {"window_tokens", s.window}},
                         .config = {}};
  arm.config.model.num_heads = arm.config.model.num_kv_heads = s.heads;
  arm.config.model.attention_scale = kScale;
  arm.config.attention.block_size = kBlockTokens;
  arm.config.attention.window.granularity = core::WindowGranularity::kToken;
  return arm;
}

void add_path(const BenchOptions& options, const ModelShape& s, const std::string& name, Path path,
              std::optional<core::CpuPath> cpu_path = std::nullopt) {
  const std::string shape = shape_name({{"T", s.length}, {"W", s.window}, {"H", s.heads}, {"E", s.head_dim()}});
  const double flop = core::attention_forward_flops(
      {.length = s.length, .heads = s.heads, .kv_heads = s.heads, .head_dim = s.head_dim()}, mask_of(s).first_key());
  add_case(options, {.name = "attention_forward/" + name + "/" + shape, .flop = flop, .cpu_path = cpu_path},
           [=]() -> Body {
             return [run = operation(s, Heads(s), path)] {
               const at::NoGradGuard no_grad;
               run();
             };
           });
  const Case both{.name = "attention/" + name + "/" + shape, .flop = (1 + kBackwardShare) * flop, .cpu_path = cpu_path};
  if (path == Path::kEngine) return add_operation(options, both, "attention", arm_of(s));
  add_case(options, both, [=] {
    const Heads heads(s);
    return forward_backward(operation(s, heads, path), {heads.q, heads.k, heads.v});
  });
}

}  // namespace

void attention_bench(const BenchOptions& options) {
  for (const ModelShape& s : options.shapes) {
    add_path(options, s, "engine", Path::kEngine);
    for (const core::CpuPath path : core::available_cpu_paths())
      add_path(options, s, enum_name(path), Path::kEngine, path);
    add_path(options, s, "tiles", Path::kTiles);
    if (s.length <= kLongestDense) add_path(options, s, "dense", Path::kDense);
  }
}

}  // namespace nanobench::bench

// Attention of the official model against LibTorch's flash attention and cuDNN's. Documents are what both take as
// sequences of their own; a window in tokens is one of flash's, and cuDNN's takes none. A window in blocks is
// neither's: beside it stands flash with the window in tokens that has the same mean size.
#include "engine/cuda/attention.h"

#include <ATen/cuda/CUDAContext.h>

#include <algorithm>
#include <random>

#include "core/base/error.h"
#include "core/data/block_mask.h"
#include "tests/bench/gpu/gpu_bench_support.h"

namespace nanobench::gpu_bench {
namespace {

using core::cuda::AttentionWindow;
using core::cuda::bf16;

constexpr std::int64_t kBlockTokens = 128;
constexpr std::int64_t kMeanDocument = 900;  // tokens, about that of the speedrun's text
constexpr std::int32_t kSeparator = 50256;
constexpr float kScale = 0.12f;

struct Problem {
  std::int64_t length = 0;  ///< T
  AttentionWindow window = AttentionWindow::kToken;
  std::int64_t window_tokens = 0;  ///< 0: none
  bool has_documents = true;
};

std::vector<std::uint16_t> text_of(const Problem& p) {
  std::mt19937 random(3);
  std::bernoulli_distribution opens(1.0 / static_cast<double>(kMeanDocument));
  std::vector<std::uint16_t> tokens(static_cast<std::size_t>(p.length), 1);
  tokens[0] = static_cast<std::uint16_t>(kSeparator);
  for (std::size_t i = 1; i < tokens.size() && p.has_documents; ++i)
    if (opens(random)) tokens[i] = static_cast<std::uint16_t>(kSeparator);
  return tokens;
}

/// Pairs of a query and a key that it sees.
double pairs_of(const Problem& p) {
  core::BlockMaskOptions options{.block_size = kBlockTokens,
                                 .document_mask = true,
                                 .document_separator = kSeparator,
                                 .granularity = p.window == AttentionWindow::kToken ? core::WindowGranularity::kToken
                                                                                    : core::WindowGranularity::kBlock};
  if (p.window_tokens > 0) options.window_tokens = p.window_tokens;
  return static_cast<double>(core::BlockMask(text_of(p), options).allowed_pairs());
}

constexpr double kForwardProducts = 2, kBackwardProducts = 5;  // of queries with keys; what ours repeats is not counted

Work work_of(const Problem& p, double products) {
  const double head_bytes = 2.0 * static_cast<double>(p.length * kWidth);
  const double arrays = products == kForwardProducts ? 4 : 8;  // q, k, v, y; dy, dq, dk, dv
  return {.bytes = arrays * head_bytes, .flop = products * 2.0 * pairs_of(p) * static_cast<double>(kHeads * kHeadDim)};
}

/// What every contestant is given.
struct Heads {
  explicit Heads(const Problem& p)
      : q(normal({p.length, kHeads, kHeadDim})), k(q.roll({1}, {0})), v(q.roll({2}, {0})), dy(q.roll({3}, {0})) {}
  at::Tensor q, k, v, dy;
};

core::cuda::DeviceAttentionShape shape_of(const Problem& p) {
  return {static_cast<std::int32_t>(p.length), static_cast<std::int32_t>(kHeads), static_cast<std::int32_t>(kHeads),
          static_cast<std::int32_t>(kHeadDim)};
}

/// The mask on the GPU, and its kernel.
struct DeviceMask {
  explicit DeviceMask(const Problem& p)
      : length(static_cast<std::int32_t>(p.length)),
        granularity(p.window),
        first_key(zeros({p.length}, at::kInt)),
        last_query(zeros({p.length}, at::kInt)),
        window(upload(std::vector{static_cast<std::int32_t>(p.window_tokens)})) {
    const std::vector<std::uint16_t> text = text_of(p);
    tokens = upload(std::vector<std::int32_t>(text.begin(), text.end()));
  }
  void make() const {
    core::cuda::attention_mask({.tokens = numbers<std::int32_t>(tokens),
                                .length = length,
                                .document_separator = kSeparator,
                                .window = granularity,
                                .window_tokens = numbers<std::int32_t>(window)},
                               numbers<std::int32_t>(first_key), numbers<std::int32_t>(last_query), stream());
  }
  std::int32_t length;
  AttentionWindow granularity;
  at::Tensor first_key, last_query, window, tokens;
};

/// Ours, forward and backward.
struct Own {
  Own(const Problem& p, core::cuda::DeviceAttentionProducts kind)
      : heads(p),
        mask(p),
        shape(shape_of(p)),
        products(kind),
        y(at::empty_like(heads.q)),
        log_sums(zeros({kHeads, p.length}, at::kFloat)),
        row_sums(at::empty_like(log_sums)),
        dq(at::empty_like(y)),
        dk(at::empty_like(y)),
        dv(at::empty_like(y)) {
    mask.make();
    forward();
  }
  core::cuda::DeviceAttentionInputs inputs() const {
    return {.q = numbers<bf16>(heads.q),
            .k = numbers<bf16>(heads.k),
            .v = numbers<bf16>(heads.v),
            .mask = {numbers<std::int32_t>(mask.first_key), numbers<std::int32_t>(mask.last_query)},
            .scale = kScale,
            .products = products};
  }
  void forward() const {
    core::cuda::attention_forward(shape, inputs(), numbers<bf16>(y), numbers<float>(log_sums), stream());
  }
  void backward() const {
    core::cuda::attention_backward(shape, inputs(),
                                   {.dy = numbers<bf16>(heads.dy),
                                    .y = numbers<bf16>(y),
                                    .log_sums = numbers<float>(log_sums),
                                    .row_sums = numbers<float>(row_sums),
                                    .dq = numbers<bf16>(dq),
                                    .dk = numbers<bf16>(dk),
                                    .dv = numbers<bf16>(dv)},
                                   stream());
  }
  Heads heads;
  DeviceMask mask;
  core::cuda::DeviceAttentionShape shape;
  core::cuda::DeviceAttentionProducts products;
  at::Tensor y, log_sums, row_sums, dq, dk, dv;
};

/// Where the documents begin, and the end: as many sequences for LibTorch.
struct Sequences {
  explicit Sequences(const Problem& p) {
    const std::vector<std::uint16_t> text = text_of(p);
    std::vector<std::int32_t> starts;
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == kSeparator) starts.push_back(static_cast<std::int32_t>(i));
    starts.push_back(static_cast<std::int32_t>(p.length));
    for (std::size_t i = 1; i < starts.size(); ++i)
      longest = std::max<std::int64_t>(longest, starts[i] - starts[i - 1]);
    bounds = upload(starts).view(at::kInt);
  }
  at::Tensor bounds;
  std::int64_t longest = 0;
};

/// A query sees itself and `left` keys before it.
std::optional<std::int64_t> left_of(const Problem& p) {
  if (p.window_tokens == 0) return std::nullopt;
  return p.window_tokens - 1;
}

std::optional<std::int64_t> right_of(const Problem& p) {
  if (p.window_tokens == 0) return std::nullopt;
  return 0;
}

struct Flash {
  explicit Flash(const Problem& p) : problem(p), heads(p), sequences(p) { forward(); }
  at::Tensor forward() {
    std::tie(y, log_sums, seed, unused, std::ignore) = at::_flash_attention_forward(
        heads.q, heads.k, heads.v, sequences.bounds, sequences.bounds, sequences.longest, sequences.longest,
        /*dropout_p=*/0.0, /*is_causal=*/true, /*return_debug_mask=*/false, kScale, left_of(problem),
        right_of(problem));
    return y;
  }
  at::Tensor backward() const {
    return std::get<0>(at::_flash_attention_backward(heads.dy, heads.q, heads.k, heads.v, y, log_sums, sequences.bounds,
                                                     sequences.bounds, sequences.longest, sequences.longest,
                                                     /*dropout_p=*/0.0, /*is_causal=*/true, seed, unused, kScale,
                                                     left_of(problem), right_of(problem)));
  }
  Problem problem;
  Heads heads;
  Sequences sequences;
  at::Tensor y, log_sums, seed, unused;
};

struct Cudnn {
  explicit Cudnn(const Problem& p) : heads(p), sequences(p) { forward(); }
  at::Tensor forward() {
    std::tie(y, log_sums, std::ignore, std::ignore, std::ignore, std::ignore, seed, offset, std::ignore) =
        at::_cudnn_attention_forward(heads.q, heads.k, heads.v, /*attn_bias=*/std::nullopt, sequences.bounds,
                                     sequences.bounds, sequences.longest, sequences.longest,
                                     /*compute_log_sumexp=*/true, /*dropout_p=*/0.0, /*is_causal=*/true,
                                     /*return_debug_mask=*/false, kScale);
    return y;
  }
  at::Tensor backward() const {
    return std::get<0>(at::_cudnn_attention_backward(heads.dy, heads.q, heads.k, heads.v, y, log_sums, seed, offset,
                                                     /*attn_bias=*/{}, sequences.bounds, sequences.bounds,
                                                     sequences.longest, sequences.longest, /*dropout_p=*/0.0,
                                                     /*is_causal=*/true, kScale));
  }
  Heads heads;
  Sequences sequences;
  at::Tensor y, log_sums, seed, offset;
};

/// The pass of a contestant; `products` says which.
template <class Contender>
std::function<Body()> pass(const Problem& p, double products) {
  return [=]() -> Body {
    const auto contender = std::make_shared<Contender>(p);
    if (products == kForwardProducts) return [contender] { return contender->forward(); };
    return [contender] { return contender->backward(); };
  };
}

/// An error of the row where the GPU has no such instructions.
void check_products(core::cuda::DeviceAttentionProducts kind) {
  const cudaDeviceProp& gpu = *at::cuda::getCurrentDeviceProperties();
  if (kind == core::cuda::DeviceAttentionProducts::kWarpgroup && (gpu.major != 9 || gpu.minor != 0)) {
    throw core::Error(core::ErrorCode::kUnavailable, "products of warpgroups need compute capability 9.0");
  }
}

std::function<Body()> own_pass(const Problem& p, double products, core::cuda::DeviceAttentionProducts kind) {
  return [=]() -> Body {
    check_products(kind);
    const auto own = std::make_shared<Own>(p, kind);
    if (products == kForwardProducts)
      return [own] {
        own->forward();
        return own->y;
      };
    return [own] {
      own->backward();
      return own->dq;
    };
  };
}

/// A window of n blocks reaches back n - 1 of them and, at the mean, to the middle of its own.
Problem of_mean_window(const Problem& p) {
  Problem by_token = p;
  by_token.window = AttentionWindow::kToken;
  by_token.window_tokens = p.window_tokens - kBlockTokens / 2;
  return by_token;
}

std::vector<Contestant> contestants_of(const Problem& p, double products) {
  using core::cuda::DeviceAttentionProducts;
  std::vector<Contestant> all{
      {.name = "own", .prepare = own_pass(p, products, DeviceAttentionProducts::kWarp), .work = work_of(p, products)},
      {.name = "own_warpgroup",
       .prepare = own_pass(p, products, DeviceAttentionProducts::kWarpgroup),
       .work = work_of(p, products)}};
  if (p.window == AttentionWindow::kToken) {
    all.push_back({.name = "flash", .prepare = pass<Flash>(p, products), .work = work_of(p, products)});
  } else {
    const Problem similar = of_mean_window(p);
    all.push_back({.name = "flash_token_window",
                   .prepare = pass<Flash>(similar, products),
                   .work = work_of(similar, products),
                   .note = "flash has no block windows: " + std::to_string(similar.window_tokens) + " tokens, the mean",
                   .is_same_problem = false});
  }
  if (p.window_tokens == 0)
    all.push_back({.name = "cudnn", .prepare = pass<Cudnn>(p, products), .work = work_of(p, products)});
  return all;
}

std::string name_of(const Problem& p) {
  const std::string window = p.window_tokens == 0                  ? "none"
                             : p.window == AttentionWindow::kToken ? std::to_string(p.window_tokens) + "_tokens"
                                                                   : std::to_string(p.window_tokens) + "_in_blocks";
  return shape_name({{"T", p.length}, {"H", kHeads}, {"E", kHeadDim}}) + "/window:" + window +
         (p.has_documents ? "/documents" : "");
}

std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (const std::int64_t length : kLengths) {
    for (const std::int64_t window : {128, 384, 640, 896, 1280, 1792}) {
      all.push_back({length, AttentionWindow::kToken, window});
      all.push_back({length, AttentionWindow::kBlock, window});
    }
    all.push_back({length, AttentionWindow::kToken, 1024, false});
    all.push_back({length, AttentionWindow::kToken, 0});
  }
  return all;
}

}  // namespace

void attention_bench() {
  for (const Problem& p : problems()) {
    add_rows("attention_forward", name_of(p), contestants_of(p, kForwardProducts));
    add_rows("attention_backward", name_of(p), contestants_of(p, kBackwardProducts));
  }
  for (const std::int64_t length : kLengths) {
    const Problem p{length, AttentionWindow::kBlock, 1792};
    add_rows("attention_mask", name_of(p),
             {{.name = "own",
               .prepare = [p]() -> Body {
                 return [mask = DeviceMask(p)] {
                   mask.make();
                   return mask.first_key;
                 };
               },
               .work = {.bytes = 12.0 * static_cast<double>(length)}}});
  }
}

}  // namespace nanobench::gpu_bench

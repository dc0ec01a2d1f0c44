/// What the benchmarks of CUDA kernels share: cases, and how they are timed against each other on a GPU.
///
/// Contestants of one problem are timed in alternation: a round times one call of each, in turn, between two events on
/// the stream, after caches were overwritten; the order moves on from round to round. A row of Google Benchmark is one
/// contestant, an iteration of it one round; its counters are bytes and floating-point operations per second of what
/// was asked for, the median of the rounds, and the median of its time over that of the first contestant in the same
/// round. Nothing touches the GPU before the first row runs. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/cuda/types.h"
#include "engine/ops/torch.h"

namespace nanobench::gpu_bench {

/// One call of the operation; gives its main result, to be compared with that of others.
using Body = std::function<at::Tensor()>;

struct Work {
  double bytes = 0.0;  ///< that one call must read and write at least; 0: not reported
  double flop = 0.0;   ///< of the problem, whatever a contestant computes beyond it; 0: not reported
};

struct Contestant {
  std::string name;  ///< `own`, or whose it is
  std::function<Body()> prepare;
  Work work;
  std::string note = {};        ///< shown beside the row; where it solves another problem, which one
  bool is_same_problem = true;  ///< false: results are not compared
};

/// Adds a row `operation/contestant/shape` for each. An exception of one is an error of its row.
void add_rows(const std::string& operation, const std::string& shape, std::vector<Contestant> contestants);

/// "T:65536/D:128".
std::string shape_name(std::initializer_list<std::pair<const char*, std::int64_t>> fields);

/// Rounds of each row, at least 2.
void set_rounds(int rounds);

/// Defined by the generated table: calls every file's function.
void add_all_rows();

// The official model.
inline constexpr std::int64_t kLengths[] = {65536, 16384};  ///< T, tokens
inline constexpr std::int64_t kHeads = 6, kHeadDim = 128, kWidth = kHeads * kHeadDim, kMlpWidth = 4 * kWidth;
inline constexpr std::int64_t kVocabulary = 50304;

// Data on the GPU, the same at every call.
at::Tensor normal(at::IntArrayRef shape, at::ScalarType type = at::kBFloat16);
at::Tensor zeros(at::IntArrayRef shape, at::ScalarType type = at::kBFloat16);
/// [count] int32, below `below`: few numbers often, as tokens of a text.
at::Tensor tokens(std::int64_t count, std::int64_t below);

core::cuda::Stream stream();

/// The numbers of a tensor as kernels take them.
template <class Number>
Number* numbers(const at::Tensor& tensor) {
  return static_cast<Number*>(tensor.data_ptr());
}

/// Plain structs on the GPU.
template <class Plain>
at::Tensor upload(const std::vector<Plain>& values) {
  const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(Plain));
  return at::from_blob(const_cast<Plain*>(values.data()), {bytes}, at::kByte).to(at::kCUDA);
}

}  // namespace nanobench::gpu_bench

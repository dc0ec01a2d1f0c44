/// What the benchmarks of operations share: shapes, cases, and the rate that each is held against.
///
/// A case is timed on its own data, made when it runs, with its own number of threads. It reports GFLOP/s of the work
/// it was asked for, and that as a share of the float32 matrix product's rate, taken in the same process right after
/// it. Work that a path does beyond what was asked (a dense path's masked pairs) does not count, so paths compare by
/// it. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/hardware/processors.h"
#include "core/protocol/operation_spec.h"
#include "engine/ops/torch.h"

namespace nanobench::bench {

inline constexpr std::int64_t kBlockTokens = 128;

/// The model that an operation is taken from.
struct ModelShape {
  std::int64_t length = 1024;  ///< T, tokens
  std::int64_t window = 256;   ///< tokens
  std::int64_t dim = 128;      ///< C
  std::int64_t heads = 2;      ///< H
  std::int64_t layers = 12;    ///< L
  std::int64_t vocab = 257;    ///< V

  std::int64_t head_dim() const { return dim / heads; }
  std::int64_t padded_vocab() const { return (vocab + kBlockTokens - 1) / kBlockTokens * kBlockTokens; }
};

struct BenchOptions {
  std::vector<ModelShape> shapes;
  int threads = 1;
};

/// "T:1024/C:128": the fields of a shape that matter to an operation, as Google Benchmark writes arguments.
std::string shape_name(std::initializer_list<std::pair<const char*, std::int64_t>> fields);

struct Case {
  /// operation/path/shape. Path `engine` is what a run takes; `single_operations` are the engine's own that a fused one
  /// replaces; `autograd` is tensor operations alone.
  std::string name;
  double flop = 0.0;                          ///< floating-point operations of one call; 0: not reported
  double bytes = 0.0;                         ///< bytes that one call must read and write at least; 0: not reported
  std::optional<int> threads = std::nullopt;  ///< default: those of the options
  std::optional<core::CpuPath> cpu_path = std::nullopt;
};

using Body = std::function<void()>;

/// Adds a case to Google Benchmark. `prepare` makes its data, and returns one call of the operation; an exception in
/// either is an error of this case.
void add_case(const BenchOptions& options, Case description, std::function<Body()> prepare);

/// Adds a case whose call is an operation of the engine (engine/operations), as `nanobench run` measures it for claims:
/// forward and backward, or one update. Its number of floating-point operations is the operation's.
void add_operation(const BenchOptions& options, Case description, const std::string& op, core::OperationArm arm);

/// GFLOP/s of a float32 product of square matrices with the threads in use: the median of a few products.
double sgemm_gflops();

/// Standard normal float32 of this shape, the same at every call; `leaf`: with a gradient.
at::Tensor random(at::IntArrayRef shape);
at::Tensor random_leaf(at::IntArrayRef shape);

/// A call that makes y = operation(), goes back from a random gradient of y, and drops the gradients of the leaves.
Body forward_backward(std::function<at::Tensor()> operation, std::vector<at::Tensor> leaves);

/// Defined by the generated table: calls every file's function.
void add_all_cases(const BenchOptions& options);

}  // namespace nanobench::bench

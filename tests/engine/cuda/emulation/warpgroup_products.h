/// The asynchronous products of warpgroups (wgmma) on the CPU.
///
/// What it promises a test: a product's operands in shared memory are read when it is started or when it is waited for,
/// as the seed has it; accumulators hold NaN from the first product on until the wait, which fails if anything wrote to
/// them meanwhile. A product without wgmma_fence since the last wait, one that reads shared memory which some thread
/// has written and not passed to the asynchronous proxy, warps of a warpgroup that take different products, and a warp
/// that ends while its products are under way are an EmulationError. Descriptors are decoded bit by bit.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <source_location>
#include <vector>

#include "block_runner.h"

namespace nanobench::emulation {

/// What one lane passes. Descriptors as in engine/cuda/matrix_descriptor.cuh.
struct ProductOperand {
  float* d = nullptr;                ///< [columns / 8][4]
  const std::uint32_t* a = nullptr;  ///< [4], null: a_matrix holds a
  std::uint64_t a_matrix = 0;
  std::uint64_t b_matrix = 0;
  unsigned columns = 0;
  bool b_is_by_rows = false;  ///< a row of shared memory is a row of b, and not a column
  bool adds = false;
};

/// Called by every lane of a warp.
void start_product(ProductOperand operand, const std::source_location& where);
void fence_products(const std::source_location& where);
void commit_products(const std::source_location& where);
void wait_products(unsigned groups_left, const std::source_location& where);

/// Where dynamic shared memory begins, in the addresses of descriptors.
inline constexpr std::uint32_t kSharedBase = 1024;
std::uint32_t shared_address_of(const void* address);

/// The products of one warp.
class WarpProducts {
 public:
  explicit WarpProducts(unsigned warp) : warp_(warp) {}
  void start(void* const (&lanes)[kWarpLanes]);
  void fence();
  void commit();
  void wait(unsigned groups_left);
  bool is_idle() const { return open_.empty() && groups_.empty(); }
  bool has_started() const { return has_started_; }
  /// The same for warps that took the same products in the same order.
  std::uint64_t history() const { return history_; }

 private:
  static constexpr unsigned kRows = 16;
  static constexpr unsigned kInner = 16;

  struct Product {
    std::uint64_t a_matrix, b_matrix;
    bool a_is_shared, b_is_by_rows, adds, is_read = false;
    unsigned columns;
    float* d;  ///< of lane 0: names the accumulator
    std::array<float, kRows * kInner> a{};
    std::vector<float> b;  ///< [kInner][columns]
  };
  /// Sixteen rows of accumulators while products with them are under way.
  struct Accumulator {
    std::array<float*, kWarpLanes> lanes;
    unsigned columns;
    std::vector<float> values;  ///< [16][columns]
    unsigned products = 0;
  };

  void remember(std::uint64_t number);
  Accumulator& accumulator_of(void* const (&lanes)[kWarpLanes], const ProductOperand& operand);
  void read_operands(Product& product) const;
  void run(Product& product);
  void give_back(const Accumulator& accumulator) const;

  unsigned warp_;
  bool is_fenced_ = false;
  bool has_started_ = false;
  std::uint64_t history_ = 0;
  std::deque<Accumulator> accumulators_;
  std::vector<Product> open_;
  std::deque<std::vector<Product>> groups_;
};

}  // namespace nanobench::emulation

// Descriptors and register layouts of the PTX ISA ("Asynchronous warpgroup level matrix instructions").
#include "warpgroup_products.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

namespace nanobench::emulation {
namespace {

constexpr unsigned kGroupWarps = 4;
constexpr std::uint32_t kPoison = 0x7f80beef;  // a signalling NaN: arithmetic with it gives another one

/// A descriptor's fields, in bytes.
struct Matrix {
  explicit Matrix(std::uint64_t bits) : start(field(bits, 0)), leading(field(bits, 16)), stride(field(bits, 32)) {
    constexpr std::uint64_t kSwizzle128 = 1;
    constexpr std::uint32_t kPattern = 1024;
    constexpr std::uint32_t kRow = 128;
    if (bits >> 62 != kSwizzle128 || (bits >> 49 & 7) != 0) fail("a matrix descriptor without the 128-byte swizzle");
    if (start % kPattern >= kRow) fail("a matrix that begins inside the pattern of its swizzle");
  }
  static std::uint32_t field(std::uint64_t bits, unsigned place) {
    return static_cast<std::uint32_t>(bits >> place & 0x3fff) * 16;
  }
  /// Number `inner` of line `line`, where lines lie one after the other: eight of them, then `stride` further.
  float line_number(unsigned line, unsigned inner) const {
    return number(start + line / 8 * stride + line % 8 * 128 + inner * 2);
  }
  /// Number `column` of row `row`, where a row has 64 numbers in each panel.
  float panel_number(unsigned row, unsigned column) const {
    return number(start + column / 64 * leading + row / 8 * stride + row % 8 * 128 + column % 64 * 2);
  }
  static float number(std::uint32_t address) {
    const std::uint32_t turned = address ^ (address >> 7 & 7) << 4;
    if (turned < kSharedBase || turned + 2 > kSharedBase + dynamic_shared_bytes()) {
      fail("a product reads beside shared memory");
    }
    std::uint16_t bits;
    std::memcpy(&bits, dynamic_shared() + (turned - kSharedBase), sizeof(bits));
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }

  std::uint32_t start, leading, stride;
};

float low_half(std::uint32_t packed) {
  return std::bit_cast<float>(packed << 16);
}
float high_half(std::uint32_t packed) {
  return std::bit_cast<float>(packed & 0xffff0000U);
}

/// Row and column of a lane's accumulator i, [columns / 8][4].
std::pair<unsigned, unsigned> place_of_result(unsigned lane, unsigned i) {
  return {lane / 4 + i % 4 / 2 * 8, i / 4 * 8 + lane % 4 * 2 + i % 2};
}

void combine_start(void* const (&lanes)[kWarpLanes]) {
  products_of_warp().start(lanes);
}
void combine_fence(void* const (&)[kWarpLanes]) {
  products_of_warp().fence();
}
void combine_commit(void* const (&)[kWarpLanes]) {
  products_of_warp().commit();
}
void combine_wait(void* const (&lanes)[kWarpLanes]) {
  products_of_warp().wait(*static_cast<const unsigned*>(lanes[0]));
}

constexpr WarpOperation kStart{"wgmma", &combine_start};
constexpr WarpOperation kFence{"wgmma_fence", &combine_fence};
constexpr WarpOperation kCommit{"wgmma_commit", &combine_commit};
constexpr WarpOperation kWait{"wgmma_wait", &combine_wait};
constexpr std::uint32_t kAllLanes = 0xffffffffU;

}  // namespace

void start_product(ProductOperand operand, const std::source_location& where) {
  meet_warp(kStart, kAllLanes, &operand, where);
}
void fence_products(const std::source_location& where) {
  unsigned unused = 0;
  meet_warp(kFence, kAllLanes, &unused, where);
}
void commit_products(const std::source_location& where) {
  unsigned unused = 0;
  meet_warp(kCommit, kAllLanes, &unused, where);
}
void wait_products(unsigned groups_left, const std::source_location& where) {
  meet_warp(kWait, kAllLanes, &groups_left, where);
}

std::uint32_t shared_address_of(const void* address) {
  return static_cast<std::uint32_t>(static_cast<const unsigned char*>(address) - dynamic_shared()) + kSharedBase;
}

void WarpProducts::remember(std::uint64_t number) {
  constexpr std::uint64_t kPrime = 0x100000001b3U;
  history_ = (history_ ^ number) * kPrime + 1;
}

void WarpProducts::fence() {
  is_fenced_ = true;
  remember(1);
}

void WarpProducts::commit() {
  groups_.push_back(std::move(open_));
  open_.clear();
  remember(2);
}

void WarpProducts::wait(unsigned groups_left) {
  is_fenced_ = false;
  remember(3 + groups_left);
  for (; groups_.size() > groups_left; groups_.pop_front()) {
    for (Product& product : groups_.front()) run(product);
  }
}

void WarpProducts::start(void* const (&lanes)[kWarpLanes]) {
  const auto& first = *static_cast<const ProductOperand*>(lanes[0]);
  for (const void* lane : lanes) {
    const auto& operand = *static_cast<const ProductOperand*>(lane);
    if (operand.a_matrix != first.a_matrix || operand.b_matrix != first.b_matrix || operand.adds != first.adds) {
      fail("lanes of a warp start different products");
    }
  }
  if (!is_fenced_) fail("a product without wgmma_fence since the last wait");
  if (has_unfenced_writes()) fail("a product reads shared memory that was written without fence_async_proxy");
  has_started_ = true;
  remember(first.a_matrix);
  remember(first.b_matrix);
  remember(first.columns * 2 + (first.adds ? 1U : 0U));

  ++accumulator_of(lanes, first).products;
  Product product{.a_matrix = first.a_matrix,
                  .b_matrix = first.b_matrix,
                  .a_is_shared = first.a == nullptr,
                  .b_is_by_rows = first.b_is_by_rows,
                  .adds = first.adds,
                  .columns = first.columns,
                  .d = first.d,
                  .b = {}};
  if (!product.a_is_shared) {
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
      const std::uint32_t* const a = static_cast<const ProductOperand*>(lanes[lane])->a;
      for (unsigned i = 0; i < 4; ++i) {
        float* const pair = &product.a[(lane / 4 + i % 2 * 8) * kInner + lane % 4 * 2 + i / 2 * 8];
        pair[0] = low_half(a[i]);
        pair[1] = high_half(a[i]);
      }
    }
  }
  if (draw_number() % 2 == 0) read_operands(product);
  open_.push_back(std::move(product));
  statistics().tensor_products += first.columns / 8;
}

WarpProducts::Accumulator& WarpProducts::accumulator_of(void* const (&lanes)[kWarpLanes],
                                                        const ProductOperand& operand) {
  for (Accumulator& known : accumulators_) {
    if (known.lanes[0] != operand.d) continue;
    if (known.columns != operand.columns) fail("products of different widths share accumulators");
    return known;
  }
  Accumulator& made = accumulators_.emplace_back();
  made.columns = operand.columns;
  made.values.resize(std::size_t{kRows} * operand.columns);
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    float* const d = static_cast<const ProductOperand*>(lanes[lane])->d;
    made.lanes[lane] = d;
    for (unsigned i = 0; i < operand.columns / 2; ++i) {
      const auto [row, column] = place_of_result(lane, i);
      if (operand.adds) made.values[row * operand.columns + column] = d[i];
      d[i] = std::bit_cast<float>(kPoison);
    }
  }
  return made;
}

void WarpProducts::read_operands(Product& product) const {
  const unsigned first_row = warp_ % kGroupWarps * kRows;
  if (product.a_is_shared) {
    const Matrix a(product.a_matrix);
    for (unsigned row = 0; row < kRows; ++row) {
      for (unsigned k = 0; k < kInner; ++k) product.a[row * kInner + k] = a.line_number(first_row + row, k);
    }
  }
  const Matrix b(product.b_matrix);
  product.b.resize(std::size_t{kInner} * product.columns);
  for (unsigned k = 0; k < kInner; ++k) {
    for (unsigned column = 0; column < product.columns; ++column) {
      product.b[k * product.columns + column] =
          product.b_is_by_rows ? b.panel_number(k, column) : b.line_number(column, k);
    }
  }
  product.is_read = true;
}

void WarpProducts::run(Product& product) {
  if (!product.is_read) read_operands(product);
  const auto found = std::find_if(accumulators_.begin(), accumulators_.end(),
                                  [&](const Accumulator& known) { return known.lanes[0] == product.d; });
  if (!product.adds) std::fill(found->values.begin(), found->values.end(), 0.0f);
  for (unsigned row = 0; row < kRows; ++row) {
    float* const d = &found->values[row * product.columns];
    for (unsigned k = 0; k < kInner; ++k) {
      const float a = product.a[row * kInner + k];
      const float* const b = &product.b[k * product.columns];
      for (unsigned column = 0; column < product.columns; ++column) d[column] += a * b[column];
    }
  }
  if (--found->products == 0) {
    give_back(*found);
    accumulators_.erase(found);
  }
}

void WarpProducts::give_back(const Accumulator& accumulator) const {
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    for (unsigned i = 0; i < accumulator.columns / 2; ++i) {
      float& d = accumulator.lanes[lane][i];
      if (std::bit_cast<std::uint32_t>(d) != kPoison) fail("accumulators were written while a product was under way");
      const auto [row, column] = place_of_result(lane, i);
      d = accumulator.values[row * accumulator.columns + column];
    }
  }
}

}  // namespace nanobench::emulation

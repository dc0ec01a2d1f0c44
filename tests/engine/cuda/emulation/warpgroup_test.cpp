// Products of a warpgroup against plain loops, and what the emulation finds wrong with them.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "engine/cuda/panel_tile.cuh"

namespace nanobench::core::cuda {
namespace {

constexpr int kRows = 64;
constexpr int kInner = 128;
constexpr unsigned kThreads = 128;

/// Small whole numbers: sums of their products are exact.
struct Numbers {
  Numbers(int rows, int width, unsigned seed) : columns(width), values(static_cast<std::size_t>(rows * width)) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> small(-8, 8);
    for (float& x : values) x = static_cast<float>(small(random));
  }
  float at(int row, int column) const { return values[static_cast<std::size_t>(row * columns + column)]; }
  int columns;
  std::vector<float> values;
};

template <class AnyTile>
void fill(const AnyTile& tile, const Numbers& numbers, int rows) {
  for (int i = static_cast<int>(threadIdx.x); i < rows * numbers.columns / 2; i += static_cast<int>(blockDim.x)) {
    const int row = i / (numbers.columns / 2);
    const int column = i % (numbers.columns / 2) * 2;
    store_vector(tile.at(row, column / 8) + column % 8 * 2,
                 pack_bf16(numbers.at(row, column), numbers.at(row, column + 1)));
  }
}

/// A lane's part of a warpgroup's [64, kColumns], by the formulas of the PTX ISA for element i of a lane: row = 16 warp
/// + lane / 4 (+ 8 if i / 2 is odd), column = 8 (i / 4) + 2 (lane % 4) + i % 2.
template <int kColumns, class Visit>
void for_each_result(const Visit& visit) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
  for (int i = 0; i < kColumns / 2; ++i) {
    visit(i / 4, i % 4, 16 * warp + lane / 4 + (i / 2 % 2 == 1 ? 8 : 0), 8 * (i / 4) + 2 * (lane % 4) + i % 2);
  }
}

/// What a kernel is to do wrong.
enum class Fault { kNone, kNoFence, kNoProxyFence, kNoWait, kTouches, kOverwrites, kHalf };

struct Case {
  const Numbers* left;   ///< [64, kInner]
  const Numbers* right;  ///< [kColumns, kInner] along rows, [kInner, kColumns] across them
  const Numbers* start;  ///< [64, kColumns]
  float* results;        ///< [64, kColumns]
  Fault fault = Fault::kNone;
};

void begin(const Case& c) {
  if (c.fault != Fault::kNoProxyFence) fence_async_proxy();
  __syncthreads();
  if (c.fault != Fault::kNoFence) wgmma_fence();
}

template <int kColumns>
void finish(const Case& c, float (&d)[kColumns / 8][4], unsigned char* operand) {
  wgmma_commit();
  if (c.fault == Fault::kTouches) d[0][0] += 1.0f;
  if (c.fault == Fault::kOverwrites) *reinterpret_cast<std::uint32_t*>(operand) = 0;
  if (c.fault == Fault::kNoWait) return;
  wgmma_wait<0>();
  for_each_result<kColumns>([&](int j, int i, int row, int column) { c.results[row * kColumns + column] = d[j][i]; });
}

template <int kColumns>
void load(const Case& c, float (&d)[kColumns / 8][4]) {
  for_each_result<kColumns>([&](int j, int i, int row, int column) { d[j][i] = c.start->at(row, column); });
}

/// results = left right^T: both operands in shared memory, as scores are computed.
template <int kColumns>
void multiply_along_rows(Case c) {
  NB_DYNAMIC_SHARED(shared);
  const PanelTile<kInner, kRows> left{shared};
  const PanelTile<kInner, kColumns> right{shared + left.kBytes};
  fill(left, *c.left, kRows);
  fill(right, *c.right, kColumns);
  float d[kColumns / 8][4];
  begin(c);
  if (c.fault == Fault::kHalf && threadIdx.x >= kThreads / 2) return;
  start_rows(d, left, 0, right);
  finish<kColumns>(c, d, right.at(0, 0));
}

/// results = start + left right: left in registers, as weights meet values.
template <int kColumns>
void multiply_across_rows(Case c) {
  NB_DYNAMIC_SHARED(shared);
  const PanelTile<kColumns, kInner> right{shared};
  fill(right, *c.right, kInner);
  float weights[kInner / 8][4];
  for_each_result<kInner>([&](int j, int i, int row, int column) { weights[j][i] = c.left->at(row, column); });
  float d[kColumns / 8][4];
  load<kColumns>(c, d);
  const LeftFragments<kInner> left(weights);
  begin(c);
  start_results<kInner, kColumns>(d, left, right);
  finish<kColumns>(c, d, right.at(0, 0));
}

template <int kColumns>
class EmulatedProducts {
 public:
  static constexpr int kSharedBytes = PanelTile<kInner, kRows>::kBytes + PanelTile<kInner, kColumns>::kBytes;

  std::vector<float> along_rows(Fault fault = Fault::kNone) {
    const Numbers right(kColumns, kInner, 2);
    return run(&multiply_along_rows<kColumns>, right, fault);
  }
  std::vector<float> across_rows(Fault fault = Fault::kNone) {
    const Numbers right(kInner, kColumns, 3);
    return run(&multiply_across_rows<kColumns>, right, fault);
  }
  std::vector<float> expected(bool is_along_rows) const {
    const Numbers right = is_along_rows ? Numbers(kColumns, kInner, 2) : Numbers(kInner, kColumns, 3);
    std::vector<float> sums;
    for (int row = 0; row < kRows; ++row) {
      for (int column = 0; column < kColumns; ++column) {
        float sum = is_along_rows ? 0.0f : start_.at(row, column);
        for (int k = 0; k < kInner; ++k) {
          sum += left_.at(row, k) * (is_along_rows ? right.at(column, k) : right.at(k, column));
        }
        sums.push_back(sum);
      }
    }
    return sums;
  }

 private:
  std::vector<float> run(void (*kernel)(Case), const Numbers& right, Fault fault) {
    std::vector<float> results(std::size_t{kRows} * kColumns, -1.0f);
    const Case c{&left_, &right, &start_, results.data(), fault};
    launch("products", {dim3(1), dim3(kThreads), kSharedBytes, nullptr}, kernel, c);
    return results;
  }

  Numbers left_{kRows, kInner, 1};
  Numbers start_{kRows, kColumns, 4};
};

TEST(EmulatedWarpgroup, MultipliesLikeALoopWhateverIsReadEarlyOrLate) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    emulation::set_seed(seed);
    EXPECT_EQ(EmulatedProducts<64>().along_rows(), EmulatedProducts<64>().expected(true));
    EXPECT_EQ(EmulatedProducts<128>().along_rows(), EmulatedProducts<128>().expected(true));
    EXPECT_EQ(EmulatedProducts<64>().across_rows(), EmulatedProducts<64>().expected(false));
    EXPECT_EQ(EmulatedProducts<128>().across_rows(), EmulatedProducts<128>().expected(false));
  }
}

std::string warpgroup_error_of(Fault fault) {
  try {
    EmulatedProducts<64>().along_rows(fault);
  } catch (const emulation::EmulationError& error) {
    return error.what();
  }
  return "none";
}

TEST(EmulatedWarpgroup, NamesWhatAKernelDoesWrong) {
  const auto has = [](Fault fault, const std::string& part) {
    const std::string error = warpgroup_error_of(fault);
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  has(Fault::kNoFence, "without wgmma_fence since the last wait");
  has(Fault::kNoProxyFence, "written without fence_async_proxy");
  has(Fault::kNoWait, "ended while its products were under way");
  has(Fault::kTouches, "accumulators were written while a product was under way");
  has(Fault::kHalf, "the warps of a warpgroup took different products");
}

TEST(EmulatedWarpgroup, AnOperandThatIsOverwrittenBeforeTheWaitChangesResultsInSomeOrder) {
  const std::vector<float> expected = EmulatedProducts<64>().expected(false);
  int changed = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    emulation::set_seed(seed);
    if (EmulatedProducts<64>().across_rows(Fault::kOverwrites) != expected) ++changed;
  }
  EXPECT_GT(changed, 0);
}

TEST(EmulatedWarpgroup, ADescriptorHasTheFieldsOfThePtxIsa) {
  const SharedMatrix matrix = SharedMatrix::at(0x12340, 8192);
  EXPECT_EQ(matrix.bits & 0x3fff, 0x1234U);
  EXPECT_EQ(matrix.bits >> 16 & 0x3fff, 512U);
  EXPECT_EQ(matrix.bits >> 32 & 0x3fff, 64U);
  EXPECT_EQ(matrix.bits >> 62, 1U);
  EXPECT_EQ(matrix.after(2048).bits, SharedMatrix::at(0x12340 + 2048, 8192).bits);
}

}  // namespace
}  // namespace nanobench::core::cuda

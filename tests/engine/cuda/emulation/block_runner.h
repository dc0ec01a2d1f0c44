/// CUDA's execution model on the CPU: a grid is run block by block, a block's threads as fibers.
///
/// What it promises a test: blocks run in an order drawn from the seed. In a block one warp runs until all its lanes
/// wait at a barrier of the block, then the next one; the order of warps is drawn anew at every barrier, that of lanes
/// at every switch. Two accesses without a barrier between them are thus seen in both orders, over a few seeds.
/// A warp's lanes meet at warp-level instructions. Lanes that meet at different instructions, that wait for lanes
/// which have ended, or threads that never arrive at a barrier are an EmulationError that says who waits where.
/// Dynamic shared memory has its exact size between guard zones and starts as NaN; cp.async leaves NaN until its wait.
///
/// Not thread-safe: one grid at a time in a process. Blocks run one after the other: no block may wait for another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <stdexcept>
#include <string>

namespace nanobench::emulation {

/// A kernel broke a rule of the execution model.
class EmulationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Index3 {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};

struct Grid {
  std::string kernel;  ///< named in errors
  Index3 blocks{1, 1, 1};
  Index3 threads{1, 1, 1};
  std::size_t shared_bytes = 0;
};

/// Runs `body` once for every thread of the grid. Throws what `body` throws, and EmulationError.
void run_grid(const Grid& grid, const std::function<void()>& body);

/// Orders are drawn from this from now on.
void set_seed(std::uint64_t seed);

/// Counts since the last reset.
struct Statistics {
  std::uint64_t launches = 0;
  std::uint64_t barriers = 0;          ///< __syncthreads, once per block
  std::uint64_t tensor_products = 0;   ///< mma, once per warp
  std::uint64_t matrix_row_reads = 0;  ///< groups of eight rows read by ldmatrix
  std::uint64_t matrix_conflicts = 0;  ///< further passes that bank conflicts cost those groups
  std::uint64_t branches = 0;          ///< is_taken, once per warp
  std::uint64_t divergences = 0;       ///< those whose lanes do not agree
};
Statistics& statistics();

inline constexpr unsigned kWarpLanes = 32;

/// One warp-level instruction. `combine` is called once, when all lanes have come; lanes[i] is what lane i passed as
/// its operand, or null where the mask leaves it out.
struct WarpOperation {
  const char* name;
  void (*combine)(void* const (&lanes)[kWarpLanes]);
};

// From inside a kernel.
void meet_warp(const WarpOperation& operation, std::uint32_t mask, void* operand, const std::source_location& where);
void meet_block(const std::source_location& where);
unsigned char* dynamic_shared();
/// Throws EmulationError unless `address` is aligned and, if in or beside dynamic shared memory, wholly inside it.
void check_shared(const void* address, std::size_t bytes, const char* what);
void check_alignment(const void* address, std::size_t bytes, const char* what);
[[noreturn]] void fail(const std::string& what);

void begin_copy(void* shared, const void* global, std::size_t bytes, bool is_valid);
void commit_copies();
void wait_copies(unsigned groups_left);
/// A thread's own writes to shared memory, by cp.async that it has waited for and by store_vector, reach asynchronous
/// products after fence_writes.
void note_write(const void* address);
void fence_writes();
bool has_unfenced_writes();

class WarpProducts;
WarpProducts& products_of_warp();
std::size_t dynamic_shared_bytes();
/// A number of the sequence that orders are drawn from.
std::uint64_t draw_number();

}  // namespace nanobench::emulation

// CUDA's own names, set for the thread that runs.
extern nanobench::emulation::Index3 threadIdx;
extern nanobench::emulation::Index3 blockIdx;
extern nanobench::emulation::Index3 blockDim;
extern nanobench::emulation::Index3 gridDim;

/// Where kernels under test run: on a GPU, or on the CPU under the emulation. A test program chooses by what it links:
/// gpu/gpu_device.cpp or emulation/emulated_device.cpp; the tests are the same objects.
///
/// The host reaches device memory by copies only, on the default stream: what was launched before is finished when a
/// copy returns. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace nanobench::core::cuda {

/// Whether it is a GPU, which affords the official model's shapes. The emulation takes small ones.
bool is_gpu();

/// Whether it has the products of warpgroups: a GPU of compute capability 9.0, or the emulation.
bool has_warpgroups();

/// The emulation runs blocks, warps and lanes in an order drawn from this from now on; a GPU's order is its own.
void draw_order(std::uint64_t seed);

struct KernelCounts {
  std::uint64_t launches = 0;
  std::uint64_t tensor_products = 0;   ///< mma instructions of a warp
  std::uint64_t matrix_conflicts = 0;  ///< passes that bank conflicts of ldmatrix cost
  std::uint64_t branches = 0;          ///< is_taken, once per warp
  std::uint64_t divergences = 0;       ///< branches at which the lanes of a warp part
};

/// Since it was asked last. Nothing on a GPU, which counts none of this.
std::optional<KernelCounts> kernel_counts();

/// Device memory as it comes, aligned to 256 bytes or more.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes);
  unsigned char* address() const { return bytes_.get(); }
  void write(std::size_t offset, const void* from, std::size_t bytes);
  void read(std::size_t offset, void* to, std::size_t bytes) const;

 private:
  struct Free {
    void operator()(unsigned char* bytes) const noexcept;
  };
  std::unique_ptr<unsigned char[], Free> bytes_;
};

}  // namespace nanobench::core::cuda

#include "engine/ops/paired_heads.h"

namespace nanobench::core {

at::Tensor paired_heads(const at::Tensor& x, HeadPairing order) {
  const std::int64_t length = x.size(0), heads = x.size(1), width = x.size(2);
  TORCH_CHECK(heads % 2 == 0, "paired_heads: ", heads, " heads have no pairs");
  if (order == HeadPairing::kHalves) return x.reshape({2 * length, heads / 2, width});
  return x.reshape({length, heads / 2, 2, width}).transpose(1, 2).reshape({2 * length, heads / 2, width});
}

at::Tensor unpaired_heads(const at::Tensor& x, HeadPairing order) {
  const std::int64_t length = x.size(0) / 2, pairs = x.size(1), width = x.size(2);
  if (order == HeadPairing::kHalves) return x.reshape({length, 2 * pairs, width});
  return x.reshape({length, 2, pairs, width}).transpose(1, 2).reshape({length, 2 * pairs, width});
}

}  // namespace nanobench::core

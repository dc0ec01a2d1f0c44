#include "engine/ops/key_offset.h"

#include "core/base/op_timer.h"

namespace nanobench::core {

at::Tensor offset_keys(const at::Tensor& k, KeyOffsetDims dims, KeyOffsetCopy copy) {
  const OpTimer timer("key_offset");
  const std::int64_t length = k.size(0), width = k.size(2);
  TORCH_CHECK(width % 4 == 0, "offset_keys: heads of width ", width, " have no quarters");
  const at::Tensor first = k.narrow(0, 0, 1);
  const at::Tensor before =
      copy == KeyOffsetCopy::kShifted ? at::cat({first, k.narrow(0, 0, length - 1)}) : first.expand_as(k);
  const bool is_half = dims == KeyOffsetDims::kUpperHalf;
  const std::int64_t part = is_half ? width / 2 : width / 4;
  std::vector<at::Tensor> parts;
  for (std::int64_t begin = 0; begin < width; begin += 2 * part) {
    parts.push_back(k.narrow(2, begin, part));
    parts.push_back(before.narrow(2, begin + part, part));
  }
  return at::cat(parts, 2);
}

}  // namespace nanobench::core

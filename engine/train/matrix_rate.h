/// How fast this process multiplies matrices: what its steps are compared with.
#pragma once

#include <optional>

#include "core/base/device_marks.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// GFLOP/s that this process reaches with its threads in float32 products of 512 x 512 matrices: the best of several
/// runs, about 50 ms.
double measure_sgemm_gflops();

/// GFLOP/s of the device's products of square matrices of `type` with normally distributed elements: the best of
/// several, of sides large enough for the device, between marks on its stream. Takes some milliseconds, and up to 400
/// MiB; nullopt where these are not left.
std::optional<double> measure_device_gflops(DeviceMarks& marks, at::Device device, at::ScalarType type);

}  // namespace nanobench::core

#include "engine/kernels/adam.h"

#include "engine/kernels/vector/paths.h"

namespace nanobench::core {

void adam_update(std::span<const AdamParameter> parameters, const AdamSettings& settings, ThreadPool& threads) {
  NB_BY_PATH(adam_update)(parameters, settings, threads);
}

}  // namespace nanobench::core

#include "core/kernels/newton_schulz.h"

#include "core/kernels/vector/paths.h"

namespace nanobench::core {

void newton_schulz_update(std::span<const NewtonSchulzMatrix> matrices, const NewtonSchulzSettings& settings,
                          ThreadPool& threads) {
  NB_BY_PATH(newton_schulz_update)(matrices, settings, threads);
}

}  // namespace nanobench::core

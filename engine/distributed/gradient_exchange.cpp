#include "engine/distributed/gradient_exchange.h"

#include "engine/distributed/gradient_reducer.h"
#include "engine/distributed/gradient_scatter.h"

namespace nanobench::core {

std::unique_ptr<GradientExchange> make_gradient_exchange(Parameters& parameters, const TrainConfig& config,
                                                         Communicator& communicator) {
  if (has_update_owners(config, communicator.size()))
    return std::make_unique<GradientScatter>(parameters, config, communicator);
  return std::make_unique<GradientReducer>(parameters, config.distributed, communicator);
}

}  // namespace nanobench::core

#include "engine/optim/parameter_slices.h"

#include "core/config/parameter_list.h"
#include "engine/distributed/update_owners.h"

namespace nanobench::core {

ParameterSlices::ParameterSlices(const Parameters& parameters, const TrainConfig& config, Communicator& communicator)
    : parameters_(parameters), communicator_(communicator) {
  if (!has_update_owners(config, communicator.size())) return;
  for (const std::size_t index : update_owners(parameters, config, communicator.size()).sliced) {
    const Parameter& parameter = parameters.all()[index];
    const at::Tensor whole = parameter.tensor.detach().view({communicator.size(), -1});
    slices_.emplace(index,
                    Slice{.part = whole[communicator.rank()].detach(),
                          .whole = whole,
                          .step_every = settings_of(config.optimizer, parameter.group, parameter.name).step_every});
  }
}

at::Tensor ParameterSlices::updated_part(std::size_t index) const {
  const auto slice = slices_.find(index);
  return slice == slices_.end() ? parameters_.all()[index].tensor : slice->second.part;
}

void ParameterSlices::bind_gradients() {
  for (auto& [index, slice] : slices_) {
    const at::Tensor& gradient = parameters_.all()[index].tensor.grad();
    slice.part.mutable_grad() =
        gradient.defined() ? gradient.view({communicator_.size(), -1})[communicator_.rank()].detach() : at::Tensor();
  }
}

void ParameterSlices::gather(std::int64_t step) {
  std::vector<WorkHandle> works;
  for (const auto& [index, slice] : slices_) {
    if ((step + 1) % slice.step_every == 0) works.push_back(communicator_.start_all_gather(slice.whole, slice.part));
  }
  for (const WorkHandle& work : works) work->wait();
}

}  // namespace nanobench::core

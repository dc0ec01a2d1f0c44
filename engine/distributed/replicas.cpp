#include "engine/distributed/replicas.h"

#include <cstring>
#include <string>

#include "core/base/digest.h"
#include "core/base/error.h"

namespace nanobench::core {
namespace {

std::string digest_of(const Parameters& parameters) {
  Digest digest;
  for (const Parameter& parameter : parameters.all()) {
    const at::Tensor values = parameter.tensor.detach().to(at::kCPU).contiguous();
    digest.update(values.data_ptr(), values.nbytes());
  }
  return digest.hex();
}

}  // namespace

void check_replicas(const Parameters& parameters, Communicator& communicator) {
  if (communicator.size() == 1) return;
  const std::string own = digest_of(parameters);
  const at::Tensor input = at::empty({static_cast<std::int64_t>(own.size())}, at::kByte);
  std::memcpy(input.data_ptr(), own.data(), own.size());
  const at::Tensor all = at::empty({communicator.size(), input.size(0)}, at::kByte);
  communicator.all_gather(all, input);
  for (int process = 1; process < communicator.size(); ++process) {
    if (at::equal(all[process], all[0])) continue;
    throw Error(ErrorCode::kInternal, "the parameters of process " + std::to_string(process) +
                                          " are no longer those of process 0; please report this as an error");
  }
}

}  // namespace nanobench::core

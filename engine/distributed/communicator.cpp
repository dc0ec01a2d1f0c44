#include "engine/distributed/communicator.h"

#include <string>

#include "core/base/error.h"

namespace nanobench::core {
namespace {

void require(bool holds, const std::string& message) {
  if (!holds) throw Error(ErrorCode::kInternal, "collective: " + message);
}

void require_plain(const at::Tensor& tensor) {
  require(tensor.defined() && tensor.is_contiguous(), "expected a contiguous tensor");
}

void require_summable(const at::Tensor& tensor) {
  require_plain(tensor);
  const at::ScalarType type = tensor.scalar_type();
  require(type == at::kFloat || type == at::kDouble || type == at::kLong,
          std::string("a sum of ") + at::toString(type) + " is not defined");
}

Collective sum_of(const at::Tensor& tensor) {
  require_summable(tensor);
  return {.kind = Collective::Kind::kAllReduceSum, .tensor = tensor, .outputs = {}};
}

Collective gather_of(const std::vector<at::Tensor>& outputs, const at::Tensor& input, std::int64_t numel) {
  require_plain(input);
  for (const at::Tensor& output : outputs) {
    require_plain(output);
    require(output.scalar_type() == input.scalar_type() && output.numel() == numel,
            "the outputs of a gather do not fit its input");
  }
  return {.kind = Collective::Kind::kAllGather, .tensor = input, .outputs = outputs};
}

Collective gather_into(const at::Tensor& output, const at::Tensor& input, int size) {
  return gather_of({output}, input, input.numel() * size);
}

Collective gather_apart(const std::vector<at::Tensor>& outputs, const at::Tensor& input, int size) {
  require(static_cast<int>(outputs.size()) == size, "a gather needs one output for each process");
  return gather_of(outputs, input, input.numel());
}

Collective scattered_sum_of(const std::vector<at::Tensor>& parts, int rank, int size) {
  require(static_cast<int>(parts.size()) == size, "a scattered sum needs one part for each process");
  for (const at::Tensor& part : parts) {
    require_summable(part);
    require(part.scalar_type() == parts.front().scalar_type(), "the parts of a scattered sum differ in dtype");
  }
  return {
      .kind = Collective::Kind::kReduceScatterSum, .tensor = parts[static_cast<std::size_t>(rank)], .outputs = parts};
}

Collective broadcast_of(const at::Tensor& tensor, int root, int size) {
  require_plain(tensor);
  require(root >= 0 && root < size, "no process " + std::to_string(root) + " to broadcast from");
  return {.kind = Collective::Kind::kBroadcast, .tensor = tensor, .outputs = {}, .root = root};
}

class DoneWork final : public Work {
 public:
  void wait() override {}
};

}  // namespace

void Communicator::all_reduce_sum(const at::Tensor& tensor) {
  run(counted(sum_of(tensor)));
}

void Communicator::all_gather(const at::Tensor& output, const at::Tensor& input) {
  run(counted(gather_into(output, input, size())));
}

void Communicator::all_gather(const std::vector<at::Tensor>& outputs, const at::Tensor& input) {
  run(counted(gather_apart(outputs, input, size())));
}

void Communicator::reduce_scatter_sum(const std::vector<at::Tensor>& parts) {
  run(counted(scattered_sum_of(parts, rank(), size())));
}

void Communicator::broadcast(const at::Tensor& tensor, int root) {
  run(counted(broadcast_of(tensor, root, size())));
}

void Communicator::barrier() {
  run({.kind = Collective::Kind::kBarrier, .tensor = {}, .outputs = {}});
}

WorkHandle Communicator::start_all_reduce_sum(const at::Tensor& tensor) {
  return start(counted(sum_of(tensor)));
}

WorkHandle Communicator::start_all_gather(const at::Tensor& output, const at::Tensor& input) {
  return start(counted(gather_into(output, input, size())));
}

WorkHandle Communicator::start_all_gather(const std::vector<at::Tensor>& outputs, const at::Tensor& input) {
  return start(counted(gather_apart(outputs, input, size())));
}

WorkHandle Communicator::start_reduce_scatter_sum(const std::vector<at::Tensor>& parts) {
  return start(counted(scattered_sum_of(parts, rank(), size())));
}

const Collective& Communicator::counted(const Collective& collective) {
  require(!collective.tensor.defined() || takes(collective.tensor), "expected a tensor on the CPU");
  CollectiveCounts::Kind* count = nullptr;
  std::size_t bytes = collective.tensor.defined() ? collective.tensor.nbytes() : 0;
  switch (collective.kind) {
    case Collective::Kind::kBarrier: return collective;
    case Collective::Kind::kAllReduceSum: count = &counts_.all_reduce; break;
    case Collective::Kind::kAllGather: count = &counts_.all_gather; break;
    case Collective::Kind::kBroadcast: count = &counts_.broadcast; break;
    case Collective::Kind::kReduceScatterSum:
      count = &counts_.reduce_scatter;
      bytes = 0;
      for (const at::Tensor& part : collective.outputs) bytes += part.nbytes();
      break;
  }
  ++count->calls;
  count->bytes += static_cast<std::int64_t>(bytes);
  return collective;
}

void SingleProcess::run(const Collective& collective) {
  if (collective.kind != Collective::Kind::kAllGather) return;
  const at::NoGradGuard no_grad;
  collective.outputs.front().view(-1).copy_(collective.tensor.view(-1));
}

WorkHandle SingleProcess::start(const Collective& collective) {
  run(collective);
  return std::make_shared<DoneWork>();
}

bool any_process(Communicator& communicator, bool value) {
  return sum_over_processes(communicator, value ? 1 : 0) > 0;
}

std::int64_t sum_over_processes(Communicator& communicator, std::int64_t value) {
  if (communicator.size() == 1) return value;
  const at::Tensor sum = at::full({1}, value, at::kLong);
  communicator.all_reduce_sum(sum);
  return sum.item<std::int64_t>();
}

}  // namespace nanobench::core

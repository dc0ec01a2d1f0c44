#include "engine/distributed/rank_share.h"

namespace nanobench::core {

std::vector<std::size_t> RankShare::own(std::span<const SequenceRef> sequences) const {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (plays(sequences[i])) positions.push_back(i);
  }
  return positions;
}

std::vector<SyncPoint> RankShare::sync_points(std::span<const SequenceRef> sequences, GradientSync sync) const {
  const std::vector<std::size_t> positions = own(sequences);
  std::vector<SyncPoint> points(positions.size(), SyncPoint::kNone);
  for (std::size_t i = 0; i + 1 < positions.size(); ++i) {
    const bool ends_micro_step = sequences[positions[i]].micro_batch != sequences[positions[i + 1]].micro_batch;
    if (ends_micro_step && sync == GradientSync::kEveryMicroStep) points[i] = SyncPoint::kMicroStep;
  }
  if (!points.empty()) points.back() = SyncPoint::kStep;
  return points;
}

void complete(Communicator& communicator, std::vector<double>& values) {
  if (communicator.size() == 1) return;
  const at::Tensor all =
      at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::TensorOptions().dtype(at::kDouble));
  communicator.all_reduce_sum(all);
}

}  // namespace nanobench::core

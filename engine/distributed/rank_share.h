/// Which of a step's sequences a process trains, and how their results reach the other processes. Plain values;
/// complete() is a collective.
#pragma once

#include <span>
#include <vector>

#include "core/config/train_config.h"
#include "core/data/data_loader.h"
#include "engine/distributed/communicator.h"

namespace nanobench::core {

/// What follows the backward pass of a sequence.
enum class SyncPoint {
  kNone,       ///< the next sequence; gradients keep accumulating in this process
  kMicroStep,  ///< gradients are summed over the processes, and more follow
  kStep,       ///< gradients are summed over the processes and then complete
};

/// Process p of P handles the data loader's ranks p R/P to (p + 1) R/P, for R ranks in total.
class RankShare {
 public:
  /// `processes` divides `ranks`.
  RankShare(std::int64_t ranks, int process, int processes)
      : ranks_each_(ranks / processes), first_rank_(process * ranks_each_) {}

  bool plays(const SequenceRef& sequence) const {
    return sequence.rank >= first_rank_ && sequence.rank < first_rank_ + ranks_each_;
  }

  /// Positions in `sequences` of those that this process handles, ascending.
  std::vector<std::size_t> own(std::span<const SequenceRef> sequences) const;

  /// One sync point for each of own(sequences).
  std::vector<SyncPoint> sync_points(std::span<const SequenceRef> sequences, GradientSync sync) const;

 private:
  std::int64_t ranks_each_;
  std::int64_t first_rank_;
};

/// Completes `values`, which holds this process's numbers at its positions and 0 elsewhere. The result is the same in
/// all processes, bit for bit equal to the inputs.
void complete(Communicator& communicator, std::vector<double>& values);

}  // namespace nanobench::core

#include "engine/distributed/process_group.h"

#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "engine/distributed/forked_processes.h"
#include "engine/distributed/launched_processes.h"

namespace nanobench::core {
namespace {

class OneProcess final : public ProcessGroup {
 public:
  Communicator& communicator() override { return communicator_; }
  void finish() override {}
  void check_alive() override {}
  void report_failure(const ProcessFailure& /*failure*/) override {}

 private:
  SingleProcess communicator_;
};

void check_launch(int processes, const Launch& launch, CommunicatorChoice communicator) {
  if (launch.size != processes) {
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kWrongLength,
                  enum_name(launch.launcher) + " started " + std::to_string(launch.size) +
                      " processes, but distributed/processes is " + std::to_string(processes) +
                      "; make them the same, or unset the launcher's variables (RANK, WORLD_SIZE)",
                  std::to_string(launch.size));
  }
  if (communicator == CommunicatorChoice::kSharedMemory) {
    throw Error(ErrorCode::kInvalidArgument,
                "communicator \"shared_memory\" is for processes that the engine starts itself, but " +
                    enum_name(launch.launcher) + " started these; use \"auto\", \"tcp\" or \"mpi\"");
  }
}

}  // namespace

std::unique_ptr<ProcessGroup> join_processes(int processes, CommunicatorChoice communicator,
                                             const std::optional<Launch>& launch) {
  if (launch) {
    check_launch(processes, *launch, communicator);
    return std::make_unique<LaunchedProcesses>(*launch, communicator);
  }
  if (communicator != CommunicatorChoice::kAuto && communicator != CommunicatorChoice::kSharedMemory) {
    throw Error(ErrorCode::kInvalidArgument, "communicator \"" + enum_name(communicator) +
                                                 "\" is for processes that torchrun, mpirun or srun has started; "
                                                 "start them so, or use \"auto\"");
  }
  if (processes == 1) return std::make_unique<OneProcess>();
  return std::make_unique<ForkedProcesses>(processes);
}

}  // namespace nanobench::core

#include "tests/engine/cuda_plugin/emulated_graph.h"

#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <string>

#include "core/base/error.h"

namespace nanobench::core::testing {
namespace {

/// In a process that replays, what the work makes is its own, as in a graph's own pool.
bool is_replaying = false;

/// Bytes of each block that lies in shared memory.
class SharedBlocks {
 public:
  void add(void* data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_[data] = bytes;
  }
  /// 0: it does not lie there.
  std::size_t take(void* data) {
    const std::lock_guard lock(mutex_);
    const auto block = bytes_.extract(data);
    return block.empty() ? 0 : block.mapped();
  }

 private:
  std::mutex mutex_;
  std::map<void*, std::size_t> bytes_;
};

SharedBlocks& shared_blocks() {
  static SharedBlocks blocks;
  return blocks;
}

void free_block(void* data) {
  if (const std::size_t bytes = shared_blocks().take(data); bytes > 0) {
    munmap(data, bytes);
  } else {
    std::free(data);
  }
}

class SharedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, c10::Device(c10::kCPU)};
    if (is_replaying) {
      void* const data = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
      return {data, data, free_block, c10::Device(c10::kCPU)};
    }
    void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) throw std::bad_alloc();
    shared_blocks().add(data, bytes);
    return {data, data, free_block, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return free_block; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
};

/// The first operation of this thread that asked a tensor for a value.
std::string question;

std::unique_ptr<at::ObserverContext> note_questions(const at::RecordFunction& function) {
  static const std::set<std::string> kQuestions = {"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero",
                                                   "aten::equal", "aten::nonzero"};
  if (question.empty() && kQuestions.contains(function.name())) question = function.name();
  return nullptr;
}

void require_no_questions(const std::function<void()>& work) {
  question.clear();
  const at::CallbackHandle handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(note_questions).scopes({at::RecordScope::FUNCTION}));
  work();
  at::removeCallback(handle);
  if (!question.empty()) throw Error(ErrorCode::kUnavailable, "the work asks a tensor for a value: " + question);
}

/// In a child: the work, and whether it succeeded as the exit code.
[[noreturn]] void do_work(const std::function<void()>& work) {
  is_replaying = true;
  try {
    work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "replayed work failed: %s\n", error.what());
    _exit(1);
  }
  _exit(0);
}

/// Waits for orders; every replay is a process of its own, as none may leave anything to the next.
[[noreturn]] void serve(const std::function<void()>& work, int orders, int answers) {
  char order = 0;
  while (read(orders, &order, 1) == 1) {
    const pid_t replay = fork();
    if (replay == 0) do_work(work);
    int status = 0;
    waitpid(replay, &status, 0);
    const char answer = WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 'y' : 'n';
    if (write(answers, &answer, 1) != 1) break;
  }
  _exit(0);
}

}  // namespace

SharedTensors::SharedTensors() {
  static SharedAllocator allocator;
  c10::SetCPUAllocator(&allocator, kTestAllocatorPriority);
}

SharedTensors::~SharedTensors() {
  c10::SetCPUAllocator(c10::GetDefaultCPUAllocator(), kTestAllocatorPriority);
}

EmulatedGraph::EmulatedGraph(const std::function<void()>& work) {
  require_no_questions(work);
  int orders[2], answers[2];
  if (pipe(orders) != 0 || pipe(answers) != 0) throw std::runtime_error("no pipe");
  recorder_ = fork();
  if (recorder_ == 0) {
    close(orders[1]);
    close(answers[0]);
    serve(work, orders[0], answers[1]);
  }
  close(orders[0]);
  close(answers[1]);
  orders_ = orders[1];
  answers_ = answers[0];
}

EmulatedGraph::~EmulatedGraph() {
  close(orders_);
  close(answers_);
  waitpid(recorder_, nullptr, 0);
}

void EmulatedGraph::replay() {
  const char order = 'r';
  char answer = 'n';
  const bool was_answered = write(orders_, &order, 1) == 1 && read(answers_, &answer, 1) == 1;
  if (!was_answered || answer != 'y') throw std::runtime_error("the work could not be replayed");
}

}  // namespace nanobench::core::testing

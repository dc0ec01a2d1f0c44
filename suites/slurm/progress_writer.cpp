#include "suites/slurm/progress_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "core/base/error.h"
#include "core/process/streams.h"
#include "suites/slurm/shared_folder.h"

namespace nanobench::suites {
namespace {

constexpr double kShortestPause = 1;
constexpr double kLongestPause = 10;
constexpr double kPausesOfAge = 30;             // the older a run, the less it has to tell a second
constexpr std::size_t kMostValidations = 1000;  // of a line

/// False where not all of it could be written. The file is opened each time: on a network's file system closing it is
/// what others see.
bool append(const std::filesystem::path& file, const std::string& text) {
  const core::Fd fd(open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  return fd.get() >= 0 && write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// The thread of `work`, which no signal of this process goes to.
template <class Work>
std::thread deaf_thread(Work work) {
  sigset_t all = {}, former = {};
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &former);
  std::thread thread(work);
  pthread_sigmask(SIG_SETMASK, &former, nullptr);
  return thread;
}

}  // namespace

ProgressWriter::ProgressWriter(std::filesystem::path file, ProgressHead head)
    : file_(std::move(file)), head_(std::move(head)) {
  thread_ = deaf_thread([this] { work(); });
}

ProgressWriter::~ProgressWriter() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

double ProgressWriter::seconds() const {
  return std::chrono::duration<double>(Clock::now() - started_).count();
}

void ProgressWriter::see(const core::RunEvent& event) {
  const std::lock_guard lock(mutex_);
  if (const auto* step = std::get_if<core::StepEvent>(&event)) {
    pending_.step = step->step + 1;
    if (step->has_loss) pending_.loss = step->loss;
    step_ms_sum_ += step->step_ms;
    ++steps_;
  } else if (const auto* eval = std::get_if<core::EvalEvent>(&event)) {
    if (pending_.val_losses.size() < kMostValidations) pending_.val_losses.push_back({eval->step, eval->loss});
  }
}

ProgressLine ProgressWriter::next_line() {
  ProgressLine line = std::exchange(pending_, {});
  if (steps_ > 0) line.step_ms = step_ms_sum_ / steps_;
  step_ms_sum_ = 0.0;
  steps_ = 0;
  line.at_s = seconds();
  return line;
}

void ProgressWriter::work() {
  try {
    write_whole(file_, to_line(head_));
  } catch (const core::Error&) {
    return;  // a full disk, a folder that is gone: the run matters more than its spectators
  }
  bool is_cut = false;  // the file may end within a line
  for (bool is_last = false; !is_last;) {
    std::unique_lock lock(mutex_);
    const double pause = std::clamp(seconds() / kPausesOfAge, kShortestPause, kLongestPause);
    is_last = wake_.wait_for(lock, std::chrono::duration<double>(pause), [&] { return is_ending_; });
    const std::string text = to_line(next_line());
    lock.unlock();
    is_cut = !append(file_, (is_cut ? "\n" : "") + text);
  }
}

}  // namespace nanobench::suites

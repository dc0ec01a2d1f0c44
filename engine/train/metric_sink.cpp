#include "engine/train/metric_sink.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace nanobench::core {

void FdMetricSink::report(const RunEvent& event) {
  const std::string line = to_line(event) + "\n";
  const std::lock_guard lock(mutex_);
  if (has_ended_) return;
  has_ended_ = std::holds_alternative<FinishedEvent>(event) || std::holds_alternative<FailedEvent>(event);
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = write(fd_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw Error(ErrorCode::kIo, std::string("cannot report an event: ") + std::strerror(errno));
    written += static_cast<std::size_t>(count);
  }
}

}  // namespace nanobench::core

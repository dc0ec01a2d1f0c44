#include "suites/slurm/progress_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <utility>

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/json.h"
#include "core/process/streams.h"
#include "suites/slurm/shared_folder.h"

namespace nanobench::suites {
namespace {

using core::Json;
using results::Sample;

constexpr std::size_t kMaxBytesAtOnce = 4U << 20;  // the rest is read at the next call
constexpr std::int64_t kMaxSteps = 1'000'000'000'000;

std::optional<double> number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  if (found->is_null()) return std::nan("");  // not finite
  return found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::optional<std::int64_t> count_of(const Json& value) {
  const auto count = core::integer_of<std::int64_t>(value);
  return count && *count >= 0 && *count <= kMaxSteps ? count : std::nullopt;
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Steps ascend: a repeated sample counts once.
void add_sample(std::vector<Sample>& samples, std::int64_t step, double value) {
  if (samples.empty() || samples.back().step < step) samples.push_back({step, value});
}

constexpr double kMinPause = 1;
constexpr double kMaxPause = 10;
constexpr double kPausesOfAge = 30;            // the older a run, the fewer lines it writes
constexpr std::size_t kMaxValidations = 1000;  // per line

/// Returns false if not all of it could be written. The file is opened each time, because on a network file system
/// others see a write only after it is closed.
bool append(const std::filesystem::path& file, const std::string& text) {
  const core::Fd fd(open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  return fd.is_open() && write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// Starts a thread for `work` that receives no signals of this process.
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

std::string to_line(const ProgressHead& head) {
  Json json = {{"host", head.host}, {"started_at", head.started_at}};
  if (head.steps) json["steps"] = *head.steps;
  return core::safe_dump(json) + "\n";
}

std::string to_line(const ProgressLine& line) {
  Json json = {{"at", line.at_s}};
  if (line.step) json["step"] = *line.step;
  if (line.loss) json["loss"] = *line.loss;
  if (line.step_ms) json["step_ms"] = *line.step_ms;
  for (const Sample& sample : line.val_losses) json["val"].push_back({sample.step, sample.value});
  return json.dump() + "\n";
}

std::optional<ProgressHead> parse_progress_head(std::string_view line) {
  const Json json = core::json_or_null(line);
  if (!json.is_object() || !json.contains("host") || !json.contains("started_at")) return std::nullopt;
  ProgressHead head{.host = text_of(json, "host"), .started_at = text_of(json, "started_at"), .steps = {}};
  if (json.contains("steps")) head.steps = count_of(json["steps"]);
  return head;
}

std::optional<ProgressLine> parse_progress_line(std::string_view line) {
  const Json json = core::json_or_null(line);
  if (!json.is_object()) return std::nullopt;
  const std::optional<double> at_s = number_of(json, "at");
  if (!at_s || !std::isfinite(*at_s) || *at_s < 0) return std::nullopt;
  ProgressLine out{.at_s = *at_s, .step = {}, .loss = {}, .step_ms = {}, .val_losses = {}};
  if (json.contains("step")) out.step = count_of(json["step"]);
  out.loss = number_of(json, "loss");
  out.step_ms = number_of(json, "step_ms");
  if (!json.contains("val") || !json["val"].is_array()) return out;
  for (const Json& pair : json["val"]) {
    if (!pair.is_array() || pair.size() != 2) continue;
    const std::optional<std::int64_t> step = count_of(pair[0]);
    const bool is_value = pair[1].is_number() || pair[1].is_null();
    if (step && is_value) out.val_losses.push_back({*step, pair[1].is_null() ? std::nan("") : pair[1].get<double>()});
  }
  return out;
}

void NodeProgress::add(const ProgressLine& line) {
  at_s = std::max(at_s, line.at_s);
  for (const Sample& sample : line.val_losses) add_sample(val_losses, sample.step, sample.value);
  if (!line.step || *line.step <= step) return;
  step = *line.step;
  if (line.loss) add_sample(train_losses, step - 1, *line.loss);
  if (line.step_ms) step_ms = line.step_ms;
}

bool ProgressReader::update() {
  core::InputFile in;
  struct stat facts = {};
  if (in.open(file_) || fstat(in.descriptor(), &facts) != 0) return false;
  const std::pair mark(static_cast<std::uint64_t>(facts.st_dev), static_cast<std::uint64_t>(facts.st_ino));
  if (mark != mark_ || facts.st_size < offset_) {
    mark_ = mark;
    offset_ = 0;
    lines_.take_rest();
    progress_.reset();
  }
  std::array<char, 65536> bytes{};
  std::size_t all = 0;
  while (all < kMaxBytesAtOnce) {
    const ssize_t count = pread(in.descriptor(), bytes.data(), bytes.size(), offset_);
    if (count <= 0) break;
    offset_ += count;
    all += static_cast<std::size_t>(count);
    lines_.add({bytes.data(), static_cast<std::size_t>(count)}, [this](std::string_view line) { take(line); });
  }
  return all > 0;
}

void ProgressReader::take(std::string_view line) {
  if (!progress_) {
    if (std::optional<ProgressHead> head = parse_progress_head(line)) progress_.emplace().head = std::move(*head);
    return;
  }
  if (const std::optional<ProgressLine> more = parse_progress_line(line)) progress_->add(*more);
}

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
    if (pending_.val_losses.size() < kMaxValidations) pending_.val_losses.push_back({eval->step, eval->loss});
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
    return;  // a full disk, a missing folder: the run matters more than its display
  }
  bool is_cut = false;  // the file may end in the middle of a line
  for (bool is_last = false; !is_last;) {
    std::unique_lock lock(mutex_);
    const double pause = std::clamp(seconds() / kPausesOfAge, kMinPause, kMaxPause);
    is_last = wake_.wait_for(lock, std::chrono::duration<double>(pause), [&] { return is_ending_; });
    const std::string text = to_line(next_line());
    lock.unlock();
    is_cut = !append(file_, (is_cut ? "\n" : "") + text);
  }
}

}  // namespace nanobench::suites

#include "suites/slurm/run_progress.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/json.h"
#include "core/process/streams.h"

namespace nanobench::suites {
namespace {

using core::Json;
using results::Sample;

constexpr std::size_t kLongestLine = 65536;
constexpr std::size_t kMostBytesAtOnce = 4U << 20;  // the rest is read at the next call
constexpr std::int64_t kMostSteps = 1'000'000'000'000;

std::optional<double> number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  if (found->is_null()) return std::nan("");  // not finite
  return found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::optional<std::int64_t> count_of(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  const auto count = value.get<std::int64_t>();
  return count >= 0 && count <= kMostSteps ? std::optional(count) : std::nullopt;
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Json parsed(std::string_view line) {
  return Json::parse(line, nullptr, false);
}

/// Steps ascend: what comes twice counts once.
void add_sample(std::vector<Sample>& samples, std::int64_t step, double value) {
  if (samples.empty() || samples.back().step < step) samples.push_back({step, value});
}

}  // namespace

std::string to_line(const ProgressHead& head) {
  Json json = {{"host", head.host}, {"started_at", head.started_at}};
  if (head.steps) json["steps"] = *head.steps;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
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
  const Json json = parsed(line);
  if (!json.is_object() || !json.contains("host") || !json.contains("started_at")) return std::nullopt;
  ProgressHead head{.host = text_of(json, "host"), .started_at = text_of(json, "started_at"), .steps = {}};
  if (json.contains("steps")) head.steps = count_of(json["steps"]);
  return head;
}

std::optional<ProgressLine> parse_progress_line(std::string_view line) {
  const Json json = parsed(line);
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

void RunProgress::add(const ProgressLine& line) {
  at_s = std::max(at_s, line.at_s);
  for (const Sample& sample : line.val_losses) add_sample(val_losses, sample.step, sample.value);
  if (!line.step || *line.step <= step) return;
  step = *line.step;
  if (line.loss) add_sample(train_losses, step - 1, *line.loss);
  if (line.step_ms) step_ms = line.step_ms;
}

bool ProgressReader::update() {
  const core::Fd fd(open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts = {};
  if (fd.get() < 0 || fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  const std::pair mark(static_cast<std::uint64_t>(facts.st_dev), static_cast<std::uint64_t>(facts.st_ino));
  if (mark != mark_ || facts.st_size < offset_) {
    mark_ = mark;
    offset_ = 0;
    rest_.clear();
    progress_.reset();
  }
  std::array<char, 65536> bytes{};
  std::size_t all = 0;
  while (all < kMostBytesAtOnce) {
    const ssize_t count = pread(fd.get(), bytes.data(), bytes.size(), offset_);
    if (count <= 0) break;
    offset_ += count;
    all += static_cast<std::size_t>(count);
    rest_.append(bytes.data(), static_cast<std::size_t>(count));
    std::size_t start = 0;
    for (std::size_t end; (end = rest_.find('\n', start)) != std::string::npos; start = end + 1)
      take(std::string_view(rest_).substr(start, end - start));
    rest_.erase(0, start);
    if (rest_.size() > kLongestLine) rest_ = "x";  // no line of ours: what is left of it is none either
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

}  // namespace nanobench::suites

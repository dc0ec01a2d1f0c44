#include "results/import/log_header.h"

#include <charconv>

namespace nanobench::results {
namespace {

constexpr std::size_t kMinSeparator = 20;  // the trainers print 100
constexpr std::size_t kLongestName = 100;

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool is_separator(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line.size() >= kMinSeparator && line.find_first_not_of('=') == std::string_view::npos;
}

bool is_step_line(std::string_view line) {
  for (const std::string_view prefix : {std::string_view("step:"), std::string_view("s:")}) {
    if (starts_with(line, prefix) && line.size() > prefix.size()) {
      const char digit = line[prefix.size()];
      return digit >= '0' && digit <= '9';
    }
  }
  return false;
}

/// Names and versions are plain ASCII; anything else is damage and would be invalid JSON.
std::string plain(std::string_view text) {
  std::string out(text.substr(0, kLongestName));
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  return out;
}

std::string first_word(std::string_view text) {
  return plain(text.substr(0, text.find_first_of(" \r")));
}

/// The text after `key` up to a blank; nullopt without the key.
std::optional<std::string> word_after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  return first_word(line.substr(at + key.size()));
}

void count_gpu(SpeedrunLog& log, const std::string& name) {
  const std::string several = "different GPUs";
  if (log.gpu.empty()) {
    log.gpu = name;
  } else if (log.gpu != name && log.gpu != several) {
    log.gpu = several;
    log.problems.push_back(LogProblem::kDifferentGpus);
  }
  log.gpu_count = log.gpu_count.value_or(0) + 1;
}

/// A row of nvidia-smi: "|   0  NVIDIA H100 80GB HBM3          On  | 00000000:61:00.0 Off |".
void read_gpu_row(SpeedrunLog& log, std::string_view line) {
  line.remove_prefix(1);
  const std::string_view cell = line.substr(0, line.find('|'));
  if (cell.size() == line.size()) return;
  const std::size_t index = cell.find_first_not_of(' ');
  if (index == std::string_view::npos || cell[index] < '0' || cell[index] > '9') return;
  std::size_t name = cell.find(' ', index);
  if (name == std::string_view::npos) return;
  name = cell.find_first_not_of(' ', name);
  if (name == std::string_view::npos) return;
  const std::string_view rest = cell.substr(name);
  const std::size_t gap = rest.find("  ");
  if (gap == std::string_view::npos) return;
  const std::size_t mode = rest.find_first_not_of(' ', gap);
  if (mode == std::string_view::npos) return;
  const std::string persistence = first_word(rest.substr(mode));
  if (persistence == "On" || persistence == "Off") count_gpu(log, plain(rest.substr(0, gap)));
}

/// "Running on device_name=NVIDIA L40S with world_size=4", which later scripts print instead of nvidia-smi.
void read_device_line(SpeedrunLog& log, std::string_view line) {
  const std::size_t end = line.find(" with world_size=");
  if (end == std::string_view::npos) return;
  const std::string_view size = line.substr(end + 17);
  int count = 0;
  if (std::from_chars(size.data(), size.data() + size.size(), count).ec != std::errc() || count < 1) return;
  log.gpu = plain(line.substr(0, end));
  log.gpu_count = count;
}

}  // namespace

std::optional<ScriptPlace> find_script(std::string_view text) {
  if (text.empty()) return std::nullopt;
  ScriptPlace place{.begin = 0, .end = text.size(), .next = text.size(), .is_closed = false};
  if (const TextLine first = line_at(text, 0); is_separator(first.text)) place.begin = first.next;
  bool has_import = false;
  std::size_t first_step = text.size();  // a script may quote such a line, so it ends there only without a separator
  for (std::size_t start = place.begin; start < text.size();) {
    const TextLine line = line_at(text, start);
    const char mark = line.text.empty() ? '\0' : line.text.front();
    if (mark == '=' && is_separator(line.text)) {
      place.end = start;
      place.next = line.next;
      place.is_closed = true;
      break;
    }
    if (mark == 's' && first_step == text.size() && is_step_line(line.text)) {
      if (!has_import) return std::nullopt;
      first_step = start;
    }
    if (mark == 'i' || mark == 'f') {
      has_import = has_import || starts_with(line.text, "import ") || starts_with(line.text, "from ");
    }
    start = line.next;
  }
  if (!place.is_closed && first_step < text.size()) place.end = place.next = first_step;
  place.is_closed = place.is_closed || first_step < text.size();
  return has_import ? std::optional(place) : std::nullopt;
}

void read_header_line(std::string_view line, SpeedrunLog& log) {
  if (starts_with(line, "|")) {
    if (const auto driver = word_after(line, "Driver Version: ")) {
      log.driver = *driver;
    } else {
      read_gpu_row(log, line);
    }
  } else if (starts_with(line, "Running pytorch ") || starts_with(line, "Running PyTorch ")) {
    log.torch = first_word(line.substr(16));
    log.cuda = word_after(line, "compiled for CUDA ").value_or("");
  } else if (starts_with(line, "Running python ") || starts_with(line, "Running Python ")) {
    log.python = first_word(line.substr(15));
  } else if (starts_with(line, "Running on device_name=")) {
    read_device_line(log, line.substr(23));
  }
}

}  // namespace nanobench::results

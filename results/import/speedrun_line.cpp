#include "results/import/speedrun_line.h"

#include <charconv>
#include <cmath>

namespace nanobench::results {
namespace {

constexpr std::int64_t kMaxSteps = 1'000'000'000'000;

bool take(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// Removes a step number from the beginning of `text`.
std::optional<std::int64_t> take_count(std::string_view& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || value > kMaxSteps) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// A number followed only by `unit`.
std::optional<double> number(std::string_view text, std::string_view unit = "") {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return text == unit ? std::optional(value) : std::nullopt;
}

/// "12ms" or "0.012s"; nullopt for "nanms", which the records print before the first timed step.
std::optional<double> milliseconds(std::string_view text) {
  std::optional<double> value = number(text, "ms");
  if (!value) {
    value = number(text, "s");
    if (value) *value *= 1000.0;
  }
  return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
}

/// Removes the next word from `text`.
std::string_view take_word(std::string_view& text) {
  const std::size_t start = text.find_first_not_of(' ');
  if (start == std::string_view::npos) {
    text = {};
    return {};
  }
  text.remove_prefix(start);
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

/// "train_time:12ms" and the like; unknown fields are skipped.
void read_field(SpeedrunLine& line, std::string_view field) {
  if (take(field, "train_time:")) {
    line.clock_ms = milliseconds(field);
  } else if (take(field, "step_avg:")) {
    line.step_avg_ms = milliseconds(field);
    line.is_whole = field.size() >= 2 && field.substr(field.size() - 2) == "ms";
  } else if (take(field, "val_loss:")) {
    line.kind = SpeedrunLine::Kind::kValidation;
    line.loss = number(field);
  } else if (take(field, "val_ema_loss:")) {
    line.ema_loss = number(field);
  } else if (take(field, "train_loss:")) {
    line.loss = number(field);
  }
}

std::optional<SpeedrunLine> parse_step_line(std::string_view text) {
  SpeedrunLine line;
  const std::optional<std::int64_t> step = take_count(text);
  if (!step) return std::nullopt;
  line.step = *step;
  if (take(text, "/")) {
    line.planned_steps = take_count(text);
    if (!line.planned_steps) return std::nullopt;
  }
  if (!text.empty() && text.front() != ' ') return std::nullopt;
  line.is_whole = false;
  while (!text.empty()) read_field(line, take_word(text));
  return line;
}

/// The lines of llm.c: "s:250 tel:6.1710".
std::optional<SpeedrunLine> parse_short_line(std::string_view text) {
  SpeedrunLine line;
  const std::optional<std::int64_t> step = take_count(text);
  if (!step) return std::nullopt;
  line.step = *step;
  std::string_view word = take_word(text);
  if (take(word, "tel:")) {
    line.kind = SpeedrunLine::Kind::kValidation;
  } else if (!take(word, "trl:")) {
    return std::nullopt;
  }
  line.loss = number(word);
  // Only its newline, which the caller sees, marks the end of such a line.
  line.is_whole = false;
  return line;
}

std::optional<double> take_mebibytes(std::string_view& text) {
  const std::optional<double> value = number(take_word(text));
  return value && *value >= 0 && take_word(text) == "MiB" ? value : std::nullopt;
}

std::optional<SpeedrunLine> parse_memory_line(std::string_view text) {
  SpeedrunLine line{.kind = SpeedrunLine::Kind::kMemory};
  if (!take(text, "allocated:") && !take(text, "consumption:")) return std::nullopt;
  line.allocated_mib = take_mebibytes(text);
  if (!line.allocated_mib) return std::nullopt;
  if (take_word(text) == "reserved:") line.reserved_mib = take_mebibytes(text);
  return line;
}

/// "[rank0]: step:..." -> "step:...": launchers of several processes write such prefixes.
std::string_view without_prefix(std::string_view line) {
  if (line.empty() || line.front() != '[') return line;
  const std::size_t end = line.find(']');
  if (end == std::string_view::npos) return line;
  line.remove_prefix(end + 1);
  take(line, ":");
  while (take(line, " ")) {
  }
  return line;
}

}  // namespace

std::optional<SpeedrunLine> parse_speedrun_line(std::string_view line) {
  line = without_prefix(line);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (take(line, "step:")) return parse_step_line(line);
  if (take(line, "s:")) return parse_short_line(line);
  if (take(line, "peak memory ")) return parse_memory_line(line);
  return std::nullopt;
}

}  // namespace nanobench::results

#include "tools/terminal/styled_line.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/text.h"

namespace nanobench::tools {

namespace {

constexpr std::size_t kHeights = 8;
constexpr std::array<const char*, kHeights> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, kHeights> kAscii = {"_", ".", "-", "~", "=", "+", "*", "#"};
constexpr double kNone = std::numeric_limits<double>::infinity();  // a column without samples

/// Means of the columns up to the last one with samples: NaN if no sample is finite, kNone if there is no sample.
std::vector<double> column_means(const std::vector<results::Sample>& samples, std::int64_t last_step,
                                 std::size_t width) {
  std::vector<double> sums(width, 0.0);
  std::vector<std::size_t> finite(width, 0), all(width, 0);
  std::size_t used = 0;
  const double columns_per_step = static_cast<double>(width) / (static_cast<double>(last_step) + 1.0);
  for (const results::Sample& sample : samples) {
    const double place = std::max(0.0, static_cast<double>(sample.step) * columns_per_step);
    const std::size_t column = std::min(static_cast<std::size_t>(place), width - 1);
    used = std::max(used, column + 1);
    ++all[column];
    if (!std::isfinite(sample.value)) continue;
    ++finite[column];
    sums[column] += sample.value;
  }
  std::vector<double> means;
  for (std::size_t i = 0; i < used; ++i) {
    const double mean = sums[i] / static_cast<double>(finite[i]);
    means.push_back(all[i] == 0 ? kNone : finite[i] == 0 ? std::nan("") : mean);
  }
  for (std::size_t i = 1; i < means.size(); ++i) {
    if (means[i] == kNone) means[i] = means[i - 1];
  }
  return means;
}

struct MeansRange {
  double low = 0.0, high = 0.0;
};

MeansRange range_of(const std::vector<double>& means) {
  std::vector<double> known;
  std::copy_if(means.begin(), means.end(), std::back_inserter(known), [](double mean) { return std::isfinite(mean); });
  if (known.empty()) return {};
  std::sort(known.begin(), known.end());
  return {known.front(), known[(9 * (known.size() - 1) + 9) / 10]};
}

}  // namespace

std::string sparkline(const std::vector<results::Sample>& samples, std::int64_t last_step, std::size_t width,
                      bool is_utf8) {
  if (width == 0 || samples.empty()) return "";
  const std::vector<double> means = column_means(samples, std::max(last_step, samples.back().step), width);
  const MeansRange range = range_of(means);
  const auto& heights = is_utf8 ? kBlocks : kAscii;
  std::string text;
  for (const double mean : means) {
    if (mean == kNone) {
      text += ' ';
    } else if (!std::isfinite(mean)) {
      text += '!';
    } else {
      const double part = range.high > range.low ? (mean - range.low) / (range.high - range.low) : 0.0;
      const auto height = static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * (kHeights - 1) + 0.5);
      text += heights[height];
    }
  }
  return text;
}

namespace {

constexpr const char* kReset = "\x1b[0m";

const char* code_of(Style style) {
  switch (style) {
    case Style::kPlain: return "";
    case Style::kBold: return "\x1b[1m";
    case Style::kDim: return "\x1b[2m";
    case Style::kGood: return "\x1b[32m";
    case Style::kWarning: return "\x1b[33m";
    case Style::kBad: return "\x1b[31m";
  }
  return "";
}

}  // namespace

StyledLine& StyledLine::add(std::string_view text, Style style) {
  pieces_.push_back({printable(text), style});
  return *this;
}

std::string StyledLine::text(std::size_t width, const TerminalKind& kind) const {
  std::string out;
  std::size_t left = width;
  for (std::size_t i = 0; i < pieces_.size() && left > 0; ++i) {
    std::string piece = kind.is_utf8 ? pieces_[i].text : to_ascii(pieces_[i].text);
    // A piece that just fits would hide that others follow: with one more blank it is cut, which shows an ellipsis.
    if (i + 1 < pieces_.size() && display_width(piece) == left) piece += ' ';
    piece = cut_to(piece, left, kind.is_utf8);
    left -= display_width(piece);
    const std::string code = kind.has_color ? code_of(pieces_[i].style) : "";
    out += code.empty() ? piece : code + piece + kReset;
  }
  return out;
}

std::string cut_to(std::string_view text, std::size_t width, bool is_utf8) {
  if (is_utf8) return shortened(text, width);
  const std::string ascii = to_ascii(text);
  if (ascii.size() <= width) return ascii;
  const std::size_t dots = std::min<std::size_t>(width, 3);
  return ascii.substr(0, width - dots) + std::string(dots, '.');
}

std::string to_ascii(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      out += text[at++];
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
    const std::string_view character = text.substr(at, end - at);
    out += character == "±" ? "+-" : character == "…" ? "..." : "?";
    at = end;
  }
  return out;
}

}  // namespace nanobench::tools

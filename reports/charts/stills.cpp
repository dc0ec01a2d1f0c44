#include "reports/charts/stills.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

constexpr double kStillWidth = 760.0;
constexpr std::size_t kStillColors = 8;      ///< classes "c0" to "c7" of the page's style
constexpr std::size_t kMaxStillLegend = 24;  ///< more names would be longer than the drawing
constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Values of a table's rows by the keys of its columns.
class KeyedRows {
 public:
  explicit KeyedRows(const Table& table) : table_(table) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) place_[table.columns[i].key] = i;
  }

  std::size_t size() const { return table_.rows.size(); }
  const TableCell& cell(std::size_t row, const char* key) const { return table_.rows[row].at(place_.at(key)); }
  std::optional<double> number(std::size_t row, const char* key) const { return number_of(cell(row, key)); }
  bool is(std::size_t row, const char* key) const { return cell(row, key).value == true; }

 private:
  const Table& table_;
  std::map<std::string, std::size_t> place_;
};

/// A linear scale from values to pixels.
struct PixelScale {
  double low = kInfinite;
  double high = -kInfinite;
  double begin = 0.0;
  double end = 1.0;

  void include(const std::optional<double>& value) {
    if (!value || !std::isfinite(*value)) return;
    low = std::min(low, *value);
    high = std::max(high, *value);
  }
  double at(double value) const {
    return high > low ? begin + (value - low) / (high - low) * (end - begin) : (begin + end) / 2;
  }
};

std::string px(double value) {
  return format_fixed(value, 1);
}

std::string line_svg(const char* style, double x1, double y1, double x2, double y2) {
  return std::string("<line class=\"") + style + "\" x1=\"" + px(x1) + "\" y1=\"" + px(y1) + "\" x2=\"" + px(x2) +
         "\" y2=\"" + px(y2) + "\"></line>";
}

std::string text_svg(double x, double y, const char* anchor, const std::string& text) {
  return "<text x=\"" + px(x) + "\" y=\"" + px(y) + "\" text-anchor=\"" + anchor + "\">" + escape_markup(text) +
         "</text>";
}

std::string path_svg(const std::string& style, const std::string& path) {
  return "<path class=\"" + style + "\" d=\"" + path + "\"></path>";
}

std::string frame_svg(double height, const std::string& content) {
  return "<svg class=\"still\" viewBox=\"0 0 " + px(kStillWidth) + " " + px(height) + "\" aria-hidden=\"true\">\n" +
         content + "</svg>\n";
}

std::string style_of(const std::string& finding) {
  return finding == "the same" ? "same" : finding;
}

/// An arrow at the end of an interval that the axis cuts.
std::string arrow_svg(const std::string& style, double x, double y, double direction) {
  return path_svg("fill " + style,
                  "M" + px(x) + "," + px(y - 4) + "V" + px(y + 4) + "L" + px(x + 5 * direction) + "," + px(y) + "Z");
}

std::string mark_svg(const KeyedRows& rows, std::size_t row, const PixelScale& scale, double y) {
  const std::string style = style_of(rows.cell(row, "finding").text);
  std::string out;
  const auto low = rows.number(row, "drawn_low"), high = rows.number(row, "drawn_high");
  if (low && high) {
    out += line_svg(style.c_str(), scale.at(*low), y, scale.at(*high), y);
    if (rows.is(row, "cut_low")) out += arrow_svg(style, scale.at(*low), y, -1.0);
    if (rows.is(row, "cut_high")) out += arrow_svg(style, scale.at(*high), y, 1.0);
  }
  if (const auto told = rows.number(row, "published")) {
    const double x = scale.at(*told);
    out += path_svg("told", "M" + px(x - 5) + "," + px(y) + "L" + px(x) + "," + px(y - 5) + "L" + px(x + 5) + "," +
                                px(y) + "L" + px(x) + "," + px(y + 5) + "Z");
  }
  if (const auto value = rows.number(row, "value")) {
    out += "<circle class=\"" + std::string(style == "open" ? "hollow " : "fill ") + style + "\" cx=\"" +
           px(scale.at(*value)) + "\" cy=\"" + px(y) + "\" r=\"4\"></circle>";
  }
  return out + "\n";
}

/// The distinct texts of a column, in their order.
std::vector<std::string> texts_of(const KeyedRows& rows, const char* key) {
  std::vector<std::string> texts;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::string& text = rows.cell(row, key).text;
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  return texts;
}

double place_in(const std::vector<std::string>& list, const std::string& text) {
  return static_cast<double>(std::find(list.begin(), list.end(), text) - list.begin());
}

/// The rows of one metric between two pixels.
std::string panel_svg(const KeyedRows& rows, const std::string& metric, const std::vector<std::string>& names,
                      double begin, double end) {
  constexpr double kRow = 20.0;
  PixelScale scale{.begin = begin + 8, .end = end - 8};
  scale.include(0.0);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows.cell(row, "metric").text != metric) continue;
    for (const char* key : {"value", "drawn_low", "drawn_high", "published"}) scale.include(rows.number(row, key));
  }
  const double bottom = kRow * static_cast<double>(names.size()) + 4;
  std::string out =
      line_svg("zero", scale.at(0.0), 0, scale.at(0.0), bottom) + line_svg("axis", begin, bottom, end, bottom);
  out += text_svg(begin + 4, bottom + 14, "start", format_significant(scale.low, 2));
  out += text_svg(end - 4, bottom + 14, "end", format_significant(scale.high, 2));
  out += text_svg((begin + end) / 2, bottom + 30, "middle", metric) + "\n";
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows.cell(row, "metric").text != metric) continue;
    out += mark_svg(rows, row, scale, kRow * (place_in(names, rows.cell(row, "effect").text) + 0.5));
  }
  return out;
}

}  // namespace

std::string forest_still(const Table& data) {
  constexpr double kLabels = 170.0, kRow = 20.0;
  constexpr std::size_t kLabelColumns = 26;
  const KeyedRows rows(data);
  const std::vector<std::string> names = texts_of(rows, "effect"), metrics = texts_of(rows, "metric");
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double y = kRow * (static_cast<double>(i) + 0.5) + 4;
    out += text_svg(kLabels - 8, y, "end", shortened(names[i], kLabelColumns));
  }
  const double width = (kStillWidth - kLabels) / static_cast<double>(std::max<std::size_t>(metrics.size(), 1));
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const double begin = kLabels + width * static_cast<double>(i);
    out += panel_svg(rows, metrics[i], names, begin, begin + width - 8);
  }
  return frame_svg(kRow * static_cast<double>(names.size()) + 40, out);
}

namespace {

std::string color_of(double place) {
  return "c" + std::to_string(static_cast<std::size_t>(place) % kStillColors);
}

std::string legend_svg(const std::vector<std::string>& names, double top) {
  constexpr std::size_t kColumns = 4, kNameColumns = 26;
  if (names.size() > kMaxStillLegend) return "";
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t row = i / kColumns;
    const double x = 50 + 175.0 * static_cast<double>(i % kColumns), y = top + 16.0 * static_cast<double>(row);
    out += "<circle class=\"fill " + color_of(static_cast<double>(i)) + "\" cx=\"" + px(x) + "\" cy=\"" + px(y - 4) +
           "\" r=\"4\"></circle>" + text_svg(x + 8, y, "start", shortened(names[i], kNameColumns)) + "\n";
  }
  return out;
}

}  // namespace

std::string curves_still(const Table& data, const std::vector<std::string>& names) {
  constexpr double kHeight = 300.0, kHalf = 0.5;
  const KeyedRows rows(data);
  PixelScale x{.begin = 50, .end = kStillWidth - 8}, y{.begin = kHeight - 40, .end = 8};
  std::map<std::string, std::string> paths;
  const auto is_drawn = [&](std::size_t row) { return rows.number(row, "progress").value_or(1.0) >= kHalf; };
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!is_drawn(row)) continue;
    x.include(rows.number(row, "step"));
    y.include(rows.number(row, "loss"));
  }
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto step = rows.number(row, "step"), loss = rows.number(row, "loss");
    if (!is_drawn(row) || !step || !loss) continue;
    std::string& path = paths[rows.cell(row, "cell").text];
    path += (path.empty() ? "M" : "L") + px(x.at(*step)) + "," + px(y.at(*loss));
  }
  std::string out =
      line_svg("axis", 50, kHeight - 40, kStillWidth - 8, kHeight - 40) + line_svg("axis", 50, 8, 50, kHeight - 40);
  out += text_svg(46, 16, "end", format_fixed(y.high, 3)) + text_svg(46, kHeight - 40, "end", format_fixed(y.low, 3));
  out += text_svg(50, kHeight - 24, "start", format_significant(x.low, 6));
  out += text_svg(kStillWidth - 8, kHeight - 24, "end", format_significant(x.high, 6));
  out += text_svg(kStillWidth / 2, kHeight - 24, "middle", "steps") + "\n";
  for (const auto& [name, path] : paths) out += path_svg("curve " + color_of(place_in(names, name)), path) + "\n";
  const double legend =
      names.size() > kMaxStillLegend ? 0.0 : 16.0 * std::ceil(static_cast<double>(names.size()) / 4.0);
  return frame_svg(kHeight + legend, out + legend_svg(names, kHeight));
}

}  // namespace nanobench::reports

#include "tools/cli/chart_files.h"

#include <array>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/data/atomic_write.h"
#include "core/process/command.h"
#include "tools/cli/places.h"

namespace nanobench::tools {
namespace {

using core::OrderedJson;

constexpr int kWidth = 720;  // pixels, of a chart that would fill its page
constexpr double kDrawSeconds = 120.0;
constexpr const char* kVegaLite = "5.21";  // as the pages have it (tools/setup/vl_convert.json)

// The pages' light colours: Okabe and Ito's.
constexpr const char* kConfig = R"({"background": "#ffffff", "font": "sans-serif",
  "mark": {"color": "#0072b2"},
  "legend": {"orient": "bottom", "columns": 5, "labelLimit": 260},
  "axis": {"labelLimit": 220, "gridColor": "#d1d9e0"},
  "range": {"category": ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#3a98d0", "#5a3e99", "#444444"]}})";

constexpr const char* kDraw = R"(
import pathlib, sys, vl_convert
for name in sys.argv[2:]:
    file = pathlib.Path(name)
    svg = vl_convert.vegalite_to_svg(file.read_text(encoding="utf-8"), vl_version=sys.argv[1])
    part = file.with_name(file.name + ".part")
    part.write_text(svg, encoding="utf-8")
    part.replace(file.with_name(file.name.removesuffix(".vl.json") + ".svg"))
)";

void write_file(const std::filesystem::path& file, const std::string& text) {
  const std::array<std::string_view, 1> pieces = {text};
  core::write_file_atomically(file, pieces);
}

/// Of a picture that stands alone.
OrderedJson still_spec(const reports::Chart& chart) {
  OrderedJson spec = reports::complete_spec(chart);
  if (spec.contains("width") && spec["width"] == "container") spec["width"] = kWidth;
  spec["config"] = OrderedJson::parse(kConfig);
  return spec;
}

/// Why there are no pictures, or "".
std::string draw(const std::vector<std::string>& files) {
  std::vector<std::string> words = {"/usr/bin/env"};
  if (const auto root = source_root()) words.push_back("PYTHONPATH=" + (*root / ".deps/vl_convert").string());
  words.insert(words.end(), {"python3", "-B", "-c", kDraw, kVegaLite});
  words.insert(words.end(), files.begin(), files.end());
  if (core::run_command(words, {.seconds = kDrawSeconds}).is_success()) return "";
  return "no pictures were drawn: Python's vl-convert is not to be had or failed (`./nanobench setup` installs it); "
         "the "
         "charts' Vega-Lite specifications are there";
}

}  // namespace

std::string write_chart_files(reports::Document& document, const std::filesystem::path& folder,
                              const std::string& link) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::vector<reports::Chart*> charts;
  std::vector<std::string> files;
  for (reports::Section& section : document.sections) {
    for (reports::Chart& chart : section.charts) {
      const std::filesystem::path file = folder / (chart.id + ".vl.json");
      write_file(file, still_spec(chart).dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
      charts.push_back(&chart);
      files.push_back(file.string());
    }
  }
  if (charts.empty()) return "";
  std::string problem = draw(files);
  if (problem.empty()) {
    for (reports::Chart* chart : charts) chart->file = (std::filesystem::path(link) / (chart->id + ".svg")).string();
  }
  return problem;
}

}  // namespace nanobench::tools

#include "reports/charts/charts.h"
#include "reports/charts/rows.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr const char* kMeasured = "measured here";
constexpr const char* kPublished = "published";

/// Speed-ups of one kind, row after row.
class Steps {
 public:
  Steps(Table& table, bool is_waterfall) : table_(table), is_waterfall_(is_waterfall) {}

  void add(const std::string& row, const std::string& kind, std::optional<double> first, std::optional<double> now) {
    if (!first || !now || !(*first > 0.0) || !(*now > 0.0)) return;
    const double speed_up = *first / *now;
    const double from = is_waterfall_ ? last_ : 1.0;
    table_.rows.push_back({text_cell(row), text_cell(kind), number_cell(from), number_cell(speed_up),
                           number_cell(speed_up / from), number_cell(*now)});
    last_ = speed_up;
  }

 private:
  Table& table_;
  bool is_waterfall_;
  double last_ = 1.0;
};

OrderedJson spec_of(bool is_waterfall, bool has_published) {
  OrderedJson x = number_axis("from", "speed-up of the step over the first row");
  OrderedJson y = name_axis("row");
  OrderedJson color = {{"field", "kind"}, {"type", "nominal"}, {"title", nullptr}};
  if (!has_published) color["legend"] = nullptr;
  OrderedJson spec = bar_rows(has_published ? 13 : 22);
  spec.update(OrderedJson{
      {"encoding",
       {{"y", y},
        {"yOffset", {{"field", "kind"}, {"type", "nominal"}}},
        {"color", color},
        {"tooltip",
         {tooltip("row", "row"), tooltip("kind", "kind"), tooltip("speed_up", "speed-up over the first row", ".3f"),
          tooltip("step", is_waterfall ? "over the row before" : "over the first row", ".3f"),
          tooltip("step_ms", "step, ms", ".4~g")}}}},
      {"layer",
       {{{"mark", {{"type", "bar"}, {"opacity", 0.75}}}, {"encoding", {{"x", x}, {"x2", {{"field", "speed_up"}}}}}},
        {{"mark", {{"type", "tick"}, {"thickness", 3}}}, {"encoding", {{"x", number_axis("speed_up", "")}}}}}}});
  return spec;
}

}  // namespace

std::optional<Chart> speed_chart(const results::PlanRecord& plan, const ComparisonTable& table) {
  if (table.rows.size() < 2 || !table.has_one_yardstick) return std::nullopt;
  const bool is_waterfall = plan.design == results::Design::kHistory;
  Chart chart{.id = "speed",
              .title = is_waterfall ? "How the speed-ups add up" : "Speed-up of the step over the first row",
              .text = is_waterfall ? "Speed-up of one training step over the first row, record after record: each bar "
                                     "leads from the row before to this row."
                                   : "Speed-up of one training step over the first row."};
  chart.data = {.id = "speed",
                .title = "",
                .columns = {text_column("row", "row"), text_column("kind", "kind"), number_column("from", "from"),
                            number_column("speed_up", "speed-up over the first row"),
                            number_column("step", is_waterfall ? "over the row before" : "over the first row"),
                            number_column("step_ms", "step, ms")}};
  Steps measured(chart.data, is_waterfall), published(chart.data, is_waterfall);
  bool has_published = false;
  for (const Comparison& row : table.rows) {
    measured.add(row.label, kMeasured, table.rows.front().step_ms.mean, row.step_ms.mean);
    published.add(row.label, kPublished, table.rows.front().published_step_ms, row.published_step_ms);
    has_published = has_published || (row.published_step_ms && table.rows.front().published_step_ms);
  }
  if (chart.data.rows.empty()) return std::nullopt;
  if (has_published) {
    chart.text +=
        " Published: the official model on 8 H100, whose steps differ from this scale's; compare the shapes, not the "
        "lengths.";
  }
  chart.spec = spec_of(is_waterfall, has_published);
  return chart;
}

}  // namespace nanobench::reports

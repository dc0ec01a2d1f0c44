// Sections about how healthy training is: gradients and updates, stability over learning rates, and memory.
#include <algorithm>

#include "core/base/text.h"
#include "core/config/memory_model.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

std::string health_text(double value) {
  return format_significant(value, 3);
}

TableCell health_cell(const Summary& summary) {
  return summary_cell(summary, health_text);
}

std::string rate_text(double factor) {
  return format_significant(factor, 3) + "x";
}

/// "2 of 3", with the share's interval.
TableCell diverged_cell(int count, int runs, const std::optional<ConfidenceInterval>& interval) {
  OrderedJson value = {{"diverged", count}, {"runs", runs}};
  add_bounds(value, interval);
  TableCell cell = value_cell(std::to_string(count) + " of " + std::to_string(runs), std::move(value));
  if (interval) cell.detail = "[" + format_percent(interval->low, 0) + ", " + format_percent(interval->high, 0) + "]";
  return cell;
}

TableCell stable_rate_cell(const StabilityArm& arm) {
  OrderedJson value = {{"stable_rate", nullptr}, {"is_open", arm.is_open}};
  if (!arm.stable_rate) return value_cell("below " + rate_text(arm.points.front().factor), std::move(value));
  value["stable_rate"] = *arm.stable_rate;
  return value_cell(rate_text(*arm.stable_rate) + (arm.is_open ? " or more" : ""), std::move(value));
}

Table stable_rates_table(const Stability& stability) {
  Table table{.id = "stable_rates",
              .columns = {text_column("arm", "configuration"), number_column("stable_rate", "stable up to"),
                          number_column("diverged", "diverged")}};
  for (const StabilityArm& arm : stability.arms)
    table.rows.push_back(
        {text_cell(arm.label), stable_rate_cell(arm), diverged_cell(arm.diverged, arm.runs, arm.share_interval)});
  return table;
}

TableCell share_change_cell(const StabilityChange& change) {
  if (!change.share) return missing_cell();
  const auto text = [](double share) { return format_signed(100.0 * share, 0) + " %"; };
  OrderedJson value = {{"value", *change.share}, {"n", change.n}, {"is_exact", change.is_exact}};
  add_bounds(value, change.interval);
  TableCell cell = value_cell(text(*change.share), std::move(value));
  if (change.interval) cell.detail = "[" + text(change.interval->low) + ", " + text(change.interval->high) + "]";
  if (change.is_exact) cell.detail = "in each of " + counted(change.n, "seed");
  return cell;
}

Table stability_changes_table(const Stability& stability) {
  Table table{.id = "stability_changes",
              .title = "Against " + stability.arms.front().label,
              .columns = {text_column("arm", "configuration"), number_column("share_change", "share that diverges"),
                          number_column("rate_ratio", "stable rate"), number_column("n", "n")}};
  for (const StabilityChange& change : stability.changes) {
    table.rows.push_back({text_cell(change.label), share_change_cell(change),
                          number_cell(change.rate_ratio, [](double ratio) { return format_ratio(ratio) + "x"; }),
                          count_cell(change.n)});
  }
  return table;
}

Table diverged_by_rate_table(const Stability& stability) {
  Table table{.id = "diverged_by_rate",
              .title = "Runs that diverge, by the factor on all rates",
              .columns = {text_column("arm", "configuration"), number_column("factor", "rates"),
                          number_column("diverged", "diverged")}};
  for (const StabilityArm& arm : stability.arms) {
    for (const StabilityPoint& point : arm.points) {
      table.rows.push_back({text_cell(arm.label), value_cell(rate_text(point.factor), point.factor),
                            diverged_cell(point.count(), point.runs(), point.interval)});
    }
  }
  return table;
}

Table health_table(const std::vector<CellHealth>& cells) {
  Table table{.id = "health",
              .columns = {text_column("row", "record"), number_column("gradient_norm", "gradient norm"),
                          number_column("gradient_flow", "gradient flow"),
                          number_column("update_ratio", "update/weight"), number_column("n", "n")}};
  for (const CellHealth& cell : cells) {
    table.rows.push_back({text_cell(cell.label), health_cell(summarise(cell.gradient_norm)),
                          health_cell(summarise(cell.gradient_flow)), health_cell(summarise(cell.update_ratio)),
                          count_cell(static_cast<std::int64_t>(cell.gradient_norm.size()))});
  }
  return table;
}

Table health_parts_table(const std::vector<CellHealth>& cells) {
  Table table{
      .id = "health_parts",
      .title = "By group and layer",
      .columns = {text_column("row", "record"), text_column("group", "group"), text_column("layer", "layer"),
                  number_column("gradient_norm", "gradient norm"), number_column("update_ratio", "update/weight")}};
  for (const CellHealth& cell : cells) {
    for (const HealthPart& part : cell.parts) {
      if (part.group.empty()) continue;
      table.rows.push_back({text_cell(cell.label), text_cell(part.group),
                            text_cell(part.layer.empty() ? "all" : part.layer), health_cell(part.gradient_norm),
                            health_cell(part.update_ratio)});
    }
  }
  return table;
}

TableCell memory_bytes_cell(std::int64_t bytes) {
  return value_cell(format_bytes(static_cast<double>(bytes)), bytes);
}

}  // namespace

std::optional<Section> health_section(const std::vector<CellHealth>& cells, bool has_parts) {
  if (cells.empty()) return std::nullopt;
  Section section{.title = "Health of training"};
  section.reading = {
      "Means over the sampled steps, ± over the runs. Gradient norm: of all averaged gradients, before clipping. "
      "Gradient flow: of the hidden matrices, the gradient per weight of the layer where it is smallest over that of "
      "the layer where it is largest; 1: it reaches all layers alike. Update/weight: how far one update moves the "
      "hidden matrices, over their norm."};
  section.tables.push_back(health_table(cells));
  if (has_parts) section.tables.push_back(health_parts_table(cells));
  return section;
}

std::optional<Section> stability_section(const std::optional<Stability>& stability) {
  if (!stability) return std::nullopt;
  Section section{.title = "Stability over learning rates"};
  const std::string limit = stability->threshold ? format_significant(*stability->threshold, 4) + " nats"
                                                 : "the validation loss before its first step";
  section.reading = {
      "A run has diverged if a loss was not finite, or if its last validation loss is not below " + limit +
      ". Stable up to: the largest factor on all learning rates up to which no run of any seed diverges "
      "(eval/stable_rate). Intervals of shares are Wilson's, of changes Student's over the seeds, both at 95 %."};
  section.tables.push_back(stable_rates_table(*stability));
  if (!stability->changes.empty()) section.tables.push_back(stability_changes_table(*stability));
  section.tables.push_back(diverged_by_rate_table(*stability));
  return section;
}

Table memory_table(const core::MemoryCounts& counts) {
  Table table{.id = "memory",
              .title = "Memory of training, from the configuration",
              .columns = {text_column("part", "part"), number_column("full", "float32 numbers"),
                          number_column("bfloat16", "bfloat16 numbers"), number_column("bytes", "bytes"),
                          number_column("emulated_bytes", "where bfloat16 is emulated", 1)}};
  const auto add = [&](const std::string& part, const core::TypedNumbers& numbers) {
    table.rows.push_back({text_cell(part), value_cell(format_count(numbers.full), numbers.full),
                          value_cell(format_count(numbers.bfloat16), numbers.bfloat16),
                          memory_bytes_cell(numbers.bytes()), memory_bytes_cell(numbers.emulated_bytes())});
  };
  for (const core::MemoryPart part : core::kMemoryParts) add(enum_name(part), counts.of(part));
  add("all", counts.total());
  return table;
}

Table counted_memory_table(const std::map<std::string, double>& counters) {
  Table table{.id = "memory",
              .title = "Memory of training",
              .columns = {text_column("part", "part"), number_column("bytes", "bytes")}};
  const auto add = [&](const std::string& part, const std::string& name) {
    const auto found = counters.find("memory/" + name);
    if (found == counters.end()) return;
    table.rows.push_back({text_cell(part), value_cell(format_bytes(found->second), found->second)});
  };
  for (const core::MemoryPart part : core::kMemoryParts) add(enum_name(part), enum_name(part) + "_bytes");
  add("before there is a model", "before_model_bytes");
  add("training: the peak without that", "training_bytes");
  return table;
}

}  // namespace nanobench::reports

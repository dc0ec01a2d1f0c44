#include "reports/kinds/suite_report.h"

#include "reports/kinds/contrast_section.h"

namespace nanobench::reports {
namespace {

Section head_of(const suites::Suite& suite) {
  Section head;
  if (!suite.text.empty()) head.paragraphs.push_back(suite.text);
  const auto add = [&](const char* key, const char* title, TableCell cell) {
    head.facts.push_back({.key = key, .title = title, .cell = std::move(cell)});
  };
  std::string seeds;
  for (const std::uint64_t seed : suite.seeds) seeds += (seeds.empty() ? "" : ", ") + std::to_string(seed);
  add("design", "design", text_cell(enum_name(suite.design)));
  add("scale", "scale", text_cell(suite.scale));
  add("data", "data", text_cell(suite.data));
  add("seeds", "seeds", text_cell(seeds));
  add("file", "file", text_cell(suite.source));
  return head;
}

Table cells_of(const suites::Suite& suite, const suites::Matrix& matrix) {
  const bool has_steps = !suite.external || suite.external->steps;
  Table table{.id = "cells",
              .title = "Cells",
              .columns = {{.key = "cell", .title = "cell"},
                          {.key = "record", .title = "record"},
                          {.key = "changed", .title = "what changed", .wraps = true},
                          {.key = "steps", .title = "steps", .is_number = true},
                          {.key = "config_digest", .title = "configuration", .priority = 1}}};
  for (const suites::Cell& cell : matrix.cells) {
    table.rows.push_back({text_cell(cell.label), text_cell(cell.record), text_cell(cell.changed),
                          has_steps ? count_cell(cell.config.run.stop_after) : missing_cell(),
                          text_cell(suites::config_digest(cell))});
  }
  return table;
}

}  // namespace

Document suite_report(const suites::Suite& suite, const suites::Matrix& matrix) {
  Document document{.kind = "suite", .title = suite.name + ": " + suite.title};
  document.sections.push_back(head_of(suite));
  document.sections.back().tables.push_back(cells_of(suite, matrix));
  if (!matrix.contrasts.empty()) document.sections.push_back(contrast_section(matrix.contrasts));
  document.notes = core::texts_of(matrix.messages);
  return document;
}

Document suite_report(const suites::Suite& suite, const ablations::Catalogue& catalogue) {
  return suite_report(suite, suites::make_matrix(suite, catalogue));
}

}  // namespace nanobench::reports

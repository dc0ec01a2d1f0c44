#include "reports/kinds/difference_report.h"

namespace nanobench::reports {
namespace {

TableCell value_cell(const std::optional<std::string>& value) {
  return value ? text_cell(*value) : missing_cell();
}

TableCell setting_cell(const core::Json& value) {
  if (value.is_null()) return missing_cell();
  const std::string text = value.dump(-1, ' ', false, core::Json::error_handler_t::replace);
  return {.text = value.is_string() ? value.get<std::string>() : text,
          .detail = "",
          .value = core::OrderedJson::parse(text)};
}

Table features_table(const ablations::Catalogue& catalogue, const std::string& a, const std::string& b,
                     const std::vector<ablations::FeatureDifference>& features) {
  Table table{.id = "features",
              .title = "Features",
              .columns = {{.key = "feature", .title = "feature"},
                          {.key = "a", .title = a},
                          {.key = "b", .title = b},
                          {.key = "title", .title = "what it is", .wraps = true, .priority = 1}}};
  for (const ablations::FeatureDifference& item : features) {
    table.rows.push_back({text_cell(item.feature), value_cell(item.a), value_cell(item.b),
                          text_cell(catalogue.feature(item.feature).title)});
  }
  return table;
}

Table settings_table(const std::string& a, const std::string& b,
                     const std::vector<ablations::SettingDifference>& settings) {
  Table table{.id = "settings",
              .title = "Settings that no feature explains",
              .columns = {{.key = "setting", .title = "setting"},
                          {.key = "a", .title = a, .wraps = true},
                          {.key = "b", .title = b, .wraps = true}}};
  for (const ablations::SettingDifference& item : settings) {
    table.rows.push_back({text_cell(item.pointer), setting_cell(item.a), setting_cell(item.b)});
  }
  return table;
}

Table circumstances_table(const std::string& a, const std::string& b, const std::vector<Circumstance>& all) {
  Table table{.id = "circumstances",
              .title = "Circumstances",
              .columns = {{.key = "what", .title = "what"},
                          {.key = "a", .title = a, .wraps = true},
                          {.key = "b", .title = b, .wraps = true}}};
  for (const Circumstance& item : all) {
    if (item.a == item.b) continue;
    TableCell what{.text = item.title, .detail = "", .value = item.key};
    table.rows.push_back({std::move(what), text_cell(item.a), text_cell(item.b)});
  }
  return table;
}

}  // namespace

Document difference_report(const ablations::Catalogue& catalogue, const std::string& a, const std::string& b,
                           const ablations::ConfigDifference& difference,
                           const std::vector<Circumstance>& circumstances) {
  Document document{.kind = "difference", .title = a + " against " + b};
  Section& section = document.sections.emplace_back();
  section.facts = {{.key = "a", .title = "A", .cell = text_cell(a)}, {.key = "b", .title = "B", .cell = text_cell(b)}};
  section.tables = {features_table(catalogue, a, b, difference.features), settings_table(a, b, difference.settings)};
  if (!circumstances.empty()) section.tables.push_back(circumstances_table(a, b, circumstances));
  if (difference.settings.empty()) {
    document.notes.emplace_back(difference.features.empty() ? "The two configurations do the same arithmetic."
                                                            : "The features explain every setting that differs.");
  }
  return document;
}

}  // namespace nanobench::reports

#include "reports/render/render.h"

namespace nanobench::reports {

using core::OrderedJson;

OrderedJson to_json(const Document& document) {
  OrderedJson json = {{"schema_version", kDocumentSchemaVersion}, {"kind", document.kind}, {"title", document.title}};
  if (!document.headline.empty()) json["headline"] = document.headline;
  if (!document.cards.empty()) {
    OrderedJson& cards = json["cards"] = OrderedJson::array();
    for (const Card& card : document.cards) {
      cards.push_back({{"key", card.key},
                       {"title", card.title},
                       {"text", card.text},
                       {"verdict", card.verdict},
                       {"tone", enum_name(card.tone)},
                       {"lines", card.lines}});
    }
  }
  OrderedJson facts = OrderedJson::object();
  OrderedJson tables = OrderedJson::object();
  OrderedJson charts = OrderedJson::object();
  OrderedJson text = OrderedJson::array();
  OrderedJson notes = OrderedJson::array();
  for (const Section& section : document.sections) {
    for (const Fact& fact : section.facts) facts[fact.key] = fact.cell.value;
    for (const std::string& paragraph : section.paragraphs) text.push_back(paragraph);
    for (const std::string& bullet : section.bullets) notes.push_back(bullet);
    for (const std::string& line : section.reading) notes.push_back(line);
    for (const Table& table : section.tables) {
      OrderedJson rows = OrderedJson::array();
      for (const std::vector<TableCell>& row : table.rows) {
        OrderedJson item = OrderedJson::object();
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
          item[table.columns[i].key] = row.at(i).value;
          if (row[i].value.is_string() && !row[i].detail.empty()) {
            item[table.columns[i].key + "_remark"] = row[i].detail;
          }
        }
        rows.push_back(std::move(item));
      }
      tables[table.id] = std::move(rows);
    }
    for (const Chart& chart : section.charts) charts[chart.id] = complete_spec(chart);
  }
  json["facts"] = std::move(facts);
  json["tables"] = std::move(tables);
  if (!charts.empty()) json["charts"] = std::move(charts);
  if (!text.empty()) json["text"] = std::move(text);
  json["warnings"] = document.warnings;
  for (const std::string& note : document.notes) notes.push_back(note);
  for (const std::string& line : document.reading) notes.push_back(line);
  json["notes"] = std::move(notes);
  return json;
}

std::string render_json(const Document& document) {
  return core::safe_dump(to_json(document), 2) + "\n";
}

}  // namespace nanobench::reports

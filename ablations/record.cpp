#include "ablations/record.h"

#include "ablations/patch.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/config/field_visitor.h"

namespace nanobench::ablations {
namespace {

using core::Json;
using core::JsonObject;
using core::Reason;

constexpr double kMaxFigure = 1e12;

/// Absent and null both mean: not published.
template <class Value, class Read>
void read_figure(JsonObject& object, const std::string& key, std::optional<Value>& figure, Read read) {
  const Json* member = object.find(key);
  if (member != nullptr && !member->is_null()) figure = read(key);
}

PublishedFigures read_figures(JsonObject object) {
  PublishedFigures figures;
  const auto number = [&](const std::string& key) { return object.number(key, 0, kMaxFigure); };
  const auto count = [&](const std::string& key) { return object.integer(key, 1, core::kMaxCount); };
  read_figure(object, "minutes", figures.minutes, number);
  read_figure(object, "train_seconds", figures.train_seconds, number);
  read_figure(object, "steps", figures.steps, count);
  read_figure(object, "step_avg_ms", figures.step_avg_ms, number);
  read_figure(object, "tokens_per_step", figures.tokens_per_step, count);
  read_figure(object, "peak_mib", figures.peak_mib, number);
  read_figure(object, "final_val_loss", figures.final_val_loss, [&](const std::string& key) {
    JsonObject loss = object.object(key);
    PublishedFigures::FinalValLoss value;
    value.mean = loss.number("mean", 0, kMaxFigure);
    read_figure(loss, "sd", value.sd, [&](const std::string& sd) { return loss.number(sd, 0, kMaxFigure); });
    value.n = loss.integer("n", 0, core::kMaxCount);
    loss.finish();
    return value;
  });
  figures.source = object.string("source");
  figures.is_of_another_script = object.boolean_or("is_of_another_script", false);
  object.finish();
  return figures;
}

}  // namespace

Record read_record(const Json& json, const std::string& source) {
  JsonObject object(json, source);
  Record record;
  record.source = source;
  record.id = object.string("id");
  if (record.id.empty()) object.fail("id", Reason::kEmpty, "is empty; expected a name such as \"record17\"");
  record.number = object.integer("number", 0, 10000);
  record.title = object.string("title");
  record.date = object.string_or("date", "");
  if (object.find("parent") != nullptr) record.parent = object.string("parent");
  record.features = object.named_strings_or_empty("features");
  const Json* patch = object.find("patch");
  record.patch = patch == nullptr ? Json::object() : *patch;
  check_patch(record.patch, source, "/patch");
  if (object.find("published") != nullptr) record.published = read_figures(object.object("published"));
  record.changes = object.strings_or_empty("changes");
  record.note = object.string_or("note", "");
  object.finish();
  return record;
}

}  // namespace nanobench::ablations

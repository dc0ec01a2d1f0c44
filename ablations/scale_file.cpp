// Reading scales/ID.json.
#include "ablations/scale.h"
#include "core/config/train_config_fields.h"

namespace nanobench::ablations {
namespace {

using core::Json;
using core::JsonObject;

std::optional<std::int64_t> optional_count(JsonObject& object, const std::string& key, std::int64_t low) {
  if (object.find(key) == nullptr) return std::nullopt;
  return object.integer(key, low, core::kMaxCount);
}

FeatureSettings read_holds(JsonObject& object) {
  FeatureSettings holds;
  const Json* settings = object.find("holds");
  if (settings == nullptr) return holds;
  JsonObject members = object.object("holds");
  for (const auto& [id, unused] : settings->items()) holds[id] = members.string(id);
  return holds;
}

}  // namespace

Scale read_scale(const Json& json, const std::string& source) {
  JsonObject object(json, source);
  const auto divisor = [&](const std::string& key) { return object.integer_or(key, 1, 1, core::kMaxCount); };
  Scale scale;
  scale.source = source;
  scale.id = object.string("id");
  if (scale.id.empty()) object.fail("id", "is empty; expected a name such as \"nano\"");
  scale.title = object.string("title");
  scale.text = object.string("text");
  scale.model_dim_divisor = divisor("model_dim_divisor");
  scale.num_heads_divisor = divisor("num_heads_divisor");
  scale.context_divisor = divisor("context_divisor");
  scale.tokens_per_step_divisor = divisor("tokens_per_step_divisor");
  scale.steps_divisor = divisor("steps_divisor");
  scale.vocab_size = optional_count(object, "vocab_size", 2);
  scale.document_separator = optional_count(object, "document_separator", 0);
  if (scale.vocab_size.has_value() != scale.document_separator.has_value()) {
    object.fail(scale.vocab_size ? "document_separator" : "vocab_size",
                "is missing; another vocabulary needs both vocab_size and document_separator");
  }
  scale.ranks = optional_count(object, "ranks", 1);
  scale.val_tokens = optional_count(object, "val_tokens", 1);
  scale.val_every = optional_count(object, "val_every", 1);
  scale.untimed_steps = optional_count(object, "untimed_steps", 0);
  scale.warmup_iterations = optional_count(object, "warmup_iterations", 0);
  scale.holds = read_holds(object);
  object.finish();
  return scale;
}

}  // namespace nanobench::ablations

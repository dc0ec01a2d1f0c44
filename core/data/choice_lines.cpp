#include "core/data/choice_lines.h"

#include <limits>
#include <string>
#include <string_view>

#include "core/base/input_file.h"
#include "core/base/json.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"

namespace nanobench::core {
namespace {

constexpr InputLimit kLinesLimit{std::uint64_t{256} << 20, "HellaSwag's training set has 50 megabytes"};
constexpr std::size_t kMaxItems = 65535;       // their numbers are uint16
constexpr std::size_t kMaxText = 16384;        // bytes; the longest context of HellaSwag has 1 KB
constexpr std::size_t kMaxItemTokens = 32000;  // an item has at most 65,535 bytes

std::string text_at(JsonObject& object, const std::string& key) {
  std::string text = object.string(key);
  if (text.size() > kMaxText)
    object.fail(key, Reason::kTooLarge,
                "has " + std::to_string(text.size()) + " bytes, expected at most " + std::to_string(kMaxText));
  return text;
}

std::vector<std::string> endings_of(JsonObject& object) {
  const std::vector<std::string> endings = object.strings_or_empty("endings");
  if (endings.size() < kMinEndings || endings.size() > kMaxEndings)
    object.fail("endings", Reason::kTooMany,
                "expected " + std::to_string(kMinEndings) + " to " + std::to_string(kMaxEndings) + " texts, got " +
                    std::to_string(endings.size()));
  for (const std::string& ending : endings)
    if (ending.size() > kMaxText)
      object.fail(
          "endings", Reason::kTooLarge,
          "a text has " + std::to_string(ending.size()) + " bytes, expected at most " + std::to_string(kMaxText));
  return endings;
}

std::size_t label_of(JsonObject& object, std::size_t endings) {
  const Json* label = object.find("label");
  if (label == nullptr)
    object.fail("label", Reason::kMissingKey, "is missing; the published test set has none, use the validation set");
  std::optional<std::int64_t> number = integer_of<std::int64_t>(*label);
  if (label->is_string()) {
    const std::string text = label->get<std::string>();
    if (text.size() == 1 && text[0] >= '0' && text[0] <= '9') number = text[0] - '0';
  }
  if (!number || *number < 0 || static_cast<std::size_t>(*number) >= endings)
    object.fail("label", Reason::kOutOfRange,
                "expected the index of one of the " + std::to_string(endings) + " endings, got " + safe_dump(*label));
  return static_cast<std::size_t>(*number);
}

ChoiceItem read_item(std::string_view line, const std::string& source, std::size_t number, BytePairEncoder& encoder) {
  const Json json = parse_json(line, source);
  JsonObject object(json, source);
  ChoiceItem item{.number = static_cast<std::uint16_t>(number), .right = 0, .context = {}, .endings = {}};
  item.context = encoder.encode(text_at(object, "ctx"));
  const std::vector<std::string> endings = endings_of(object);
  item.right = label_of(object, endings.size());
  std::size_t tokens = item.context.size();
  for (const std::string& ending : endings) {
    item.endings.push_back(encoder.encode(" " + ending));
    tokens += item.endings.back().size();
  }
  if (tokens > kMaxItemTokens)
    object.fail(
        "endings", Reason::kTooMany,
        "the item has " + std::to_string(tokens) + " tokens, expected at most " + std::to_string(kMaxItemTokens));
  return item;
}

}  // namespace

ChoiceTask read_choice_lines(const std::filesystem::path& file, BytePairEncoder& encoder, std::size_t most) {
  const std::string text = read_input(file, kLinesLimit);
  ChoiceTask task;
  std::size_t number = 0;
  for (const std::string_view line : split_lines(text)) {
    if (most > 0 && task.items.size() >= most) break;
    ++number;
    if (trimmed(line).empty()) continue;
    const std::string source = file.string() + ": line " + std::to_string(number);
    if (task.items.size() == kMaxItems)
      throw Refusal(ErrorCode::kInvalidArgument, Reason::kTooMany,
                    source + ": expected at most " + std::to_string(kMaxItems) + " items", source);
    task.items.push_back(read_item(line, source, number - 1, encoder));
  }
  if (task.items.empty())
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kEmpty, file.string() + ": has no items", file.string());
  return task;
}

}  // namespace nanobench::core

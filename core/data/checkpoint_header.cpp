#include "core/data/checkpoint_header.h"

#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"
#include "core/data/safetensors_header.h"

namespace nanobench::core {
namespace {

constexpr const char* kFormatKey = "format";
constexpr const char* kCheckpointFormat = "nanobench checkpoint";
constexpr const char* kVersionKey = "version";
constexpr const char* kStepKey = "step";
constexpr const char* kEngineKey = "engine_version";
constexpr const char* kSpecKey = "run_spec";

[[noreturn]] void incomplete(const std::string& source, const std::string& what) {
  throw Refusal(ErrorCode::kDataLoss, Reason::kIncomplete, source + ": not a whole checkpoint: " + what, source);
}

const std::string& entry(const std::map<std::string, std::string>& metadata, const char* key,
                         const std::string& source) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) incomplete(source, "its header has no \"" + std::string(key) + "\"");
  return found->second;
}

std::int64_t number(const std::map<std::string, std::string>& metadata, const char* key, const std::string& source) {
  const std::string& text = entry(metadata, key, source);
  const std::optional<std::int64_t> value = parse_count(text);
  if (!value) incomplete(source, "its header has no number as \"" + std::string(key) + "\"");
  return *value;
}

}  // namespace

std::map<std::string, std::string> to_metadata(const CheckpointHeader& header) {
  return {{kFormatKey, kCheckpointFormat},
          {kVersionKey, std::to_string(kCheckpointVersion)},
          {kStepKey, std::to_string(header.step)},
          {kEngineKey, header.engine_version},
          {kSpecKey, header.spec.dump()}};
}

std::optional<CheckpointHeader> checkpoint_header(const std::map<std::string, std::string>& metadata,
                                                  const std::string& source) {
  const auto format = metadata.find(kFormatKey);
  if (format == metadata.end() || format->second != kCheckpointFormat) return std::nullopt;
  const std::int64_t version = number(metadata, kVersionKey, source);
  if (version > kCheckpointVersion) {
    throw Refusal(ErrorCode::kUnavailable, Reason::kOtherVersion,
                  source + ": is a checkpoint of version " + std::to_string(version) +
                      ", this program reads up to version " + std::to_string(kCheckpointVersion) +
                      "; use a newer nanobench",
                  source);
  }
  CheckpointHeader header{
      .step = number(metadata, kStepKey, source), .engine_version = entry(metadata, kEngineKey, source), .spec = {}};
  try {
    header.spec = parse_json(entry(metadata, kSpecKey, source), "its run_spec");
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    incomplete(source, error.what());
  }
  return header;
}

CheckpointHeader read_checkpoint_header(const std::filesystem::path& file) {
  const InputFile in(file);
  read_safetensors_header(in, file);
  std::optional<CheckpointHeader> header = checkpoint_header(read_safetensors_metadata(in, file), file.string());
  if (header) return *std::move(header);
  throw Refusal(ErrorCode::kInvalidArgument, Reason::kOtherFormat,
                file.string() +
                    ": has parameters without the configuration of a run; name a checkpoint that "
                    "`nanobench run --keep-weights` or `nanobench train --save` wrote",
                file.string());
}

}  // namespace nanobench::core

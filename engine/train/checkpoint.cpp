#include "engine/train/checkpoint.h"

#include "core/base/input_file.h"
#include "core/data/safetensors_header.h"

namespace nanobench::core {
namespace {

bool is_parameter(const std::string& name) {
  return !is_checkpoint_state(name);
}

bool is_checkpoint(const std::filesystem::path& file) {
  InputFile in;
  if (in.open(file)) return false;  // the reader of tensors says why
  return checkpoint_header(read_safetensors_metadata(in, file), file.string()).has_value();
}

}  // namespace

Checkpoint read_checkpoint(const std::filesystem::path& file, CheckpointPart part) {
  const CheckpointHeader header = read_checkpoint_header(file);
  Checkpoint checkpoint{.step = header.step,
                        .engine_version = header.engine_version,
                        .spec = read_run_spec(header.spec, file.string() + "#run_spec"),
                        .parameters = {},
                        .state = {}};
  const bool is_whole = part == CheckpointPart::kWhole;
  for (auto& [name, tensor] :
       read_safetensors(file, [&](const std::string& name) { return is_whole || is_parameter(name); }))
    (is_parameter(name) ? checkpoint.parameters : checkpoint.state).emplace(name, tensor);
  return checkpoint;
}

NamedTensors read_parameters(const std::filesystem::path& file) {
  return is_checkpoint(file) ? read_safetensors(file, is_parameter) : read_safetensors(file);
}

WrittenFile write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint) {
  NamedTensors tensors = checkpoint.parameters;
  tensors.insert(checkpoint.state.begin(), checkpoint.state.end());
  return write_safetensors(
      file, tensors,
      to_metadata(
          {.step = checkpoint.step, .engine_version = checkpoint.engine_version, .spec = to_json(checkpoint.spec)}));
}

}  // namespace nanobench::core

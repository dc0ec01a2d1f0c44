#include "engine/train/engine_facts.h"

#include <ATen/Version.h>
#include <torch/version.h>

#include "core/base/build_info.h"
#include "engine/kernels/engine_context.h"

namespace nanobench::core {

std::map<std::string, std::string> engine_facts(const RunSpec& spec) {
  return {{"libtorch", TORCH_VERSION},
          {"device", "cpu"},
          {"cpu_capability", at::get_cpu_capability()},
          {"dtype", spec.dtype},
          {"vector_path", to_string(EngineContext::current().cpu_path())},
          {"bfloat16", to_string(EngineContext::current().bfloat16_path())},
          {"compiler", build_info().compiler},
          {"build_type", build_info().build_type}};
}

}  // namespace nanobench::core

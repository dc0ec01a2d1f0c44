#include "engine/train/safetensors.h"

#include <array>
#include <utility>

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/data/safetensors_header.h"

namespace nanobench::core {
namespace {

constexpr std::array<std::pair<const char*, at::ScalarType>, 7> kDtypes = {{{"F64", at::kDouble},
                                                                            {"F32", at::kFloat},
                                                                            {"BF16", at::kBFloat16},
                                                                            {"I64", at::kLong},
                                                                            {"I32", at::kInt},
                                                                            {"U8", at::kByte},
                                                                            {"BOOL", at::kBool}}};

at::ScalarType dtype_of(const std::filesystem::path& file, const SafetensorsEntry& entry) {
  for (const auto& [text, type] : kDtypes) {
    if (entry.dtype == text) return type;
  }
  throw Error(ErrorCode::kUnavailable, file.string() + ": tensors of type " + entry.dtype +
                                           " are not supported; use F64, F32, BF16, I64, I32, U8 or BOOL");
}

}  // namespace

std::map<std::string, at::Tensor> read_safetensors(const std::filesystem::path& file) {
  InputFile in;
  if (const auto problem = in.open(file)) {
    const bool is_missing = problem->trouble == InputTrouble::kMissing;
    fail_to_read(file.string(), *problem, is_missing ? "check the path" : "name a safetensors file");
  }
  std::map<std::string, at::Tensor> tensors;
  for (const SafetensorsEntry& entry : read_safetensors_header(in, file)) {
    at::Tensor tensor = at::empty(entry.shape, at::TensorOptions().dtype(dtype_of(file, entry)));
    if (entry.bytes > 0 && !in.read_at(entry.begin, tensor.data_ptr(), static_cast<std::size_t>(entry.bytes)))
      throw Error(ErrorCode::kDataLoss, file.string() + " was cut while it was read; copy it again");
    tensors.emplace(entry.name, std::move(tensor));
  }
  return tensors;
}

}  // namespace nanobench::core

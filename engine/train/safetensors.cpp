#include "engine/train/safetensors.h"

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"

namespace nanobench::core {
namespace {

constexpr std::array<std::pair<const char*, at::ScalarType>, 7> kDtypes = {{{"F64", at::kDouble},
                                                                            {"F32", at::kFloat},
                                                                            {"BF16", at::kBFloat16},
                                                                            {"I64", at::kLong},
                                                                            {"I32", at::kInt},
                                                                            {"U8", at::kByte},
                                                                            {"BOOL", at::kBool}}};

[[noreturn]] void broken(const std::filesystem::path& file, const std::string& what) {
  throw Error(ErrorCode::kDataLoss, file.string() + ": not a whole safetensors file: " + what);
}

at::ScalarType dtype_of(const std::filesystem::path& file, const std::string& name) {
  for (const auto& [text, type] : kDtypes) {
    if (name == text) return type;
  }
  throw Error(ErrorCode::kUnavailable, file.string() + ": tensors of type " + name +
                                           " are not supported; use F64, F32, BF16, I64, I32, U8 or BOOL");
}

at::Tensor read_tensor(const std::filesystem::path& file, const std::string& name, const Json& entry,
                       std::string_view data) {
  const at::ScalarType dtype = dtype_of(file, entry.at("dtype").get<std::string>());
  const auto shape = entry.at("shape").get<std::vector<std::int64_t>>();
  const auto begin = entry.at("data_offsets").at(0).get<std::uint64_t>();
  const auto end = entry.at("data_offsets").at(1).get<std::uint64_t>();
  if (begin > end || end > data.size()) broken(file, "tensor \"" + name + "\" reaches beyond the end of the file");
  std::uint64_t bytes = c10::elementSize(dtype);
  for (const std::int64_t size : shape) {
    if (size < 0 || (size > 0 && bytes > data.size() / static_cast<std::uint64_t>(size)))
      broken(file, "tensor \"" + name + "\" has an impossible shape");
    bytes *= static_cast<std::uint64_t>(size);
  }
  if (bytes != end - begin)
    broken(file, "the shape of tensor \"" + name + "\" does not fit its " + std::to_string(end - begin) + " bytes");
  at::Tensor tensor = at::empty(shape, at::TensorOptions().dtype(dtype));
  if (bytes > 0) std::memcpy(tensor.data_ptr(), data.data() + begin, bytes);
  return tensor;
}

}  // namespace

std::map<std::string, at::Tensor> read_safetensors(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(ErrorCode::kNotFound, "cannot read " + file.string() + "; check the path");
  const std::string content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::uint64_t header_bytes = 0;
  if (content.size() < sizeof header_bytes) broken(file, "it has only " + std::to_string(content.size()) + " bytes");
  std::memcpy(&header_bytes, content.data(), sizeof header_bytes);
  if (header_bytes > content.size() - sizeof header_bytes) broken(file, "its header is longer than the file");
  const std::string_view all(content);
  std::map<std::string, at::Tensor> tensors;
  try {
    const Json header = Json::parse(all.substr(sizeof header_bytes, header_bytes));
    const std::string_view data = all.substr(sizeof header_bytes + header_bytes);
    for (const auto& [name, entry] : header.items()) {
      if (name != "__metadata__") tensors.emplace(name, read_tensor(file, name, entry, data));
    }
  } catch (const Json::exception& error) {
    broken(file, error.what());
  }
  return tensors;
}

}  // namespace nanobench::core

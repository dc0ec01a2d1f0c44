#include "engine/train/safetensors.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/atomic_write.h"
#include "core/base/digest.h"
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

std::string name_of(at::ScalarType type) {
  for (const auto& [text, known] : kDtypes) {
    if (known == type) return text;
  }
  throw Error(ErrorCode::kUnavailable, std::string("tensors of type ") + at::toString(type) + " cannot be written");
}

/// Wide elements first, so that all are aligned; else by name.
std::vector<SafetensorsEntry> entries_of(const NamedTensors& tensors) {
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, tensor] : tensors)
    entries.push_back({.name = name, .dtype = name_of(tensor.scalar_type()), .shape = tensor.sizes().vec()});
  std::stable_sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return safetensors_dtype_bytes(a.dtype) > safetensors_dtype_bytes(b.dtype);
  });
  return entries;
}

/// A file and the digest of what was written to it.
class DigestedFile {
 public:
  explicit DigestedFile(const std::filesystem::path& file) : file_(file) {}
  void write(std::string_view bytes) {
    file_.write(bytes);
    digest_.update(bytes.data(), bytes.size());
    bytes_ += static_cast<std::int64_t>(bytes.size());
  }
  WrittenFile commit() {
    file_.commit();
    return {.bytes = bytes_, .digest = digest_.hex()};
  }

 private:
  AtomicFile file_;
  Digest digest_;
  std::int64_t bytes_ = 0;
};

}  // namespace

NamedTensors read_safetensors(const std::filesystem::path& file) {
  return read_safetensors(file, [](const std::string&) { return true; });
}

NamedTensors read_safetensors(const std::filesystem::path& file,
                              const std::function<bool(const std::string& name)>& is_wanted) {
  InputFile in;
  if (const auto problem = in.open(file)) {
    const bool is_missing = problem->trouble == InputTrouble::kMissing;
    fail_to_read(file.string(), *problem, is_missing ? "check the path" : "name a safetensors file");
  }
  NamedTensors tensors;
  for (const SafetensorsEntry& entry : read_safetensors_header(in, file)) {
    if (!is_wanted(entry.name)) continue;
    at::Tensor tensor = at::empty(entry.shape, at::TensorOptions().dtype(dtype_of(file, entry)));
    if (entry.bytes > 0 && !in.read_at(entry.begin, tensor.data_ptr(), static_cast<std::size_t>(entry.bytes)))
      throw Error(ErrorCode::kDataLoss, file.string() + " was cut while it was read; copy it again");
    tensors.emplace(entry.name, std::move(tensor));
  }
  return tensors;
}

WrittenFile write_safetensors(const std::filesystem::path& file, const NamedTensors& tensors,
                              const std::map<std::string, std::string>& metadata) {
  const std::vector<SafetensorsEntry> entries = entries_of(tensors);
  const std::string header = safetensors_header(entries, metadata);
  DigestedFile out(file);
  out.write(header);
  for (const SafetensorsEntry& entry : entries) {
    const at::Tensor tensor = tensors.at(entry.name).detach().to(at::kCPU).contiguous();
    if (tensor.numel() > 0) out.write({static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()});
  }
  return out.commit();
}

}  // namespace nanobench::core

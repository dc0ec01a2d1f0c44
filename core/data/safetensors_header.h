/// The header of a safetensors file: an 8-byte length, a JSON header, raw little-endian tensors. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/input_file.h"

namespace nanobench::core {

/// One tensor of the file.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  ///< "F32"; one that has a size, see safetensors_dtype_bytes
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  ///< first byte in the file
  std::uint64_t bytes = 0;
};

/// Size of one element: F64, F32, F16, BF16, I64, I32, I16, I8, U8 and BOOL; 0 for any other name.
std::uint64_t safetensors_dtype_bytes(const std::string& dtype);

/// The tensors of an open file, in the order of their bytes. Strict, as the format's own reader: a header of at most
/// 16 MiB, no repeated name, known members only, and tensors that cover the bytes after the header exactly, without
/// gaps and overlaps, each as large as its shape. Throws Error{kDataLoss}; Error{kUnavailable} for an unknown dtype.
std::vector<SafetensorsEntry> read_safetensors_header(const InputFile& in, const std::filesystem::path& file);

/// What a file says of itself (`__metadata__`), by name; empty without. Checks the header's length and syntax only.
/// Throws Error{kDataLoss}.
std::map<std::string, std::string> read_safetensors_metadata(const InputFile& in, const std::filesystem::path& file);

/// The bytes before the first tensor, of a file with these tensors in this order: `begin` and `bytes` of an entry are
/// not read, but follow from the order. Padded so that the tensors begin at a multiple of eight.
/// Throws Error{kInternal} for an unknown dtype, and Error{kInvalidArgument} if the header has more than 16 MiB.
std::string safetensors_header(const std::vector<SafetensorsEntry>& entries,
                               const std::map<std::string, std::string>& metadata);

}  // namespace nanobench::core

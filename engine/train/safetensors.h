/// Reads safetensors files: an 8-byte length, a JSON header, raw little-endian tensors. Thread-safe: no state.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "engine/ops/torch.h"

namespace nanobench::core {

/// All tensors of a file, by name, with their own dtypes (F64, F32, BF16, I64, I32, U8, BOOL).
/// Throws Error{kNotFound}, Error{kUnavailable} for any other dtype, and as read_safetensors_header does. The bytes go
/// straight into the tensors: a file that lies about its sizes costs no memory.
std::map<std::string, at::Tensor> read_safetensors(const std::filesystem::path& file);

}  // namespace nanobench::core

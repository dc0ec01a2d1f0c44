/// Reads and writes safetensors files: an 8-byte length, a JSON header, raw little-endian tensors. Thread-safe: no
/// state.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "engine/ops/torch.h"

namespace nanobench::core {

using NamedTensors = std::map<std::string, at::Tensor>;

/// All tensors of a file, by name, with their own dtypes (F64, F32, BF16, I64, I32, U8, BOOL).
/// Throws Error{kNotFound}, Error{kUnavailable} for any other dtype, and as read_safetensors_header does. The bytes go
/// straight into the tensors: a file that lies about its sizes costs no memory.
NamedTensors read_safetensors(const std::filesystem::path& file);
/// Only those whose name `is_wanted`; the file is checked as a whole.
NamedTensors read_safetensors(const std::filesystem::path& file,
                              const std::function<bool(const std::string& name)>& is_wanted);

/// What is known of a file that was written.
struct WrittenFile {
  std::int64_t bytes = 0;
  std::string digest;  ///< digest_of_file()
};

/// Writes the file atomically (core/base/atomic_write.h): after a crash the old one or the new one is there, whole.
/// Tensors of a GPU are copied to the host one after the other. Throws Error{kIo}, Error{kInvalidArgument} for a
/// header that is too large, and Error{kUnavailable} for a dtype that read_safetensors does not read.
WrittenFile write_safetensors(const std::filesystem::path& file, const NamedTensors& tensors,
                              const std::map<std::string, std::string>& metadata);

}  // namespace nanobench::core

#include "core/data/safetensors_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "core/base/json.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"

namespace nanobench::core {
namespace {

static_assert(std::endian::native == std::endian::little, "lengths and tensors are read as they are: little-endian");

constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{16} << 20;  // 100 bytes per tensor are usual
constexpr std::size_t kMaxDimensions = 64;                          // as LibTorch
constexpr std::size_t kAlignment = 8;                               // of the first tensor, as the format asks
constexpr const char* kMetadata = "__metadata__";
constexpr std::array<std::pair<const char*, std::uint64_t>, 10> kDtypes = {{{"F64", 8},
                                                                            {"F32", 4},
                                                                            {"F16", 2},
                                                                            {"BF16", 2},
                                                                            {"I64", 8},
                                                                            {"I32", 4},
                                                                            {"I16", 2},
                                                                            {"I8", 1},
                                                                            {"U8", 1},
                                                                            {"BOOL", 1}}};

[[noreturn]] void broken(const std::filesystem::path& file, Reason reason, const std::string& what,
                         const std::string& tensor = "") {
  throw Refusal(ErrorCode::kDataLoss, reason, file.string() + ": not a whole safetensors file: " + what, tensor);
}

/// Names may hold anything.
std::string in_quotes(const std::string& name) {
  return "\"" + on_one_line(name, 100) + "\"";
}

std::int64_t whole_number(const Json& value) {
  return core::integer_of<std::int64_t>(value).value_or(-1);
}

/// Bytes of a tensor; throws if they are more than `available`.
std::uint64_t bytes_of(const std::filesystem::path& file, const SafetensorsEntry& entry, std::uint64_t available) {
  std::uint64_t bytes = safetensors_dtype_bytes(entry.dtype);
  const bool is_empty = std::find(entry.shape.begin(), entry.shape.end(), 0) != entry.shape.end();
  if (is_empty) return 0;
  for (const std::int64_t size : entry.shape) {
    if (bytes > available / static_cast<std::uint64_t>(size))
      broken(file, Reason::kTruncated, "tensor " + in_quotes(entry.name) + " is larger than the file", entry.name);
    bytes *= static_cast<std::uint64_t>(size);
  }
  return bytes;
}

SafetensorsEntry read_entry(const std::filesystem::path& file, const std::string& name, const Json& value,
                            std::uint64_t data_bytes) {
  SafetensorsEntry entry{.name = name};
  const bool has_members = value.is_object() && value.size() == 3 && value.contains("dtype") &&
                           value.contains("shape") && value.contains("data_offsets");
  if (!has_members || !value["dtype"].is_string() || !value["shape"].is_array() || !value["data_offsets"].is_array() ||
      value["data_offsets"].size() != 2)
    broken(file, Reason::kMalformed,
           "tensor " + in_quotes(name) + " needs exactly the members dtype, shape and data_offsets", name);
  entry.dtype = value["dtype"].get<std::string>();
  if (safetensors_dtype_bytes(entry.dtype) == 0) {
    throw Refusal(ErrorCode::kUnavailable, Reason::kUnknownName,
                  file.string() + ": tensor " + in_quotes(name) + " has the type " + in_quotes(entry.dtype) +
                      ", which is not supported",
                  name);
  }
  for (const Json& size : value["shape"]) entry.shape.push_back(whole_number(size));
  const bool is_possible = entry.shape.size() <= kMaxDimensions &&
                           (entry.shape.empty() || *std::min_element(entry.shape.begin(), entry.shape.end()) >= 0);
  if (!is_possible) broken(file, Reason::kBadValue, "tensor " + in_quotes(name) + " has an impossible shape", name);
  const std::int64_t begin = whole_number(value["data_offsets"][0]);
  const std::int64_t end = whole_number(value["data_offsets"][1]);
  if (begin < 0 || end < begin || static_cast<std::uint64_t>(end) > data_bytes)
    broken(file, Reason::kOutOfRange, "tensor " + in_quotes(name) + " does not lie within the file", name);
  entry.begin = static_cast<std::uint64_t>(begin);
  entry.bytes = static_cast<std::uint64_t>(end - begin);
  const std::string bytes = std::to_string(entry.bytes) + " bytes";
  if (bytes_of(file, entry, data_bytes) != entry.bytes)
    broken(file, Reason::kWrongLength, "the shape of tensor " + in_quotes(name) + " does not fit its " + bytes, name);
  return entry;
}

void check_metadata(const std::filesystem::path& file, const Json& metadata) {
  const bool is_text = metadata.is_object() && std::all_of(metadata.begin(), metadata.end(),
                                                           [](const Json& value) { return value.is_string(); });
  if (!is_text) broken(file, Reason::kWrongType, "its __metadata__ is not an object of strings", kMetadata);
}

/// Sorts the tensors by their bytes, which must follow each other without a gap.
void check_cover(const std::filesystem::path& file, std::vector<SafetensorsEntry>& entries, std::uint64_t data_bytes) {
  std::stable_sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::pair(a.begin, a.bytes) < std::pair(b.begin, b.bytes);
  });
  std::uint64_t next = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin < next)
      broken(file, Reason::kOverlap, "tensor " + in_quotes(entry.name) + " overlaps the one before it", entry.name);
    if (entry.begin > next)
      broken(file, Reason::kUnusedBytes,
             std::to_string(entry.begin - next) + " bytes before tensor " + in_quotes(entry.name) + " belong to none",
             entry.name);
    next += entry.bytes;
  }
  if (next < data_bytes)
    broken(file, Reason::kUnusedBytes, "its last " + std::to_string(data_bytes - next) + " bytes belong to no tensor");
}

struct WholeHeader {
  Json json;
  std::uint64_t data_begin = 0;
};

WholeHeader read_whole_header(const InputFile& in, const std::filesystem::path& file) {
  std::uint64_t header_bytes = 0;
  if (in.size() < sizeof header_bytes || !in.read_at(0, &header_bytes, sizeof header_bytes))
    broken(file, Reason::kTruncated, "it has only " + std::to_string(in.size()) + " bytes");
  if (header_bytes > in.size() - sizeof header_bytes)
    broken(file, Reason::kTruncated, "its header is longer than the file");
  if (header_bytes > kMaxHeaderBytes) broken(file, Reason::kTooLarge, "its header is larger than 16 MiB");
  std::string text(static_cast<std::size_t>(header_bytes), ' ');
  if (!in.read_at(sizeof header_bytes, text.data(), text.size()))
    broken(file, Reason::kTruncated, "it was cut while it was read");
  if (!text.starts_with("{")) broken(file, Reason::kMalformed, "its header does not begin with {");
  try {
    return {.json = parse_json(text, "its header"), .data_begin = sizeof header_bytes + header_bytes};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    broken(file, reason_of(error), error.what());
  }
}

}  // namespace

std::uint64_t safetensors_dtype_bytes(const std::string& dtype) {
  for (const auto& [name, bytes] : kDtypes) {
    if (dtype == name) return bytes;
  }
  return 0;
}

std::vector<SafetensorsEntry> read_safetensors_header(const InputFile& in, const std::filesystem::path& file) {
  const WholeHeader header = read_whole_header(in, file);
  const std::uint64_t data_bytes = in.size() - header.data_begin;
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, value] : header.json.items()) {
    if (name == kMetadata)
      check_metadata(file, value);
    else
      entries.push_back(read_entry(file, name, value, data_bytes));
  }
  check_cover(file, entries, data_bytes);
  for (SafetensorsEntry& entry : entries) entry.begin += header.data_begin;
  return entries;
}

std::map<std::string, std::string> read_safetensors_metadata(const InputFile& in, const std::filesystem::path& file) {
  const WholeHeader header = read_whole_header(in, file);
  if (!header.json.contains(kMetadata)) return {};
  check_metadata(file, header.json[kMetadata]);
  return header.json[kMetadata].get<std::map<std::string, std::string>>();
}

std::string safetensors_header(const std::vector<SafetensorsEntry>& entries,
                               const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::uint64_t begin = 0;
  for (const SafetensorsEntry& entry : entries) {
    std::uint64_t bytes = safetensors_dtype_bytes(entry.dtype);
    if (bytes == 0) throw Error(ErrorCode::kInternal, "no safetensors type " + entry.dtype);
    for (const std::int64_t size : entry.shape) bytes *= static_cast<std::uint64_t>(size);
    header[entry.name] = {{"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {begin, begin + bytes}}};
    begin += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  if (text.size() > kMaxHeaderBytes)
    throw Error(ErrorCode::kInvalidArgument, "the names of the tensors do not fit into a header of 16 MiB");
  const std::uint64_t length = text.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + text;
}

}  // namespace nanobench::core

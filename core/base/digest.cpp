#include "core/base/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstdio>
#include <vector>

#include "core/base/input_file.h"

namespace nanobench::core {
namespace {

std::string to_hex(XXH128_hash_t hash) {
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return std::string(text.data(), 32);
}

}  // namespace

struct Digest::State {
  alignas(64) XXH3_state_t hash;
};

Digest::Digest() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->hash);
}
Digest::~Digest() = default;
void Digest::update(const void* data, std::size_t bytes) {
  XXH3_128bits_update(&state_->hash, data, bytes);
}
std::string Digest::hex() const {
  return to_hex(XXH3_128bits_digest(&state_->hash));
}

std::string digest_of(std::string_view bytes) {
  return to_hex(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string digest_of_file(const std::filesystem::path& file) {
  InputFile in(file);
  Digest digest;
  std::vector<char> buffer(std::size_t{1} << 20);
  while (const std::size_t count = in.read(buffer.data(), buffer.size())) digest.update(buffer.data(), count);
  return digest.hex();
}

}  // namespace nanobench::core

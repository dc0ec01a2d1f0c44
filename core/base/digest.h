/// Content digests that name configurations, data and runs. Thread-safe: no shared state.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace nanobench::core {

/// XXH3-128 as 32 lower-case hexadecimal digits. An identity, not a signature: it guards against accidents, not
/// attackers.
std::string digest_of(std::string_view bytes);

/// Digest of a whole file's bytes. Throws Error{kIo} naming the file.
std::string digest_of_file(const std::filesystem::path& file);

/// Incremental form of digest_of.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
  void update(const void* data, std::size_t bytes);
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nanobench::core

/// From a suite's "data" text to token shards on disk. The generated corpus and tokenised texts are made once, in a
/// cache folder, atomically.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nanobench::suites {

/// "synthetic", "text:FILE[,FILE...]" or "shards:FILE|DIR".
struct DataRequest {
  enum class Kind { kSynthetic, kText, kShards };
  Kind kind = Kind::kSynthetic;
  std::vector<std::string> paths;
};

/// Throws Error{kInvalidArgument} naming `source` (e.g. "suite.json: /data" or "--data").
DataRequest parse_data_request(const std::string& text, const std::string& source);

/// Tokens that the runs want, so that no epoch repeats where the data can be had in any size.
struct TokenNeed {
  std::int64_t train_tokens = 0;
  std::int64_t val_tokens = 0;
};

/// $XDG_CACHE_HOME/nanobench, else ~/.cache/nanobench, else a folder in the system's temporary one.
std::filesystem::path default_cache_dir();

}  // namespace nanobench::suites

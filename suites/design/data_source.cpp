#include "suites/design/data_source.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"
#include "core/data/corpus_model.h"
#include "core/data/data_cache.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;

constexpr std::int64_t kSmallestSplit = std::int64_t{1} << 14;
constexpr std::int64_t kLargestTrain = std::int64_t{1} << 27;  // 256 MiB of shards; longer runs repeat epochs
constexpr std::int64_t kLargestVal = std::int64_t{1} << 24;
constexpr double kValFraction = 0.1;  // fraction of a text's bytes

std::vector<std::filesystem::path> split_paths(const std::string& text) {
  std::error_code ignored;
  if (std::filesystem::exists(text, ignored)) return {text};  // a name may contain a comma
  std::vector<std::filesystem::path> paths;
  for (const std::string_view item : split_at(text, ',')) {
    if (!item.empty()) paths.emplace_back(item);
  }
  return paths;
}

std::int64_t power_of_two(std::int64_t tokens, std::int64_t largest) {
  const std::int64_t wanted = std::clamp(tokens, kSmallestSplit, largest);
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(wanted)));
}

}  // namespace

DataRequest parse_data_request(const std::string& text, const std::string& source) {
  if (text == "synthetic") return {};
  DataRequest request;
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  if (kind == "text") {
    request.kind = DataRequest::Kind::kText;
  } else if (kind == "shards") {
    request.kind = DataRequest::Kind::kShards;
  } else {
    throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kUnknownName,
                        source + ": expected \"synthetic\", \"text:FILE\" or \"shards:DIR\", got \"" + text + "\"" +
                            core::suggestion(kind, {"synthetic", "text", "shards"}),
                        text);
  }
  if (colon != std::string::npos) request.paths = split_paths(text.substr(colon + 1));
  if (request.paths.empty()) {
    throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kEmpty,
                        source + ": expected a path after \"" + kind + ":\", got \"" + text + "\"", text);
  }
  if (request.kind == DataRequest::Kind::kShards && request.paths.size() != 1)
    throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kTooMany,
                        source + ": expected one folder after \"shards:\", got \"" + text + "\"", text);
  return request;
}

std::string text_of(const DataRequest& request) {
  if (request.kind == DataRequest::Kind::kSynthetic) return "synthetic";
  std::vector<std::string> paths;
  for (const std::filesystem::path& path : request.paths) paths.push_back(path.string());
  return (request.kind == DataRequest::Kind::kText ? "text:" : "shards:") + joined(paths, ",");
}

DataRequest relative_to(DataRequest request, const std::filesystem::path& folder) {
  for (std::filesystem::path& path : request.paths) path = (folder / path).lexically_normal();
  return request;
}

TokenNeed synthetic_sizes(const TokenNeed& need) {
  return {power_of_two(need.train_tokens, kLargestTrain), power_of_two(need.val_tokens, kLargestVal)};
}

core::DataSet open_data(const DataRequest& request, const TokenNeed& need, const std::filesystem::path& cache_dir) {
  if (request.kind == DataRequest::Kind::kSynthetic) {
    const TokenNeed sizes = synthetic_sizes(need);
    return core::ensure_synthetic(core::CorpusConfig{}, sizes.train_tokens, sizes.val_tokens, cache_dir);
  }
  if (request.kind == DataRequest::Kind::kShards) return core::load_data_set(request.paths.front());
  return core::ensure_text(request.paths, core::DocumentRule::kAutomatic, kValFraction, cache_dir);
}

std::filesystem::path default_cache_dir() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::filesystem::path(cache) / "nanobench";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::filesystem::path(home) / ".cache" / "nanobench";
  std::error_code error;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(error);
  if (error) {
    throw core::Error(core::ErrorCode::kIo,
                      "there is no folder for the cache of data; set XDG_CACHE_HOME to one, or HOME, or TMPDIR");
  }
  return temporary / "nanobench-cache";
}

}  // namespace nanobench::suites

#include "core/data/data_cache.h"

#include <unistd.h>

#include <chrono>
#include <string>
#include <system_error>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/rethrow.h"
#include "core/data/synthetic_corpus.h"

namespace nanobench::core {
namespace fs = std::filesystem;
namespace {

// Part of every request: raise them when the same request would give other tokens, so that old entries are not found.
constexpr int kSyntheticVersion = 1;
constexpr int kTextVersion = 1;

/// Temporary folders of processes that were killed. A day is longer than any preparation.
void remove_leftovers(const fs::path& cache) {
  std::error_code error;
  for (fs::directory_iterator entry(cache, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    const auto written = fs::last_write_time(entry->path(), ignored);
    const bool is_old = !ignored && fs::file_time_type::clock::now() - written > std::chrono::hours(24);
    if (is_old && name.starts_with(".") && name.find(".tmp-") != std::string::npos)
      fs::remove_all(entry->path(), ignored);
  }
}

/// Out of the way first, so that no other process reads an entry that is half removed.
void remove_damaged(const fs::path& folder) {
  std::string name = ".";
  name += folder.filename().string() + ".tmp-damaged-" + std::to_string(::getpid());
  const fs::path aside = folder.parent_path() / name;
  std::error_code ignored;
  fs::rename(folder, aside, ignored);
  fs::remove_all(aside, ignored);
}

template <class Make>
DataSet ensure(const Json& request, const fs::path& cache, Make&& make) {
  const fs::path folder = cache / digest_of(request.dump(-1, ' ', false, Json::error_handler_t::replace));
  std::error_code error;
  if (fs::exists(folder, error)) {
    try {
      return load_data_set(folder);
    } catch (const Error& damage) {
      rethrow_internal(damage);
      remove_damaged(folder);
    }
  }
  remove_leftovers(cache);
  return make(folder);
}

}  // namespace

DataSet ensure_synthetic(const CorpusConfig& config, std::int64_t train_tokens, std::int64_t val_tokens,
                         const fs::path& cache) {
  const Json request{{"synthetic", kSyntheticVersion},
                     {"corpus", to_json(config)},
                     {"train_tokens", train_tokens},
                     {"val_tokens", val_tokens}};
  return ensure(request, cache,
                [&](const fs::path& folder) { return generate_corpus(config, train_tokens, val_tokens, folder); });
}

DataSet ensure_text(const std::vector<fs::path>& files, DocumentRule rule, double val_fraction, const fs::path& cache) {
  Json sources = Json::array();
  for (const fs::path& file : files) {
    std::error_code error;
    // A file that cannot be digested is reported by prepare_text, in words about texts.
    const bool is_file = fs::is_regular_file(file, error);
    sources.push_back({{"name", file.filename().string()}, {"digest", is_file ? digest_of_file(file) : ""}});
  }
  const Json request{
      {"text", kTextVersion}, {"sources", sources}, {"rule", to_string(rule)}, {"val_fraction", val_fraction}};
  return ensure(request, cache,
                [&](const fs::path& folder) { return prepare_text(files, rule, val_fraction, folder); });
}

}  // namespace nanobench::core

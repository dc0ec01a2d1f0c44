#include "results/weights.h"

#include <algorithm>
#include <system_error>

#include "core/base/digest.h"
#include "core/base/json.h"

namespace nanobench::results {

std::filesystem::path weights_folder(const std::filesystem::path& store, std::int64_t run_id) {
  std::filesystem::path folder = std::filesystem::absolute(store).lexically_normal();
  folder += ".weights";
  return folder / ("run-" + std::to_string(run_id));
}

std::pair<std::string, std::string> weights_fact(const KeptFile& file) {
  const core::Json value = {{"step", file.step}, {"bytes", file.bytes}, {"digest", file.digest}};
  return {kWeightsFact + file.name, value.dump()};
}

std::vector<KeptFile> kept_files(const std::map<std::string, std::string>& facts) {
  const std::string beginning = kWeightsFact;
  std::vector<KeptFile> files;
  for (auto fact = facts.lower_bound(beginning); fact != facts.end() && fact->first.starts_with(beginning); ++fact) {
    const core::Json value = core::json_or_null(fact->second);
    if (!value.is_object()) continue;
    files.push_back({.name = fact->first.substr(beginning.size()),
                     .step = value.value("step", std::int64_t{0}),
                     .bytes = value.value("bytes", std::int64_t{0}),
                     .digest = value.value("digest", "")});
  }
  std::stable_sort(files.begin(), files.end(), [](const KeptFile& a, const KeptFile& b) { return a.step < b.step; });
  return files;
}

std::optional<std::string> problem_of(const std::filesystem::path& folder, const KeptFile& file) {
  const std::filesystem::path path = folder / file.name;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "is missing";
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  if (error || bytes != file.bytes || core::digest_of_file(path) != file.digest) return "has changed";
  return std::nullopt;
}

}  // namespace nanobench::results

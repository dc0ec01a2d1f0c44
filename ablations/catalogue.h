/// The catalogue: all features, records, scales and claims, loaded and checked.
///
/// embedded() holds the files compiled into the program. overlay() puts a user's folder on top (same id replaces, new
/// id adds), and a suite adds features inline. Thread-safe when not modified; references into it live until it is
/// modified.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ablations/claim.h"
#include "ablations/feature.h"
#include "ablations/record.h"
#include "ablations/scale.h"
#include "core/base/embedded_file.h"
#include "core/base/json.h"

namespace nanobench::ablations {

/// The JSON files compiled into the program, ordered by path relative to ablations/.
std::span<const core::EmbeddedFile> embedded_files();

/// There are many claims, and only code that prints or judges them needs them. Without them a command starts twice as
/// fast.
enum class CatalogueParts { kAll, kWithoutClaims };

class Catalogue {
 public:
  /// The files compiled into this program, read and checked.
  static Catalogue embedded(CatalogueParts parts = CatalogueParts::kAll);

  /// Adds or replaces the entries of folder/features/*.json, folder/records/*.json, folder/scales/*.json and
  /// folder/claims/*.json, then checks everything. Throws Error{kNotFound} if the folder has none of the four, or
  /// Error{kInvalidArgument} with file and JSON pointer; the catalogue is then unchanged.
  void overlay(const std::filesystem::path& folder);

  /// Add or replace one entry; `source` names it in messages. Relations between entries are checked by check().
  void add_feature(const core::Json& json, const std::string& source);
  void add_record(const core::Json& json, const std::string& source);
  void add_scale(const core::Json& json, const std::string& source);
  void add_claim(const core::Json& json, const std::string& source);

  /// Checks relations between entries: every parent, record, feature and value that is named (also by scales and
  /// claims) exists, the record chain ends, and conflicts are stated on both sides. Throws Error{kNotFound} or
  /// Error{kInvalidArgument} with file and JSON pointer.
  void check() const;

  /// Throw Error{kNotFound} with the nearest known name.
  const Feature& feature(const std::string& id) const;
  const Record& record(const std::string& id) const;
  const Scale& scale(const std::string& id) const;
  const Claim& claim(const std::string& id) const;

  bool has_feature(const std::string& id) const { return features_.contains(id); }
  bool has_record(const std::string& id) const { return records_.contains(id); }
  bool has_scale(const std::string& id) const { return scales_.contains(id); }
  bool has_claim(const std::string& id) const { return claims_.contains(id); }

  /// Features that can be set, ordered by introducing record (those without one last), then id.
  std::vector<const Feature*> features() const;
  /// All features, including those that are not applicable.
  std::vector<const Feature*> all_features() const;
  std::vector<const Record*> records() const;  ///< by number
  std::vector<const Scale*> scales() const;    ///< smallest runs first
  std::vector<const Claim*> claims() const;    ///< by seed, then place

  /// The record and its ancestors, root first. Throws Error{kNotFound} or Error{kInvalidArgument} for a cycle.
  std::vector<const Record*> lineage(const std::string& record) const;

  /// The result of `make` for a record, kept until the catalogue is modified. For slow results that depend only on the
  /// catalogue. `make` may ask for other records. Thread-safe.
  core::Json cached(const std::string& record, const std::function<core::Json()>& make) const;

 private:
  struct Cache {
    std::mutex mutex;
    std::map<std::string, core::Json> by_record;
  };
  /// Copies of the catalogue made before a change keep their cache.
  void invalidate_cache() { cache_ = std::make_shared<Cache>(); }

  std::map<std::string, Feature> features_;
  std::map<std::string, Record> records_;
  std::map<std::string, Scale> scales_;
  std::map<std::string, Claim> claims_;
  std::shared_ptr<Cache> cache_ = std::make_shared<Cache>();
};

}  // namespace nanobench::ablations

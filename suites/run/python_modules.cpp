#include "suites/run/python_modules.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/text.h"
#include "suites/run/embedded_files.h"
#include "suites/source/source_names.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHook = "run/sitecustomize.py";
constexpr std::string_view kReport = "loaded-";  ///< beginning of the names of its reports, one for each process
constexpr auto kLookAtReports = std::chrono::seconds(1);
constexpr std::size_t kMaxReportBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxListBytes = std::size_t{64} << 20;  ///< of an installed package's files
constexpr std::size_t kMaxProcesses = 4096;
constexpr std::size_t kMaxPaths = 200'000;
constexpr std::size_t kMaxLoadedFiles = 5000;                      ///< as facts of one run
constexpr std::uintmax_t kMaxTextBytes = std::uintmax_t{1} << 20;  ///< what is larger is no setting but data

std::string_view hook_text() {
  for (const core::EmbeddedFile& file : embedded_files()) {
    if (file.path == kHook) return file.text;
  }
  throw core::Error(core::ErrorCode::kInternal, "no embedded file " + std::string(kHook));
}

/// A process may be writing the last line.
std::vector<std::string_view> complete_lines(std::string_view text) {
  return split_lines(text.substr(0, text.rfind('\n') + 1));
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error))
    entries.push_back(entry->path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

/// The folder where packages are installed that the path leads through; nullopt if there is none.
std::optional<fs::path> place_of_packages(const std::string& path) {
  for (const std::string_view name : {"/site-packages/", "/dist-packages/"}) {
    if (const std::size_t at = path.find(name); at != std::string::npos) return path.substr(0, at + name.size() - 1);
  }
  return std::nullopt;
}

/// The path that a line of a package's list begins with: "six.py,sha256=...,34549".
std::string listed_path(std::string_view line) {
  if (line.starts_with('"')) return std::string(line.substr(1, line.find('"', 1) - 1));
  return std::string(line.substr(0, line.find(',')));
}

/// Takes the files of the package out of `files`; returns whether it had any. `about`: its folder "NAME-1.0.dist-info".
bool take_files(const fs::path& about, const fs::path& list, std::set<std::string>& files) {
  const std::size_t before = files.size();
  if (const std::optional<std::string> text = core::read_beginning(list, kMaxListBytes)) {
    for (const std::string_view line : complete_lines(*text)) files.erase(listed_path(line));
    return files.size() < before;
  }
  const std::string modules = core::read_beginning(about / "top_level.txt", kMaxListBytes).value_or("");
  for (const std::string_view line : complete_lines(modules)) {
    const std::string module(line);
    std::erase_if(files, [&](const std::string& file) {
      return !module.empty() && file.starts_with(module) && file.find_first_of("./", 0) == module.size();
    });
  }
  return files.size() < before;
}

/// The installed packages that have some of these files, each by the file that is another one in another version.
/// What belongs to none of them stays in `files`, which are relative to `place`.
std::vector<fs::path> packages_of(const fs::path& place, std::set<std::string>& files) {
  std::vector<fs::path> packages;
  for (const fs::path& about : entries_of(place)) {
    if (files.empty()) break;
    const bool is_wheel = about.extension() == ".dist-info";
    std::error_code ignored;
    if ((!is_wheel && about.extension() != ".egg-info") || !fs::is_directory(about, ignored)) continue;
    const fs::path list = about / "RECORD";
    if (!take_files(about, list, files)) continue;
    packages.push_back(fs::exists(list, ignored) ? list : about / (is_wheel ? "METADATA" : "PKG-INFO"));
  }
  return packages;
}

/// The file itself, or the archive that it is in; empty if neither is there any more.
fs::path file_or_archive(fs::path path) {
  std::error_code ignored;
  while (path.has_relative_path() && !fs::exists(path, ignored)) path = path.parent_path();
  return fs::is_regular_file(path, ignored) ? path : fs::path();
}

fs::path canonical_of(const fs::path& path) {
  std::error_code error;
  fs::path real = path.empty() ? path : fs::weakly_canonical(path, error);
  return error ? path : real;
}

/// The path to its first symbolic link, from where the rest follows as written; empty without a link. Links to a folder
/// above `inside` do not count: all of that is reached through them.
fs::path path_by_link(const fs::path& path, const fs::path& inside) {
  fs::path real;
  const fs::path normal = path.lexically_normal();
  for (auto part = normal.begin(); part != normal.end(); ++part) {
    std::error_code ignored;
    fs::path next = real / *part;
    const bool is_link = fs::is_symlink(next, ignored);
    const fs::path target = is_link ? canonical_of(next) : next;
    if (is_link && !is_within(inside, target)) {
      while (++part != normal.end()) next /= *part;
      return next;
    }
    real = target;
  }
  return {};
}

/// The nearest folder above with a repository, or the folder itself.
fs::path root_of(const fs::path& folder) {
  std::error_code ignored;
  for (fs::path above = folder; above.has_relative_path(); above = above.parent_path()) {
    if (fs::exists(above / ".git", ignored)) return above;
  }
  return folder;
}

}  // namespace

PythonModules::PythonModules(const core::Json& external)
    : hook_("python"),
      own_(canonical_of(hook_.path())),
      folder_(canonical_of(external.at("folder").get<std::string>())),
      counts_texts_(!external.value("has_named_sources", false)) {
  if (external.contains("source")) covered_ = canonical_of(external.at("source").at("folder").get<std::string>());
  if (!external.contains("source")) {
    const core::Json files = external.value("files", core::Json::object());
    for (const auto& [name, digest] : files.items()) known_.insert(canonical_of(folder_ / name));
  }
  root_ = root_of(folder_);
  const fs::path hook = hook_.path() / "sitecustomize.py";
  // Not synced to the disk, which would take longer than all else here: it is of no use after a power cut.
  if (!(std::ofstream(hook, std::ios::binary) << hook_text()).flush())
    throw core::Error(core::ErrorCode::kIo, "cannot write " + hook.string());
}

void PythonModules::look_if_due() {
  if (std::chrono::steady_clock::now() - looked_ >= kLookAtReports) look();
}

void PythonModules::look() {
  looked_ = std::chrono::steady_clock::now();
  for (const fs::path& report : entries_of(hook_.path())) {
    if (!report.filename().string().starts_with(kReport)) continue;
    std::error_code error;
    const std::uintmax_t size = fs::file_size(report, error);
    if (error || (read_.size() >= kMaxProcesses && !read_.contains(report))) continue;
    if (std::exchange(read_[report], size) == size) continue;
    const std::string text = core::read_beginning(report, kMaxReportBytes).value_or("");
    for (const std::string_view line : complete_lines(text)) take_line(std::string(line));
  }
}

/// A folder of the trainer also has what is no source by its name, such as compiled modules.
bool PythonModules::is_covered(const fs::path& file) const {
  return covered_ ? is_within(file, *covered_) : known_.contains(file);
}

void PythonModules::take_line(const std::string& line) {
  if (paths_.size() >= kMaxPaths || !paths_.insert(line).second) return;
  if (line.starts_with('/')) take(line);
  if (line.starts_with("r/")) take_read(line.substr(1));
  if (line.starts_with("w/")) written_.insert(canonical_of(line.substr(1)));
}

/// A script that is read is executed by another way than as a module.
void PythonModules::take_read(const std::string& path) {
  if (path.ends_with(".py")) return take(path);
  const fs::path file = canonical_of(path);
  std::error_code error;
  if (!counts_texts_ || is_covered(file) || !is_within(file, folder_) || texts_.size() >= kMaxLoadedFiles) return;
  if (fs::file_size(file, error) > kMaxTextBytes || error) return;
  const std::optional<std::string> digest = digests_.digest_of(file);
  if (digest) texts_.emplace(file, *digest);
}

/// What was read and is no output.
std::map<fs::path, std::string> PythonModules::settings() const {
  std::map<fs::path, std::string> settings = texts_;
  for (const fs::path& file : written_) settings.erase(file);
  return settings;
}

void PythonModules::take(const std::string& path) {
  if (const std::optional<fs::path> place = place_of_packages(path)) {
    installed_[*place].insert(path.substr(place->string().size() + 1));
    return;
  }
  const fs::path named = file_or_archive(path), file = canonical_of(named);
  if (file.empty() || is_within(file, own_)) return;
  if (!is_covered(file)) take_file(file);
  // Its link may lead elsewhere the next time, while the file stays as it is.
  const fs::path link = path_by_link(named, folder_);
  if (!link.empty() && !(covered_ && is_within(link, *covered_))) take_file(link);
}

void PythonModules::take_file(const fs::path& file) {
  if (files_.size() < kMaxLoadedFiles && !files_.contains(file)) files_[file] = digests_.digest_of(file);
}

void PythonModules::add_fact(results::Facts& facts, const fs::path& file, const std::string& digest) const {
  const std::string name = (is_within(file, root_) ? file.lexically_relative(folder_) : file).string();
  if (core::as_utf8(name) == name) facts[results::kLoadedFact + name] = digest;
}

results::Facts PythonModules::facts() {
  look();
  std::set<fs::path> packages;
  for (auto [place, names] : installed_) {
    for (const fs::path& package : packages_of(place, names)) packages.insert(canonical_of(package));
    for (const std::string& name : names) packages.insert(canonical_of(file_or_archive(place / name)));
  }
  results::Facts facts;
  for (const auto& [file, digest] : files_) {
    if (digest) add_fact(facts, file, *digest);
  }
  for (const auto& [file, digest] : settings()) add_fact(facts, file, digest);
  for (const fs::path& file : packages) {
    if (facts.size() >= kMaxLoadedFiles) break;
    if (const std::optional<std::string> digest = digests_.digest_of(file)) add_fact(facts, file, *digest);
  }
  return facts;
}

}  // namespace nanobench::suites

// The layout: a file includes only what stands before it, the plain folders never see LibTorch, the tests mirror the
// tree, a type's name means one thing, and comments name files that exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace nanobench {
namespace {

namespace fs = std::filesystem;

/// Every folder of sources, in the order of the arrows: a folder includes itself, its own subfolders and those before
/// it. Folders of one line know nothing of each other. A subfolder that is named has a place of its own.
const std::vector<std::vector<std::string>> kRanks = {
    {"core/base"},
    {"core/hardware", "core/config", "core/process"},
    {"core/protocol", "core/data"},
    {"engine/kernels", "engine/cuda"},
    {"engine/kernels/vector"},
    {"engine/kernels/bfloat16"},
    {"engine/kernels/dispatch"},
    {"engine/ops"},
    {"engine/nn"},
    {"engine/distributed"},
    {"engine/optim"},
    {"engine/train"},
    {"engine/cuda_plugin", "engine/operations"},
    {"engine/main"},
    {"ablations"},
    {"results"},
    {"suites/source"},
    {"suites/design"},
    {"suites/run"},
    {"suites/external", "suites/bench", "suites/slurm"},
    {"reports/document", "reports/stats"},
    {"reports/comparison"},
    {"reports/effects", "reports/evaluation"},
    {"reports/forecast", "reports/gate", "reports/claims", "reports/audit", "reports/watch"},
    {"reports/trend", "reports/transfer"},
    {"reports/charts", "reports/render"},
    {"reports/kinds"},
    {"tools/terminal"},
    {"tools/cli"},
    {"tools/main"},
};

bool is_inside(const std::string& file, const std::string& folder) {
  return file.compare(0, folder.size() + 1, folder + "/") == 0;
}

/// The folder of kRanks that the file is in, the innermost: its row and its place in the row.
struct Place {
  std::size_t rank = 0;
  std::size_t column = 0;
};
std::optional<Place> place_of(const std::string& file) {
  std::optional<Place> place;
  std::size_t length = 0;
  for (std::size_t rank = 0; rank < kRanks.size(); ++rank) {
    for (std::size_t column = 0; column < kRanks[rank].size(); ++column) {
      const std::string& folder = kRanks[rank][column];
      if (folder.size() <= length || !is_inside(file, folder)) continue;
      place = {rank, column};
      length = folder.size();
    }
  }
  return place;
}

struct Include {
  std::string target;
  bool is_quoted = false;
};

std::vector<Include> includes_of(const std::string& text) {
  static const std::regex kInclude(R"(^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"])",
                                   std::regex::ECMAScript | std::regex::multiline);
  std::vector<Include> includes;
  for (std::sregex_iterator it(text.begin(), text.end(), kInclude), end; it != end; ++it) {
    includes.push_back({(*it)[2].str(), (*it)[1].str() == "\""});
  }
  return includes;
}

bool is_libtorch(const std::string& target) {
  for (const char* prefix : {"torch/", "ATen/", "c10/"}) {
    if (target.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

bool is_engine(const std::string& file) {
  return is_inside(file, "engine");
}

/// Why `file` may not hold `include`, or "".
std::string violation(const std::string& file, const Include& include) {
  const std::optional<Place> from = place_of(file);
  if (!from) return file + " lies in a folder without a place in the order of the arrows";
  const bool is_plain = !is_engine(file) || is_inside(file, "engine/kernels") || is_inside(file, "engine/cuda");
  if (is_libtorch(include.target) && is_plain)
    return file + " includes LibTorch (" + include.target + "); only the engine may, without its kernels";
  if (!include.is_quoted) return "";
  const std::optional<Place> to = place_of(include.target);
  if (!to && include.target == "build_info_values.h") return "";  // made by the build, in no folder
  if (!to) return file + " includes \"" + include.target + "\", which is not written from the root";
  if (to->rank > from->rank) return file + " includes " + include.target + ", which stands after it";
  if (to->rank == from->rank && to->column != from->column)
    return file + " includes " + include.target + ", which stands beside it";
  if (is_engine(include.target) && !is_engine(file))
    return file + " includes " + include.target + "; elsewhere the engine is a process, not a library";
  return "";
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool is_source(const fs::path& file) {
  const std::string extension = file.extension().string();
  return extension == ".h" || extension == ".cpp" || extension == ".cu" || extension == ".cuh" || extension == ".inl" ||
         extension == ".inc";
}

std::vector<fs::path> sources() {
  std::vector<fs::path> files;
  for (const char* top : {"core", "engine", "ablations", "results", "suites", "reports", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(NANOBENCH_SOURCE_DIR) / top)) {
      if (entry.is_regular_file() && is_source(entry.path())) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(IncludeArrows, EveryFileIncludesOnlyWhatStandsBeforeIt) {
  const std::vector<fs::path> files = sources();
  ASSERT_GT(files.size(), 20U) << "found too few sources under " << NANOBENCH_SOURCE_DIR;
  for (const fs::path& file : files) {
    const std::string relative = fs::relative(file, NANOBENCH_SOURCE_DIR).generic_string();
    for (const Include& include : includes_of(read_file(file))) {
      const std::string problem = violation(relative, include);
      EXPECT_TRUE(problem.empty()) << problem;
    }
  }
}

TEST(IncludeArrows, TheCheckItselfSeesViolations) {
  EXPECT_NE(violation("results/store.cpp", {"suites/design/plan.h", true}), "");
  EXPECT_NE(violation("core/config/a.h", {"core/protocol/run_spec.h", true}), "");
  EXPECT_NE(violation("core/config/a.h", {"core/hardware/nvml.h", true}), "") << "neighbours";
  EXPECT_NE(violation("core/data/a.cpp", {"ATen/ATen.h", false}), "");
  EXPECT_NE(violation("engine/kernels/a.cpp", {"engine/kernels/vector/simd.inl", true}), "") << "an inner folder";
  EXPECT_NE(violation("engine/kernels/a.cpp", {"ATen/ATen.h", false}), "");
  EXPECT_NE(violation("suites/run/a.cpp", {"torch/torch.h", false}), "");
  EXPECT_NE(violation("suites/run/a.cpp", {"engine/nn/gpt.h", true}), "");
  EXPECT_NE(violation("suites/run/a.cpp", {"plan.h", true}), "");
  EXPECT_NE(violation("suites/run/rows.inl", {"reports/gate/gate.h", true}), "");
  EXPECT_NE(violation("reports/new_folder/a.cpp", {"core/base/json.h", true}), "") << "a folder without a place";
  EXPECT_EQ(violation("suites/design/a.cpp", {"results/store.h", true}), "");
  EXPECT_EQ(violation("engine/kernels/dispatch/a.cpp", {"engine/kernels/vector/simd.inl", true}), "");
  EXPECT_EQ(violation("engine/nn/gpt.cpp", {"ATen/ATen.h", false}), "");
  EXPECT_EQ(violation("engine/train/a.cpp", {"core/protocol/run_event.h", true}), "");
  EXPECT_EQ(violation("results/store.cpp", {"sqlite3.h", false}), "");
  EXPECT_TRUE(is_source("engine/kernels/vector/gemm.inl"));
  EXPECT_EQ(includes_of("  #  include \"a/b.h\"\n// #include <x>\n#include <y/z.h>\n").size(), 2U);
}

TEST(Headers, HaveAPurposeCommentAndPragmaOnce) {
  for (const fs::path& file : sources()) {
    if (file.extension() != ".h") continue;
    const std::string text = read_file(file);
    EXPECT_EQ(text.rfind("//", 0), 0U) << file << " does not begin with a comment that says what it is for";
    EXPECT_NE(text.find("#pragma once"), std::string::npos) << file;
  }
}

// With nothing before it in its source a header is compiled alone there, and needs no source of its own for that check.
TEST(Headers, AreTheFirstIncludeOfTheirOwnSource) {
  int found = 0;
  for (const fs::path& file : sources()) {
    const fs::path header = fs::path(file).replace_extension(".h");
    if (file.extension() != ".cpp" || !fs::exists(header)) continue;
    ++found;
    const std::vector<Include> includes = includes_of(read_file(file));
    ASSERT_FALSE(includes.empty()) << file;
    EXPECT_EQ(includes.front().target, fs::relative(header, NANOBENCH_SOURCE_DIR).generic_string()) << file;
  }
  EXPECT_GT(found, 20) << "under " << NANOBENCH_SOURCE_DIR;
}

/// The types that a source defines outside of other types.
std::set<std::string> types_of(const std::string& source) {
  static const std::regex kType(
      R"(^(?:template <[^\n]*>\s*)?(?:struct|enum class|enum|class) (\w+)(?: final)?(?!\w|::)[^;{}()=]*\{)",
      std::regex::ECMAScript | std::regex::multiline);
  std::set<std::string> types;
  for (std::sregex_iterator it(source.begin(), source.end(), kType), end; it != end; ++it) types.insert((*it)[1].str());
  return types;
}

TEST(Names, OneTypeHasOneName) {
  std::map<std::string, std::string> homes;
  for (const fs::path& file : sources()) {
    for (const std::string& type : types_of(read_file(file))) {
      const auto [home, is_new] = homes.emplace(type, file.string());
      EXPECT_TRUE(is_new) << type << " is defined in " << home->second << " and in " << file;
    }
  }
  EXPECT_GT(homes.size(), 100U);
  EXPECT_EQ(types_of("struct A;\nstruct B {\n  struct Inner {};\n};\nenum class C : int { kD };\nclass E final : F {\n"
                     "struct B::G {\n"),
            (std::set<std::string>{"B", "C", "E"}));
}

/// Files of this repository that a text names beside its includes, as in "see docs/gpu.md".
std::vector<std::string> files_named_in(const std::string& text) {
  static const std::regex kPath(
      R"((^|[^\w/.$}{-])((core|engine|ablations|results|suites|reports|tools|tests|docs)/[\w./-]*\w\.(cpp|cuh|cu|h|inl|py|sh|md|cmake|txt))(?!\w))");
  std::vector<std::string> files;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#include")) continue;
    for (std::sregex_iterator it(line.begin(), line.end(), kPath), end; it != end; ++it)
      files.push_back((*it)[2].str());
  }
  return files;
}

TEST(Comments, NameFilesThatExist) {
  for (const fs::path& file : sources()) {
    const std::string text = read_file(file);
    EXPECT_EQ(text.find("../shared"), std::string::npos) << file << " names a folder outside of the repository";
    for (const std::string& named : files_named_in(text)) {
      EXPECT_TRUE(fs::exists(fs::path(NANOBENCH_SOURCE_DIR) / named)) << file << " names " << named;
    }
  }
  EXPECT_EQ(files_named_in("see docs/gpu.md, $A/docs/x.md and tools/setup/build.sh."),
            (std::vector<std::string>{"docs/gpu.md", "tools/setup/build.sh"}));
}

/// The layer of inputs, and what reads something other than files: pipes, locks, folders, memory of our own.
const std::map<std::string, std::set<std::string>> kReaders = {
    {"core/base/input_file.cpp", {"O_RDONLY"}},
    {"core/base/json.cpp", {"Json::parse"}},
    {"results/output_file.cpp", {"O_RDONLY"}},         // what was written, to sync it
    {"core/base/atomic_write.cpp", {"O_RDONLY"}},      // a folder, to sync it
    {"core/base/secret_file.cpp", {"O_RDONLY"}},       // checked to be its owner's alone
    {"core/data/token_shard.cpp", {"mmap("}},          // an InputFile
    {"core/process/child_process.cpp", {"O_RDONLY"}},  // /dev/null
    {"engine/distributed/shared_memory_transport.cpp", {"mmap("}},
    {"suites/run/log_follower.cpp", {"O_RDONLY"}},  // a file that grows, looked at before it is opened
};

/// The ways of reading in a source that go around core/base/input_file.h and core/base/json.h.
std::set<std::string> own_readers(const std::string& text) {
  static const std::regex kReader(
      R"(\b(w?ifstream|w?fstream|filebuf|Json::parse|Json::accept|Json::sax_parse|json::parse|fopen\(|freopen\(|mmap\(|O_RDONLY)(?![\w>]))");
  std::set<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find("//"));
    for (std::sregex_iterator it(line.begin(), line.end(), kReader), end; it != end; ++it) found.insert((*it)[1].str());
  }
  return found;
}

TEST(Inputs, EveryFileAndEveryJsonIsReadByTheOneLayer) {
  EXPECT_EQ(own_readers("std::ifstream in(file);\nauto x = core::Json::parse(text);\nOrderedJson::parse(text);\n"
                        "#include <fstream>\n// ifstream\nstd::ofstream out;\nopen(file, O_RDONLY | O_CLOEXEC);\n"),
            (std::set<std::string>{"ifstream", "Json::parse", "O_RDONLY"}));
  for (const fs::path& file : sources()) {
    const std::string relative = fs::relative(file, NANOBENCH_SOURCE_DIR).generic_string();
    std::set<std::string> found = own_readers(read_file(file));
    if (const auto allowed = kReaders.find(relative); allowed != kReaders.end()) {
      for (const std::string& reader : allowed->second) found.erase(reader);
    }
    for (const std::string& reader : found)
      ADD_FAILURE() << relative << " reads by " << reader << "; use core/base/input_file.h or core/base/json.h";
  }
}

bool has_file(const fs::path& folder, const std::string& ending) {
  if (!fs::is_directory(folder)) return false;
  return std::any_of(fs::directory_iterator(folder), fs::directory_iterator(),
                     [&](const auto& entry) { return entry.path().filename().string().ends_with(ending); });
}

TEST(Tests, MirrorTheTree) {
  // Programs, which tests start; and what the tests of a neighbour cover.
  const std::set<std::string> kWithoutOwnFolder = {"engine/kernels/vector",
                                                   "engine/kernels/bfloat16",
                                                   "engine/kernels/dispatch",
                                                   "engine/main",
                                                   "tools/main",
                                                   "tools/cli",
                                                   "tools/terminal"};
  const fs::path root = NANOBENCH_SOURCE_DIR;
  for (const std::vector<std::string>& rank : kRanks) {
    for (const std::string& folder : rank) {
      if (kWithoutOwnFolder.contains(folder)) continue;
      EXPECT_TRUE(has_file(root / "tests" / folder, "_test.cpp")) << "tests/" << folder << " has no *_test.cpp";
    }
  }
  // What is no folder of sources: tests of the tree, of whole programs and of scripts, and their data.
  const std::set<std::string> kOther = {"architecture", "bench",      "browser", "bundle", "ci",
                                        "documents",    "evaluation", "fault",   "fuzz",   "golden",
                                        "package",      "peers",      "setup",   "slurm"};
  for (const auto& entry : fs::directory_iterator(root / "tests")) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || name.starts_with("__") || kOther.contains(name)) continue;
    EXPECT_TRUE(fs::is_directory(root / name)) << "tests/" << name << " mirrors no folder";
  }
}

}  // namespace
}  // namespace nanobench

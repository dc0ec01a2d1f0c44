// Nobody passes over a bug: a handler of every Error throws, or looks at kInternal.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace nanobench {
namespace {

namespace fs = std::filesystem;

/// Handlers at the end of a thread or of a program, where nothing can be thrown on.
const std::set<std::string> kLast = {"engine/main/nanobench_train.cpp", "suites/slurm/progress_file.cpp",
                                     "tools/cli/program.cpp"};

/// From the brace that opens a block to the one that closes it.
std::string block_at(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) return text.substr(open, at - open);
  }
  return text.substr(open);
}

/// The handlers of every Error in a source that neither throw nor look at the code of a bug.
std::vector<std::string> careless_handlers(const std::string& text) {
  static const std::regex kHandler(R"(catch \((const )?(core::)?Error&[^)]*\) \{)");
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), kHandler), end; it != end; ++it) {
    const std::string block = block_at(text, static_cast<std::size_t>(it->position() + it->length()) - 1);
    const bool is_careful = block.find("rethrow_internal") != std::string::npos ||
                            block.find("kInternal") != std::string::npos ||
                            std::regex_search(block, std::regex(R"(\n\s*(if \(.*\) )?throw(_again)?\b)"));
    if (!is_careful) found.push_back(it->str() + block.substr(1, 80));
  }
  return found;
}

TEST(ErrorHandlers, ACarelessOneIsFound) {
  EXPECT_EQ(careless_handlers("try {\n} catch (const Error&) {\n  return {};\n}").size(), 1U);
  EXPECT_EQ(careless_handlers("try {\n} catch (const core::Error& e) {\n  note(e.what());\n}\nthrow x;").size(), 1U);
  EXPECT_TRUE(careless_handlers("try {\n} catch (const Error& e) {\n  rethrow_internal(e);\n  return;\n}").empty());
  EXPECT_TRUE(careless_handlers("try {\n} catch (const Error& e) {\n  if (is_over) throw;\n}").empty());
  EXPECT_TRUE(careless_handlers("try {\n} catch (const Error& e) {\n  throw_again(e, place + e.what());\n}").empty());
}

TEST(ErrorHandlers, NoSourcePassesOverABug) {
  for (const char* top : {"core", "engine", "ablations", "results", "suites", "reports", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(NANOBENCH_SOURCE_DIR) / top)) {
      const std::string name = fs::relative(entry.path(), NANOBENCH_SOURCE_DIR).generic_string();
      const bool is_source = entry.path().extension() == ".cpp" || entry.path().extension() == ".h";
      if (!is_source || kLast.contains(name)) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
      for (const std::string& handler : careless_handlers(text)) ADD_FAILURE() << name << ": " << handler;
    }
  }
}

}  // namespace
}  // namespace nanobench

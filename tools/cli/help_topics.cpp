#include "tools/cli/help_topics.h"

#include <algorithm>
#include <filesystem>

#include "core/base/text.h"
#include "tools/cli/embedded_files.h"
#include "tools/cli/help_markdown.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "docs/README.md";

/// "../suites/README.md" of "[suites](../suites/README.md)", as seen from the source tree; empty without a link.
std::string linked_page(const std::string& cell) {
  const std::size_t open = cell.find("](");
  const std::size_t close = cell.find(')', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return "";
  const fs::path target = cell.substr(open + 2, close - open - 2);
  return (fs::path(kIndex).parent_path() / target).lexically_normal().generic_string();
}

}  // namespace

std::vector<HelpTopic> help_topics() {
  std::vector<HelpTopic> topics;
  const std::string_view index = page_text(kIndex).value_or("");
  for (const std::string_view line : split_lines(index)) {
    const std::vector<std::string> cells = markdown_cells(line);
    const std::string page = cells.size() == 3 ? linked_page(cells[2]) : "";
    if (!page.empty())
      topics.push_back({.name = plain_markdown(cells[1]), .question = plain_markdown(cells[0]), .path = page});
  }
  return topics;
}

std::optional<HelpTopic> find_topic(const std::string& name) {
  const std::vector<HelpTopic> topics = help_topics();
  const auto by_name = std::find_if(topics.begin(), topics.end(), [&](const HelpTopic& t) { return t.name == name; });
  if (by_name != topics.end()) return *by_name;
  const auto by_page = std::find_if(topics.begin(), topics.end(), [&](const HelpTopic& topic) {
    const fs::path page = topic.path;
    return page == name || page.filename() == name || page.stem() == name;
  });
  return by_page == topics.end() ? std::nullopt : std::optional(*by_page);
}

std::optional<std::string_view> page_text(const std::string& path) {
  for (const core::EmbeddedFile& file : embedded_files()) {
    if (file.path == path) return file.text;
  }
  return std::nullopt;
}

}  // namespace nanobench::tools

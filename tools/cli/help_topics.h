/// The pages of documentation, compiled into the program, and the topics that name them. docs/README.md is the one
/// list: a row of its tables is a question, a topic and a link to its page. Thread-safe: constant data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nanobench::tools {

struct HelpTopic {
  std::string name;      ///< "gate"
  std::string question;  ///< in one line
  std::string path;      ///< of its page in the source tree: "docs/ci.md"
};

/// In the order of docs/README.md.
std::vector<HelpTopic> help_topics();

/// By its name, or by its page: "gate", "ci", "ci.md" or "docs/ci.md".
std::optional<HelpTopic> find_topic(const std::string& name);

/// The Markdown of a page; nullopt if it is not compiled in.
std::optional<std::string_view> page_text(const std::string& path);

}  // namespace nanobench::tools

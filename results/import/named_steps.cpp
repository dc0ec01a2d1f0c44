#include "results/import/named_steps.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>

#include "core/base/input_file.h"
#include "core/base/text.h"
#include "results/import/log_header.h"

namespace nanobench::results {
namespace fs = std::filesystem;
namespace {

constexpr int kFoldersAbove = 4;
constexpr std::size_t kMaxReadmeBytes = std::size_t{4} << 20;

/// The cells of "| a | b |"; none for a line that is no row of a table.
std::vector<std::string_view> cells_of(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with('|')) return {};
  std::vector<std::string_view> cells = split_at(line.substr(1), '|');
  for (std::string_view& cell : cells) cell = trimmed(cell);
  return cells;
}

constexpr std::size_t kNoColumn = std::string_view::npos;

/// The column whose title begins with "steps to", or kNoColumn.
std::size_t step_column(const std::vector<std::string_view>& titles) {
  constexpr std::string_view kTitle = "steps to";
  for (std::size_t i = 0; i < titles.size(); ++i) {
    const std::string_view start = titles[i].substr(0, kTitle.size());
    const bool is_title = std::equal(start.begin(), start.end(), kTitle.begin(), kTitle.end(),
                                     [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
    if (is_title) return i;
  }
  return kNoColumn;
}

/// "3600(!)" is 3600.
std::optional<std::int64_t> leading_count(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && value > 0 ? std::optional(value) : std::nullopt;
}

/// The target of the first link of the row that is a relative path; empty if there is none.
std::string_view linked_path(std::string_view line) {
  for (std::size_t at = line.find("]("); at != std::string_view::npos; at = line.find("](", at + 2)) {
    const std::string_view rest = line.substr(at + 2);
    if (rest.find(')') == std::string_view::npos) return {};
    const std::string_view target = rest.substr(0, rest.find_first_of(")# "));
    if (!target.empty() && target.find("://") == std::string_view::npos && target.front() != '/') return target;
  }
  return {};
}

fs::path absolute_of(const LogFile& file) {
  return fs::absolute(file.path).lexically_normal();
}

/// The record's folder of a log, absolute.
fs::path record_folder(const LogFile& file) {
  const fs::path parent = absolute_of(file).parent_path();
  fs::path folder;
  for (const fs::path& part : parent) {
    folder /= part;
    if (part == file.folder) return folder;
  }
  return parent;
}

/// The only step that the rows name.
std::optional<NamedStep> agreed(const std::vector<NamedStep>& rows) {
  const bool is_agreed = !rows.empty() && std::all_of(rows.begin(), rows.end(), [&](const NamedStep& row) {
    return row.step == rows.front().step;
  });
  return is_agreed ? std::optional(rows.front()) : std::nullopt;
}

}  // namespace

std::vector<NamedStep> named_steps_in(std::string_view markdown, const fs::path& readme) {
  std::vector<NamedStep> steps;
  std::size_t column = kNoColumn;
  for (std::size_t start = 0; start < markdown.size();) {
    const TextLine line = line_at(markdown, start);
    start = line.next;
    const std::vector<std::string_view> cells = cells_of(line.text);
    if (cells.empty()) {
      column = kNoColumn;
      continue;
    }
    if (column == kNoColumn) {
      column = step_column(cells);
      continue;
    }
    const std::optional<std::int64_t> step = column < cells.size() ? leading_count(cells[column]) : std::nullopt;
    const std::string_view link = linked_path(line.text);
    if (!step || link.empty()) continue;
    steps.push_back(
        {.step = *step, .linked = (readme.parent_path() / fs::path(link)).lexically_normal(), .readme = readme});
  }
  return steps;
}

std::vector<NamedStep> find_named_steps(const std::vector<LogFile>& files) {
  std::set<fs::path> folders;
  for (const LogFile& file : files) {
    fs::path folder = absolute_of(file).parent_path();
    for (int i = 0; i <= kFoldersAbove && folder.has_relative_path(); ++i, folder = folder.parent_path())
      folders.insert(folder);
  }
  std::vector<NamedStep> steps;
  std::string text;
  for (const fs::path& folder : folders) {
    const fs::path readme = folder / "README.md";
    if (core::read_input(readme, {kMaxReadmeBytes, "no README is larger"}, text)) continue;
    const std::vector<NamedStep> rows = named_steps_in(text, readme);
    steps.insert(steps.end(), rows.begin(), rows.end());
  }
  return steps;
}

std::optional<NamedStep> named_step_of(const std::vector<LogFile>& logs, const std::vector<NamedStep>& steps,
                                       const std::function<bool(const fs::path&)>& is_other) {
  if (logs.empty() || steps.empty()) return std::nullopt;
  std::set<fs::path> files;
  for (const LogFile& log : logs) files.insert(absolute_of(log));
  const fs::path folder = record_folder(logs.front());
  std::vector<NamedStep> of_logs;
  std::vector<NamedStep> of_folder;
  for (const NamedStep& step : steps) {
    if (files.count(step.linked) > 0) of_logs.push_back(step);
    if (lies_in(step.linked, folder) && !is_other(step.linked)) of_folder.push_back(step);
  }
  return agreed(of_logs.empty() ? of_folder : of_logs);
}

}  // namespace nanobench::results

#include "core/data/document_cutter.h"

#include <utility>

#include "core/base/text.h"

namespace nanobench::core {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";

bool is_heading(std::string_view line) {
  if (line.starts_with("# ")) return !is_blank(line.substr(2));
  const std::string_view text = trimmed(line, kWhiteSpace);
  if (text.size() < 5 || !text.starts_with("= ") || !text.ends_with(" =")) return false;
  const std::string_view title = trimmed(text.substr(2, text.size() - 4), kWhiteSpace);
  return !title.empty() && title.front() != '=' && title.back() != '=';
}

}  // namespace

bool is_blank(std::string_view text) {
  return text.find_first_not_of(kWhiteSpace) == std::string_view::npos;
}

void DocumentCutter::add(std::string_view bytes) {
  std::size_t handed = 0;  // bytes before this are with the sink
  for (std::size_t at = 0; at < bytes.size();) {
    if (is_inside_line_) {
      const std::size_t end = bytes.find('\n', at);
      is_inside_line_ = end == std::string_view::npos;
      at = is_inside_line_ ? bytes.size() : end + 1;
      continue;
    }
    const std::size_t room = kMaxHeadingBytes + 1 - pending_.size();
    const std::string_view window = bytes.substr(at, room);
    const std::size_t end = window.find('\n');
    if (end == std::string_view::npos && window.size() < room) {  // undecided: the rest of the line is still to come
      hand_over(bytes.substr(handed, at - handed));
      pending_ += window;
      return;
    }
    const bool is_long = end == std::string_view::npos;
    const std::string_view here = window.substr(0, end);
    if (pending_.empty()) {
      // The bytes before this line count for the decision, so they are handed over where it may open a document.
      if (is_after_blank_) {
        hand_over(bytes.substr(handed, at - handed));
        handed = at;
      }
      decide(here, is_long);
    } else {
      const std::string line = pending_ + std::string(here);
      decide(line, is_long);
      hand_over(pending_);
      pending_.clear();
    }
    is_inside_line_ = is_long;
    at += is_long ? window.size() : end + 1;
  }
  hand_over(bytes.substr(handed));
}

void DocumentCutter::finish() {
  if (pending_.empty()) return;
  const std::string line = std::exchange(pending_, {});
  decide(line, /*is_long=*/false);
  hand_over(line);
}

void DocumentCutter::decide(std::string_view line, bool is_long) {
  const bool blank = !is_long && is_blank(line);
  const bool heading = is_after_blank_ && !is_long && is_heading(line);
  headings_ += heading ? 1 : 0;
  const bool opens =
      (rule_ == DocumentRule::kHeading && heading) ||
      (rule_ == DocumentRule::kBlankLine && is_after_blank_ && !blank && document_bytes_ >= kMinDocumentBytes);
  if (opens && document_has_text_) is_open_ = false;  // hand_over opens the next one
  is_after_blank_ = blank;
}

void DocumentCutter::hand_over(std::string_view bytes) {
  if (bytes.empty()) return;
  if (!is_open_) {
    sink_.open();
    is_open_ = true;
    document_has_text_ = false;
    document_bytes_ = 0;
  }
  document_bytes_ += bytes.size();
  if (!document_has_text_ && !is_blank(bytes)) document_has_text_ = has_text_ = true;
  sink_.text(bytes);
}

}  // namespace nanobench::core

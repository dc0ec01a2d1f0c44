/// Finds the documents of a text that arrives in pieces, in memory that does not depend on the text. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/enum_names.h"

namespace nanobench::core {

/// Where a document begins.
enum class DocumentRule {
  kAutomatic,  ///< kHeading for a file with two or more headings, else kBlankLine
  kFile,       ///< each file is one document
  kBlankLine,  ///< after blank lines, once the current document has kMinDocumentBytes
  kHeading,    ///< at each heading of level 1
};
NB_ENUM_NAMES(DocumentRule, {DocumentRule::kAutomatic, "automatic"}, {DocumentRule::kFile, "file"},
              {DocumentRule::kBlankLine, "blank_line"}, {DocumentRule::kHeading, "heading"});

/// Paragraphs of dialogue are short; without a minimum, documents would have only a few words.
inline constexpr std::size_t kMinDocumentBytes = 512;
/// A longer line is neither a heading nor blank, so a line of any length is decided within these bytes.
inline constexpr std::size_t kMaxHeadingBytes = 4096;

/// White space only, or nothing.
bool is_blank(std::string_view text);

/// Receives the text again, whole and in order, with the beginnings of its documents.
class DocumentSink {
 public:
  virtual ~DocumentSink() = default;
  /// The next bytes begin a document.
  virtual void open() = 0;
  /// More bytes of the current document; the view is valid during the call.
  virtual void text(std::string_view bytes) = 0;
};

/// Cuts one text. The rule is never kAutomatic: headings() of a first pass decides it.
class DocumentCutter {
 public:
  DocumentCutter(DocumentRule rule, DocumentSink& sink) : rule_(rule), sink_(sink) {}

  void add(std::string_view bytes);
  /// Ends the text.
  void finish();

  /// Lines so far that are headings of level 1, whatever the rule.
  std::size_t headings() const { return headings_; }
  /// Whether anything but white space has come.
  bool has_text() const { return has_text_; }

 private:
  void decide(std::string_view line, bool is_long);
  void hand_over(std::string_view bytes);

  DocumentRule rule_;
  DocumentSink& sink_;
  std::string pending_;          ///< the beginning of a line that is not decided yet
  bool is_inside_line_ = false;  ///< after the decision about a long line, until its end
  bool is_after_blank_ = true;   ///< the line before is blank or absent
  bool has_text_ = false;        ///< of the whole text
  bool document_has_text_ = false;
  std::uint64_t document_bytes_ = 0;  ///< handed over, of the current document
  bool is_open_ = false;
  std::size_t headings_ = 0;
};

}  // namespace nanobench::core

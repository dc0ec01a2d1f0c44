/// Text as data: bytes are tokens 0 to 255, and the separator 256 opens each document.
///
/// No byte is lost or changed: concatenating a file's documents restores the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/data/data_set.h"
#include "core/data/document_cutter.h"

namespace nanobench::core {

/// Less text than this cannot be split into usable training data.
inline constexpr std::size_t kMinTextBytes = 1024;
inline constexpr std::int64_t kTextSeparator = 256;
inline constexpr std::int64_t kTextVocabSize = 257;

/// Throws Error{kInvalidArgument} with the nearest known name.
DocumentRule document_rule(const std::string& name);

/// The documents of one text, in order. A heading is a line `= Title =` as in wikitext dumps (not `= = Section = =`) or
/// `# Title` as in Markdown, after a blank line or at the start, of at most kMaxHeadingBytes. A document of only white
/// space is merged into its neighbour.
std::vector<std::string_view> split_documents(std::string_view text, DocumentRule rule);

/// The rule that kAutomatic selects for this text; any other rule is returned unchanged.
DocumentRule resolve(DocumentRule rule, std::string_view text);

/// Reads the files three times in the given order, a piece at a time (memory does not grow with them), and writes their
/// documents as shards with a meta.json. The last documents, at least one and about `val_fraction` of the bytes, become
/// val. A last document more than twice that size is split. A blank file has no documents. Throws Error{kNotFound} (a
/// missing file), {kInvalidArgument} (a folder, only white space, fewer than kMinTextBytes, a fraction outside 0.001 to
/// 0.5), {kDataLoss} (a file that changes meanwhile), and as DataSetWriter does.
DataSet prepare_text(const std::vector<std::filesystem::path>& files, DocumentRule rule, double val_fraction,
                     const std::filesystem::path& folder);

}  // namespace nanobench::core

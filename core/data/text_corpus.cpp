#include "core/data/text_corpus.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/base/digest.h"
#include "core/base/error.h"

namespace nanobench::core {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::pair<DocumentRule, const char*>, 4> kRuleNames{{{DocumentRule::kAutomatic, "automatic"},
                                                                          {DocumentRule::kFile, "file"},
                                                                          {DocumentRule::kBlankLine, "blank_line"},
                                                                          {DocumentRule::kHeading, "heading"}}};

constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";

bool is_blank(std::string_view text) {
  return text.find_first_not_of(kWhiteSpace) == std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kWhiteSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kWhiteSpace) - begin + 1);
}

bool is_heading(std::string_view line) {
  if (line.starts_with("# ")) return !is_blank(line.substr(2));
  const std::string_view text = trimmed(line);
  if (text.size() < 5 || !text.starts_with("= ") || !text.ends_with(" =")) return false;
  const std::string_view title = trimmed(text.substr(2, text.size() - 4));
  return !title.empty() && title.front() != '=' && title.back() != '=';
}

/// Calls visit(line's offset, line without its end, whether the line before is blank or absent) for every line.
template <class Visit>
void for_each_line(std::string_view text, Visit&& visit) {
  bool after_blank = true;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    visit(begin, line, after_blank);
    after_blank = is_blank(line);
    begin = end + 1;
  }
}

std::size_t count_headings(std::string_view text) {
  std::size_t count = 0;
  for_each_line(text, [&](std::size_t, std::string_view line, bool after_blank) {
    count += after_blank && is_heading(line) ? 1 : 0;
  });
  return count;
}

struct TextFile {
  std::string name;  ///< without its folder
  std::string text;
  DocumentRule rule = DocumentRule::kAutomatic;
  std::size_t documents = 0;
};

TextFile read_text(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) {
    throw Error(ErrorCode::kNotFound, "no text file " + file.string() + "; check the path");
  }
  if (error || !fs::is_regular_file(status)) {
    throw Error(ErrorCode::kInvalidArgument,
                "the text " + file.string() + " is a folder or a device, expected a file; name the files in it");
  }
  std::ifstream stream(file, std::ios::binary);
  TextFile text{file.filename().string(), {}, DocumentRule::kAutomatic, 0};
  text.text.resize(fs::file_size(file, error));
  stream.read(text.text.data(), static_cast<std::streamsize>(text.text.size()));
  if (error || !stream || static_cast<std::size_t>(stream.gcount()) != text.text.size()) {
    throw Error(ErrorCode::kIo, "the text " + file.string() + " cannot be read: " + std::strerror(errno));
  }
  return text;
}

struct Split {
  std::vector<std::string_view> train;
  std::vector<std::string_view> val;
};

/// The last documents of about the wanted size become val. A last document that is much too large is split.
Split split_off_val(std::vector<std::string_view> documents, std::size_t total_bytes, double val_fraction) {
  const auto wanted = static_cast<std::size_t>(std::ceil(static_cast<double>(total_bytes) * val_fraction));
  Split split;
  const std::string_view last = documents.back();
  if (documents.size() == 1 || last.size() > 2 * wanted) {
    documents.back() = last.substr(0, last.size() - wanted);
    split.val.push_back(last.substr(last.size() - wanted));
  } else {
    std::size_t bytes = 0;
    while (documents.size() > 1 && (split.val.empty() || bytes + documents.back().size() / 2 < wanted)) {
      bytes += documents.back().size();
      split.val.push_back(documents.back());
      documents.pop_back();
    }
    std::reverse(split.val.begin(), split.val.end());
  }
  split.train = std::move(documents);
  return split;
}

std::vector<std::uint16_t> tokens_of(const std::vector<std::string_view>& documents) {
  std::vector<std::uint16_t> tokens;
  for (const std::string_view document : documents) {
    tokens.push_back(kTextSeparator);
    for (const char byte : document) tokens.push_back(static_cast<unsigned char>(byte));
  }
  return tokens;
}

Json describe(const std::vector<TextFile>& files, DocumentRule rule, double val_fraction, const Split& split) {
  Json sources = Json::array();
  for (const TextFile& file : files) {
    sources.push_back({{"name", file.name},
                       {"bytes", file.text.size()},
                       {"digest", digest_of(file.text)},
                       {"rule", to_string(file.rule)},
                       {"documents", file.documents}});
  }
  return {{"rule", to_string(rule)},
          {"val_fraction", val_fraction},
          {"train_documents", split.train.size()},
          {"val_documents", split.val.size()},
          {"sources", sources}};
}

std::string name_of(const std::vector<TextFile>& files) {
  const std::string first = "text:" + fs::path(files.front().name).stem().string();
  return files.size() == 1 ? first : first + " and " + std::to_string(files.size() - 1) + " more";
}

}  // namespace

const char* to_string(DocumentRule rule) {
  for (const auto& [value, name] : kRuleNames) {
    if (value == rule) return name;
  }
  return "";
}

DocumentRule document_rule(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [value, known_name] : kRuleNames) {
    if (name == known_name) return value;
    known.emplace_back(known_name);
  }
  throw Error(ErrorCode::kInvalidArgument, "document rule \"" + name + "\" is unknown" + suggestion(name, known) +
                                               ", expected automatic, file, blank_line or heading");
}

DocumentRule resolve(DocumentRule rule, std::string_view text) {
  if (rule != DocumentRule::kAutomatic) return rule;
  return count_headings(text) >= 2 ? DocumentRule::kHeading : DocumentRule::kBlankLine;
}

std::vector<std::string_view> split_documents(std::string_view text, DocumentRule rule) {
  if (is_blank(text)) return {};
  const DocumentRule resolved = resolve(rule, text);
  std::vector<std::size_t> starts{0};
  const auto open_document = [&](std::size_t offset) {
    if (!is_blank(text.substr(starts.back(), offset - starts.back()))) starts.push_back(offset);
  };
  for_each_line(text, [&](std::size_t offset, std::string_view line, bool after_blank) {
    if (!after_blank || is_blank(line)) return;
    const bool opens = (resolved == DocumentRule::kHeading && is_heading(line)) ||
                       (resolved == DocumentRule::kBlankLine && offset - starts.back() >= kMinDocumentBytes);
    if (opens) open_document(offset);
  });
  std::vector<std::string_view> documents;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : text.size();
    documents.push_back(text.substr(starts[i], end - starts[i]));
  }
  return documents;
}

DataSet prepare_text(const std::vector<fs::path>& files, DocumentRule rule, double val_fraction,
                     const fs::path& folder) {
  if (files.empty()) throw Error(ErrorCode::kInvalidArgument, "no text files were named, expected at least one");
  if (!(val_fraction >= 0.001 && val_fraction <= 0.5)) {
    throw Error(ErrorCode::kInvalidArgument,
                "the validation fraction is " + Json(val_fraction).dump() + ", expected 0.001 to 0.5");
  }
  std::vector<TextFile> texts;
  texts.reserve(files.size());
  for (const fs::path& file : files) texts.push_back(read_text(file));
  std::vector<std::string_view> documents;
  std::size_t bytes = 0;
  for (TextFile& text : texts) {
    text.rule = resolve(rule, text.text);
    const std::vector<std::string_view> found = split_documents(text.text, text.rule);
    text.documents = found.size();
    for (const std::string_view document : found) bytes += document.size();
    documents.insert(documents.end(), found.begin(), found.end());
  }
  if (bytes < kMinTextBytes) {
    throw Error(ErrorCode::kInvalidArgument, "the text " + files.front().string() +
                                                 (files.size() > 1 ? " and the other files together have " : " has ") +
                                                 std::to_string(bytes) +
                                                 " bytes in files that are not blank, expected at least " +
                                                 std::to_string(kMinTextBytes) + "; use more text");
  }
  const Split split = split_off_val(std::move(documents), bytes, val_fraction);
  DataSetContents contents;
  contents.name = name_of(texts);
  contents.kind = "text";
  contents.train = tokens_of(split.train);
  contents.val = tokens_of(split.val);
  contents.vocab_size = kTextVocabSize;
  contents.separator = kTextSeparator;
  contents.details = describe(texts, rule, val_fraction, split);
  contents.details["unigram_nats"] = unigram_entropy(contents.train);
  contents.details["bigram_nats"] = bigram_entropy(contents.train);
  return write_data_set(contents, folder);
}

}  // namespace nanobench::core

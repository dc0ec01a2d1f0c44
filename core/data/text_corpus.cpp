#include "core/data/text_corpus.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/digest.h"
#include "core/base/input_file.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::core {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

/// Drops everything: for a pass that only looks at the lines.
class NoDocuments : public DocumentSink {
 public:
  void open() override {}
  void text(std::string_view /*bytes*/) override {}
};

/// A text file after the first pass.
struct TextFile {
  fs::path path;
  std::string name;  ///< without its folder
  std::uint64_t bytes = 0;
  std::string digest;
  bool has_text = false;
  DocumentRule rule = DocumentRule::kAutomatic;
  std::size_t documents = 0;  ///< known after the second pass
};

[[noreturn]] void fail_changed(const TextFile& file) {
  throw Refusal(ErrorCode::kDataLoss, Reason::kChanged,
                "the text " + file.path.string() + " changed while it was read; wait until it is complete",
                file.path.string());
}

/// Calls take(piece) for the file's bytes.
template <class Take>
void for_each_piece(const fs::path& file, Take&& take) {
  InputFile in;
  if (const auto problem = in.open(file)) {
    const bool is_missing = problem->trouble == InputTrouble::kMissing;
    fail_to_read(file.string(), *problem, is_missing ? "check the path" : "name the files themselves", "the text");
  }
  std::vector<char> piece(kPieceBytes);
  while (const std::size_t count = in.read(piece.data(), piece.size())) take(std::string_view(piece.data(), count));
}

DocumentRule rule_for(DocumentRule rule, std::size_t headings) {
  if (rule != DocumentRule::kAutomatic) return rule;
  return headings >= 2 ? DocumentRule::kHeading : DocumentRule::kBlankLine;
}

TextFile look_at(const fs::path& path, DocumentRule rule) {
  TextFile file{.path = path, .name = path.filename().string()};
  Digest digest;
  NoDocuments nothing;
  DocumentCutter lines(DocumentRule::kFile, nothing);
  for_each_piece(path, [&](std::string_view piece) {
    digest.update(piece.data(), piece.size());
    file.bytes += piece.size();
    lines.add(piece);
  });
  lines.finish();
  file.digest = digest.hex();
  file.has_text = lines.has_text();
  file.rule = rule_for(rule, lines.headings());
  return file;
}

/// Cuts the files that are not blank, the second and the third time that they are read.
void cut(const TextFile& file, DocumentSink& sink) {
  if (!file.has_text) return;
  Digest digest;
  DocumentCutter cutter(file.rule, sink);
  for_each_piece(file.path, [&](std::string_view piece) {
    digest.update(piece.data(), piece.size());
    cutter.add(piece);
  });
  cutter.finish();
  if (digest.hex() != file.digest) fail_changed(file);
}

/// The second pass: counts the documents, and finds where validation begins. The last documents of about the wanted
/// size become val; a last document that is much too large is split.
class SplitFinder : public DocumentSink {
 public:
  SplitFinder(std::uint64_t total_bytes, double val_fraction)
      : total_(total_bytes),
        wanted_(static_cast<std::uint64_t>(std::ceil(static_cast<double>(total_bytes) * val_fraction))) {}

  void open() override {
    end_document();
    start_ = position_;
    ++documents_;
  }
  void text(std::string_view bytes) override { position_ += bytes.size(); }

  void finish() {
    end_document();
    const std::uint64_t last = position_ - start_;
    is_last_cut_ = documents_ == 1 || last > 2 * wanted_;
    if (is_last_cut_ || !val_start_) val_start_ = is_last_cut_ ? position_ - wanted_ : start_;
    if (is_last_cut_ || val_documents_ == 0) val_documents_ = 1;
  }

  std::size_t documents() const { return documents_; }
  /// Bytes of text before the first one of val.
  std::uint64_t val_start() const { return *val_start_; }
  std::size_t val_documents() const { return val_documents_; }
  std::size_t train_documents() const { return documents_ - (is_last_cut_ ? 0 : val_documents_); }

 private:
  /// A document belongs to val if what follows it and half of it are less than wanted; so do all that follow. The first
  /// one always trains.
  void end_document() {
    if (documents_ == 0) return;
    const std::uint64_t after = total_ - position_;
    if (!val_start_ && documents_ > 1 && after + (position_ - start_) / 2 < wanted_) val_start_ = start_;
    if (val_start_) ++val_documents_;
  }

  std::uint64_t total_, wanted_;
  std::uint64_t position_ = 0;  ///< bytes of text so far
  std::uint64_t start_ = 0;     ///< of the current document
  std::size_t documents_ = 0, val_documents_ = 0;
  std::optional<std::uint64_t> val_start_;
  bool is_last_cut_ = false;
};

/// Frequencies of bytes and of pairs of them.
class TextEntropy {
 public:
  void add(std::uint16_t token) {
    if (last_) ++pairs_[*last_ * kTokens + token];
    ++tokens_[token];
    last_ = token;
    ++count_;
  }

  double unigram_nats() const { return nats(tokens_, count_); }
  double bigram_nats() const {
    if (count_ < 2) return std::numeric_limits<double>::quiet_NaN();
    std::vector<std::int64_t> first = tokens_;
    --first[*last_];
    return nats(pairs_, count_ - 1) - nats(first, count_ - 1);
  }

 private:
  static constexpr std::size_t kTokens = static_cast<std::size_t>(kTextVocabSize);

  static double nats(const std::vector<std::int64_t>& counts, std::int64_t total) {
    double sum = 0;
    for (const std::int64_t count : counts) {
      const double p = static_cast<double>(count) / static_cast<double>(total);
      if (count > 0) sum -= p * std::log(p);
    }
    return sum;
  }

  std::vector<std::int64_t> tokens_ = std::vector<std::int64_t>(kTokens);
  std::vector<std::int64_t> pairs_ = std::vector<std::int64_t>(kTokens * kTokens);
  std::optional<std::size_t> last_;
  std::int64_t count_ = 0;
};

/// The third pass: writes the tokens.
class TokenWriter : public DocumentSink {
 public:
  TokenWriter(DataSetWriter& writer, std::uint64_t val_start) : writer_(writer), train_left_(val_start) {}

  void open() override { put_separator(); }
  void text(std::string_view bytes) override {
    if (split_ == DataSplit::kTrain) {
      const auto head = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), train_left_));
      put(bytes.substr(0, head));
      train_left_ -= head;
      bytes.remove_prefix(head);
      if (bytes.empty()) return;
      begin_val();
    }
    put(bytes);
  }
  const TextEntropy& entropy() const { return entropy_; }

 private:
  /// At the end of train, the next document or the next byte begins val.
  void put_separator() {
    if (split_ == DataSplit::kTrain && train_left_ == 0) {
      split_ = DataSplit::kVal;
    }
    put_token(static_cast<std::uint16_t>(kTextSeparator));
    flush();
  }
  void begin_val() {
    flush();
    split_ = DataSplit::kVal;
    put_separator();
  }
  void put(std::string_view bytes) {
    for (const char byte : bytes) put_token(static_cast<unsigned char>(byte));
    flush();
  }
  void put_token(std::uint16_t token) {
    tokens_.push_back(token);
    if (split_ == DataSplit::kTrain) entropy_.add(token);
  }
  void flush() {
    writer_.add(split_, tokens_);
    tokens_.clear();
  }

  DataSetWriter& writer_;
  std::uint64_t train_left_;
  DataSplit split_ = DataSplit::kTrain;
  std::vector<std::uint16_t> tokens_;
  TextEntropy entropy_;
};

Json describe(const std::vector<TextFile>& files, DocumentRule rule, double val_fraction, const SplitFinder& split) {
  Json sources = Json::array();
  for (const TextFile& file : files) {
    sources.push_back({{"name", file.name},
                       {"bytes", file.bytes},
                       {"digest", file.digest},
                       {"rule", enum_name(file.rule)},
                       {"documents", file.documents}});
  }
  return {{"rule", enum_name(rule)},
          {"val_fraction", val_fraction},
          {"train_documents", split.train_documents()},
          {"val_documents", split.val_documents()},
          {"sources", sources}};
}

std::string name_of(const std::vector<TextFile>& files) {
  const std::string first = "text:" + fs::path(files.front().name).stem().string();
  return files.size() == 1 ? first : first + " and " + std::to_string(files.size() - 1) + " more";
}

/// The first pass. Throws Error{kInvalidArgument} for too little text.
std::vector<TextFile> look_at_all(const std::vector<fs::path>& files, DocumentRule rule) {
  std::vector<TextFile> texts;
  std::uint64_t bytes = 0;
  for (const fs::path& file : files) {
    texts.push_back(look_at(file, rule));
    if (texts.back().has_text) bytes += texts.back().bytes;
  }
  if (bytes >= kMinTextBytes) return texts;
  throw Refusal(ErrorCode::kInvalidArgument, Reason::kTooShort,
                "the text " + files.front().string() +
                    (files.size() > 1 ? " and the other files together have " : " has ") + std::to_string(bytes) +
                    " bytes in files that are not blank, expected at least " + std::to_string(kMinTextBytes) +
                    "; use more text",
                files.front().string());
}

SplitFinder find_split(std::vector<TextFile>& texts, double val_fraction) {
  std::uint64_t bytes = 0;
  for (const TextFile& text : texts) bytes += text.has_text ? text.bytes : 0;
  SplitFinder split(bytes, val_fraction);
  for (TextFile& text : texts) {
    const std::size_t before = split.documents();
    cut(text, split);
    text.documents = split.documents() - before;
  }
  split.finish();
  return split;
}

}  // namespace

DocumentRule document_rule(const std::string& name) {
  if (const std::optional<DocumentRule> rule = enum_value<DocumentRule>(name)) return *rule;
  throw Refusal(ErrorCode::kInvalidArgument, Reason::kUnknownName,
                "document rule \"" + name + "\" is unknown" + suggestion(name, enum_names<DocumentRule>()) +
                    ", expected automatic, file, blank_line or heading",
                name);
}

DocumentRule resolve(DocumentRule rule, std::string_view text) {
  if (rule != DocumentRule::kAutomatic) return rule;
  NoDocuments nothing;
  DocumentCutter lines(DocumentRule::kFile, nothing);
  lines.add(text);
  lines.finish();
  return rule_for(rule, lines.headings());
}

std::vector<std::string_view> split_documents(std::string_view text, DocumentRule rule) {
  /// The documents lie in the text, one after the other.
  class Views : public DocumentSink {
   public:
    explicit Views(std::string_view all) : all_(all) {}
    void open() override { views.push_back(all_.substr(at_, 0)); }
    void text(std::string_view bytes) override {
      at_ += bytes.size();
      views.back() = std::string_view(views.back().data(), views.back().size() + bytes.size());
    }
    std::vector<std::string_view> views;

   private:
    std::string_view all_;
    std::size_t at_ = 0;
  };
  if (is_blank(text)) return {};
  Views views(text);
  DocumentCutter cutter(resolve(rule, text), views);
  cutter.add(text);
  cutter.finish();
  return views.views;
}

DataSet prepare_text(const std::vector<fs::path>& files, DocumentRule rule, double val_fraction,
                     const fs::path& folder) {
  if (files.empty())
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kEmpty, "no text files were named, expected at least one");
  if (!(val_fraction >= 0.001 && val_fraction <= 0.5)) {
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kOutOfRange,
                  "the validation fraction is " + Json(val_fraction).dump() + ", expected 0.001 to 0.5",
                  Json(val_fraction).dump());
  }
  std::vector<TextFile> texts = look_at_all(files, rule);
  const SplitFinder split = find_split(texts, val_fraction);
  std::uint64_t bytes = 0;
  for (const TextFile& text : texts) bytes += text.has_text ? text.bytes : 0;
  DataSetWriter writer(folder, {.train = split.val_start() + split.train_documents(),
                                .val = bytes - split.val_start() + split.val_documents()});
  TokenWriter tokens(writer, split.val_start());
  for (const TextFile& text : texts) cut(text, tokens);
  DataSetFacts facts;
  facts.name = name_of(texts);
  facts.kind = "text";
  facts.vocab_size = kTextVocabSize;
  facts.separator = kTextSeparator;
  facts.vocabulary = byte_vocabulary();
  facts.details = describe(texts, rule, val_fraction, split);
  facts.details["unigram_nats"] = tokens.entropy().unigram_nats();
  facts.details["bigram_nats"] = tokens.entropy().bigram_nats();
  return writer.finish(facts);
}

}  // namespace nanobench::core

#include "core/data/text_corpus.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <numeric>

#include "core/base/digest.h"
#include "core/base/random.h"
#include "tests/core/data/data_test_support.h"

namespace nanobench::core {
namespace {
using testing::error_of;
using testing::TestFolder;
using testing::write_bytes;
using Documents = std::vector<std::string_view>;

std::string joined(const Documents& documents) {
  std::string text;
  for (const auto document : documents) text += document;
  return text;
}

/// The bytes of a split, with '|' for each separator.
std::string text_of(const std::vector<std::filesystem::path>& files) {
  std::string text;
  for (const auto& file : files) {
    for (const std::uint16_t token : testing::tokens_in(file))
      text += token == kTextSeparator ? '|' : static_cast<char>(token);
  }
  return text;
}

std::string paragraph(char letter, std::size_t bytes) {
  return std::string(bytes - 1, letter) + "\n";
}

TEST(SplitDocuments, WikitextHeadingsOfLevelOne) {
  const std::string text =
      " \n = First = \n \n Words = more . \n \n = = Section = = \n \n text \n \n = = = Deep = = = \n \n"
      " x \n = not after a blank line = \n \n = Second Title = \n \n end \n";
  const Documents documents = split_documents(text, DocumentRule::kHeading);
  ASSERT_EQ(documents.size(), 2u);
  EXPECT_TRUE(documents[0].starts_with(" \n = First = "));  // the blank line joins the first document
  EXPECT_EQ(documents[1], " = Second Title = \n \n end \n");
  EXPECT_EQ(joined(documents), text);
}

TEST(SplitDocuments, MarkdownHeadingsOfLevelOne) {
  const std::string text = "preface\n\n# One\nbody\n\n## Sub\nmore\n\n#hashtag\n\n# Two\nend";
  EXPECT_EQ(split_documents(text, DocumentRule::kHeading),
            (Documents{"preface\n\n", "# One\nbody\n\n## Sub\nmore\n\n#hashtag\n\n", "# Two\nend"}));
}

TEST(SplitDocuments, ParagraphsAreMergedUntilTheyAreLongEnough) {
  const std::string text =
      paragraph('a', 300) + "\n" + paragraph('b', 300) + "\n\n" + paragraph('c', 600) + "\r\n" + paragraph('d', 10);
  const Documents documents = split_documents(text, DocumentRule::kBlankLine);
  ASSERT_EQ(documents.size(), 3u);
  EXPECT_EQ(documents[0].front(), 'a');
  EXPECT_EQ(documents[1].front(), 'c');
  EXPECT_EQ(documents[2].front(), 'd');
  EXPECT_EQ(joined(documents), text);
}

TEST(SplitDocuments, FileRuleAndBlankText) {
  EXPECT_EQ(split_documents("# A\n\n# B\n", DocumentRule::kFile), (Documents{"# A\n\n# B\n"}));
  EXPECT_TRUE(split_documents("", DocumentRule::kAutomatic).empty());
  EXPECT_TRUE(split_documents(" \n\t\r\n", DocumentRule::kFile).empty());
}

TEST(SplitDocuments, AutomaticNeedsTwoHeadings) {
  EXPECT_EQ(resolve(DocumentRule::kAutomatic, "# A\n\n# B\n"), DocumentRule::kHeading);
  EXPECT_EQ(resolve(DocumentRule::kAutomatic, "# A\n\ntext\n"), DocumentRule::kBlankLine);
  EXPECT_EQ(resolve(DocumentRule::kFile, "# A\n\n# B\n"), DocumentRule::kFile);
}

TEST(SplitDocuments, NoByteIsLostWhateverTheText) {
  RandomStream random(1, 1);
  const std::string alphabet("\n\n\n  =#ab\r\0\xff", 12);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 3000; ++i) text += alphabet[random.next() % 12];
    for (const DocumentRule rule :
         {DocumentRule::kAutomatic, DocumentRule::kFile, DocumentRule::kBlankLine, DocumentRule::kHeading}) {
      ASSERT_EQ(joined(split_documents(text, rule)), text);
    }
  }
}

/// The documents of a text that arrives in pieces of these sizes.
std::vector<std::string> cut_in_pieces(const std::string& text, DocumentRule rule, RandomStream& random) {
  class Texts : public DocumentSink {
   public:
    void open() override { texts.emplace_back(); }
    void text(std::string_view bytes) override { texts.back() += bytes; }
    std::vector<std::string> texts;
  };
  Texts documents;
  DocumentCutter cutter(rule, documents);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = random.next() % 4 == 0 ? 6000 : random.next() % 40;
    cutter.add(std::string_view(text).substr(at, size));
    at += size;
  }
  cutter.finish();
  return documents.texts;
}

TEST(DocumentCutter, PiecesMakeNoDifference) {
  RandomStream random(2, 1);
  const std::string alphabet("\n\n\n  =#ab\r\0\xff", 12);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 3000; ++i) text += alphabet[random.next() % 12];
    // Lines around the longest heading, of blanks and of text.
    for (int i = 0; i < 3; ++i) {
      const std::size_t length = kMaxHeadingBytes - 3 + random.next() % 6;
      text += "\n\n# " + std::string(length - 2, i == 0 ? ' ' : 'x') + "\n\n" + std::string(length, " =x"[i]) + "\n";
    }
    for (const DocumentRule rule : {DocumentRule::kFile, DocumentRule::kBlankLine, DocumentRule::kHeading}) {
      const Documents whole = split_documents(text, rule);
      ASSERT_EQ(cut_in_pieces(text, rule, random), std::vector<std::string>(whole.begin(), whole.end())) << round;
    }
  }
}

TEST(DocumentCutter, ALineLongerThanAHeadingIsText) {
  const auto documents_with = [](std::size_t length) {
    const std::string text = "first\n\n# " + std::string(length - 2, 'x') + "\nbody\n";
    return split_documents(text, DocumentRule::kHeading).size();
  };
  EXPECT_EQ(documents_with(kMaxHeadingBytes), 2U);
  EXPECT_EQ(documents_with(kMaxHeadingBytes + 1), 1U);
}

/// The documents as plain loops over the whole text find them.
std::vector<std::string> documents_by_loops(const std::string& text, bool by_heading) {
  std::vector<std::string> documents(1);
  bool is_after_blank = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string line = text.substr(at, end - at);
    const bool is_heading = line.starts_with("# ") && line.find_first_not_of(" \n", 2) != std::string::npos;
    const bool is_begin = is_after_blank && !is_blank(line) && !is_blank(documents.back());
    if (is_begin && (by_heading ? is_heading : documents.back().size() >= kMinDocumentBytes)) documents.emplace_back();
    documents.back() += line;
    is_after_blank = is_blank(line);
    at = end;
  }
  return documents;
}

TEST(DocumentCutter, EqualsPlainLoops) {
  RandomStream random(3, 1);
  const std::string alphabet = "\n\n\n  #ab";
  for (int round = 0; round < 300; ++round) {
    std::string text = "x";
    for (int i = 0; i < 3000; ++i) text += random.next() % 20 == 0 ? "\n\n# " : alphabet.substr(random.next() % 8, 1);
    for (const bool by_heading : {true, false}) {
      const Documents found = split_documents(text, by_heading ? DocumentRule::kHeading : DocumentRule::kBlankLine);
      ASSERT_EQ(std::vector<std::string>(found.begin(), found.end()), documents_by_loops(text, by_heading)) << round;
    }
  }
}

TEST(DocumentRule, NamesRoundTripAndMisspellingsAreHelped) {
  for (const char* name : {"automatic", "file", "blank_line", "heading"})
    EXPECT_EQ(enum_name(document_rule(name)), name);
  EXPECT_REFUSED_WITH(error_of(ErrorCode::kInvalidArgument, [] { document_rule("headings"); }), Reason::kUnknownName,
                      "headings", "\"heading\"");
}

TEST(PrepareText, BytesAreTokensAndTheSeparatorOpensDocuments) {
  const TestFolder folder;
  std::string text;
  for (char letter = 'a'; letter < 'k'; ++letter) text += paragraph(letter, 600) + "\n";
  text += std::string("\0\xff tail", 7) + std::string(593, 'z') + "\n";
  write_bytes(folder / "t.txt", text);
  const DataSet data = prepare_text({folder / "t.txt"}, DocumentRule::kAutomatic, 0.1, folder / "out");
  EXPECT_EQ(data.name, "text:t");
  EXPECT_EQ(data.vocab_size, 257);
  EXPECT_EQ(data.separator, 256);
  EXPECT_FALSE(data.floor_nats.has_value());
  std::string expected;
  for (char letter = 'a'; letter < 'k'; ++letter) expected += "|" + paragraph(letter, 600) + "\n";
  EXPECT_EQ(text_of(data.train), expected);
  EXPECT_EQ(text_of(data.val), "|" + text.substr(text.size() - 601));
  const Json& details = data.meta["details"];
  EXPECT_EQ(details["train_documents"], 10);
  EXPECT_EQ(details["val_documents"], 1);
  EXPECT_EQ(details["sources"][0]["name"], "t.txt");
  EXPECT_EQ(details["sources"][0]["bytes"], text.size());
  EXPECT_EQ(details["sources"][0]["digest"], digest_of(text));
  EXPECT_EQ(details["sources"][0]["rule"], "blank_line");
  EXPECT_EQ(data.meta.dump().find(folder.path().string()), std::string::npos);
}

TEST(PrepareText, OneDocumentIsCut) {
  const TestFolder folder;
  write_bytes(folder / "t.txt", std::string(2000, 'x'));
  const DataSet data = prepare_text({folder / "t.txt"}, DocumentRule::kFile, 0.1, folder / "out");
  EXPECT_EQ(text_of(data.train), "|" + std::string(1800, 'x'));
  EXPECT_EQ(text_of(data.val), "|" + std::string(200, 'x'));
}

TEST(PrepareText, LargeLastDocumentIsCutToo) {
  const TestFolder folder;
  write_bytes(folder / "a.txt", std::string(1000, 'a'));
  write_bytes(folder / "b.txt", std::string(1000, 'b'));
  const DataSet data = prepare_text({folder / "a.txt", folder / "b.txt"}, DocumentRule::kFile, 0.1, folder / "out");
  EXPECT_EQ(text_of(data.train), "|" + std::string(1000, 'a') + "|" + std::string(800, 'b'));
  EXPECT_EQ(text_of(data.val), "|" + std::string(200, 'b'));
}

TEST(PrepareText, ValidationIsTheLastDocumentsInTheirOrder) {
  const TestFolder folder;
  std::vector<std::filesystem::path> files;
  for (char letter = 'a'; letter <= 't'; ++letter) {
    files.push_back(folder / (std::string(1, letter) + ".txt"));
    write_bytes(files.back(), std::string(100, letter));
  }
  const DataSet data = prepare_text(files, DocumentRule::kFile, 0.2, folder / "out");
  std::string expected;
  for (char letter = 'q'; letter <= 't'; ++letter) expected += "|" + std::string(100, letter);
  EXPECT_EQ(text_of(data.val), expected);
}

TEST(PrepareText, SeveralFilesKeepTheirOrder) {
  const TestFolder folder;
  write_bytes(folder / "b.txt", std::string(1500, 'b'));
  write_bytes(folder / "a.txt", std::string(1500, 'a'));
  write_bytes(folder / "blank.txt", "\n\n");
  write_bytes(folder / "c.txt", std::string(1000, 'c'));
  const DataSet data = prepare_text({folder / "b.txt", folder / "a.txt", folder / "blank.txt", folder / "c.txt"},
                                    DocumentRule::kFile, 0.25, folder / "out");
  EXPECT_EQ(data.name, "text:b and 3 more");
  EXPECT_EQ(text_of(data.train), "|" + std::string(1500, 'b') + "|" + std::string(1500, 'a'));
  EXPECT_EQ(text_of(data.val), "|" + std::string(1000, 'c'));
}

TEST(PrepareText, DigestDoesNotDependOnWhereTheFileLies) {
  const TestFolder one, two;
  for (const TestFolder* folder : {&one, &two}) write_bytes(*folder / "t.txt", std::string(3000, 'x'));
  const auto digest = [](const TestFolder& folder) {
    return prepare_text({folder / "t.txt"}, DocumentRule::kAutomatic, 0.1, folder / "out").digest;
  };
  EXPECT_EQ(digest(one), digest(two));
}

TEST(PrepareText, BadInputIsNamedAndNothingIsLeft) {
  const TestFolder folder;
  const auto refused = [&](ErrorCode code, const std::string& file, double fraction = 0.1) {
    return error_of(code, [&] { prepare_text({folder / file}, DocumentRule::kAutomatic, fraction, folder / "out"); });
  };
  write_bytes(folder / "empty.txt", "");
  write_bytes(folder / "blank.txt", std::string(5000, '\n'));
  write_bytes(folder / "short.txt", "hello world");
  write_bytes(folder / "good.txt", std::string(5000, 'x'));
  const auto wrong = ErrorCode::kInvalidArgument;
  EXPECT_REFUSED_WITH(refused(wrong, "empty.txt"), Reason::kTooShort, (folder / "empty.txt").string(), "empty.txt",
                      " 0 ");
  EXPECT_REFUSED_WITH(refused(wrong, "blank.txt"), Reason::kTooShort, (folder / "blank.txt").string(), "blank.txt",
                      " 0 ");
  EXPECT_REFUSED_WITH(refused(wrong, "short.txt"), Reason::kTooShort, (folder / "short.txt").string(), " 11 ");
  EXPECT_REFUSED_WITH(refused(ErrorCode::kNotFound, "none.txt"), Reason::kMissingFile, (folder / "none.txt").string(),
                      "none.txt");
  EXPECT_REFUSED(refused(wrong, ""), Reason::kNotAFile, (folder / "").string());
  EXPECT_REFUSED_WITH(refused(wrong, "good.txt", 0.9), Reason::kOutOfRange, "0.9", " 0.9,");
  error_of(ErrorCode::kInvalidArgument, [&] { prepare_text({}, DocumentRule::kFile, 0.1, folder / "out"); });
  EXPECT_EQ(testing::names_in(folder.path()).size(), 4u);
}

TEST(PrepareText, FilesLargerThanAPieceKeepEveryByte) {
  const TestFolder folder;
  RandomStream random(4, 1);
  std::string text;
  while (text.size() < 5'000'000)
    text += std::string(random.next() % 900, static_cast<char>('a' + random.next() % 26)) + "\n\n";
  write_bytes(folder / "t.txt", text);
  const DataSet data = prepare_text({folder / "t.txt"}, DocumentRule::kAutomatic, 0.1, folder / "out");
  std::string expected;
  for (const std::string_view document : split_documents(text, DocumentRule::kBlankLine))
    expected += "|" + std::string(document);
  EXPECT_TRUE(text_of(data.train) + text_of(data.val) == expected);
  EXPECT_EQ(data.train_tokens + data.val_tokens, static_cast<std::int64_t>(expected.size()));
  EXPECT_NEAR(static_cast<double>(data.val_tokens) / static_cast<double>(expected.size()), 0.1, 0.001);
  std::vector<std::uint16_t> train = testing::tokens_in(data.train.front());
  EXPECT_NEAR(data.meta["details"]["unigram_nats"].get<double>(), unigram_entropy(train), 1e-9);
  EXPECT_NEAR(data.meta["details"]["bigram_nats"].get<double>(), bigram_entropy(train), 1e-9);
}

TEST(PrepareText, AnythingButARegularFileIsRefused) {
  const TestFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  const auto refused = [&](const std::filesystem::path& file) {
    return error_of(ErrorCode::kInvalidArgument,
                    [&] { prepare_text({file}, DocumentRule::kAutomatic, 0.1, folder / "out"); });
  };
  EXPECT_REFUSED(refused(folder / "pipe"), Reason::kNotAFile, (folder / "pipe").string());
  EXPECT_REFUSED(refused("/dev/zero"), Reason::kNotAFile, "/dev/zero");
}

TEST(PrepareText, RealTexts) {
  const TestFolder folder;
  const auto prepare = [&](const std::string& name) {
    return prepare_text({golden_data("data/" + name + ".txt")}, DocumentRule::kAutomatic, 0.1, folder / name);
  };
  for (const std::string name :
       {"wikitext2_test", "wikitext2_valid"}) {  // 60 articles each, as the data set's makers say
    const DataSet data = prepare(name);
    EXPECT_EQ(data.meta["details"]["sources"][0]["documents"], 60) << name;
    EXPECT_NEAR(static_cast<double>(data.val_tokens) / static_cast<double>(data.train_tokens + data.val_tokens), 0.1,
                0.015);
  }
  const DataSet plays = prepare("tinyshakespeare");
  EXPECT_GT(plays.meta["details"]["sources"][0]["documents"], 1000);
  EXPECT_EQ(plays.train_tokens + plays.val_tokens,
            static_cast<std::int64_t>(std::filesystem::file_size(golden_data("data/tinyshakespeare.txt"))) +
                plays.meta["details"]["sources"][0]["documents"].get<int>());
}

}  // namespace
}  // namespace nanobench::core

#include "core/data/choice_task.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "core/base/digest.h"
#include "core/base/input_file.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::core {
namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little, "files of items are read as they are: little-endian");

namespace {

constexpr InputLimit kChoiceLimit{std::uint64_t{256} << 20, "HellaSwag's validation set has four megabytes"};
constexpr std::uint16_t kItemMark = 65535;  // no token
constexpr std::size_t kHeaderNumbers = 256;
constexpr std::size_t kChoiceHeaderBytes = kHeaderNumbers * sizeof(std::int32_t);
constexpr std::size_t kItemHead = 5;  // numbers before the context: mark, bytes, number, right ending, endings

/// The subject is the number of an item, counted from 0; empty for the file as a whole.
[[noreturn]] void fail_items(ErrorCode code, Reason reason, const fs::path& file, const std::string& what,
                             const std::string& item = "") {
  throw Refusal(code, reason, "items of " + file.string() + " " + what, item);
}

/// Walks over the numbers of one file; every fault names the item.
class ItemReader {
 public:
  ItemReader(const fs::path& file, std::string_view bytes) : file_(file), numbers_(bytes.size() / 2) {
    if (!numbers_.empty()) std::memcpy(numbers_.data(), bytes.data(), numbers_.size() * 2);
  }

  ChoiceItem next() {
    const std::size_t begin = at_;
    if (numbers_.size() - at_ < kItemHead + 1) lost(Reason::kTruncated, "is cut off");
    if (numbers_[at_] != kItemMark)
      lost(Reason::kMissingMark, "begins with " + std::to_string(numbers_[at_]) + ", expected 65535");
    const std::size_t bytes = numbers_[at_ + 1];
    end_ = begin + bytes / 2;
    if (bytes % 2 != 0 || bytes / 2 < kItemHead + 1)
      lost(Reason::kWrongLength, "has " + std::to_string(bytes) + " bytes, expected an even number of at least 12");
    if (end_ > numbers_.size()) lost(Reason::kTruncated, "is cut off");
    ChoiceItem item{.number = numbers_[at_ + 2], .right = numbers_[at_ + 3], .context = {}, .endings = {}};
    const std::size_t endings = numbers_[at_ + 4];
    if (endings < kMinEndings || endings > kMaxEndings)
      refused(Reason::kTooMany, "has " + std::to_string(endings) + " endings, expected " + std::to_string(kMinEndings) +
                                    " to " + std::to_string(kMaxEndings));
    if (item.right >= endings)
      refused(Reason::kOutOfRange, "has the right ending " + std::to_string(item.right) + ", but only " +
                                       std::to_string(endings) + " endings, counted from 0");
    at_ += kItemHead;
    item.context = tokens("context");
    for (std::size_t i = 0; i < endings; ++i) {
      item.endings.push_back(tokens("ending"));
      if (item.endings.back().empty()) refused(Reason::kEmpty, "has an ending without tokens");
    }
    if (at_ != end_)
      lost(Reason::kUnusedBytes, "says it has " + std::to_string(bytes) + " bytes, but its endings stop before");
    ++index_;
    return item;
  }

  bool is_at_end() const { return at_ == numbers_.size(); }

 private:
  std::vector<std::uint16_t> tokens(const char* what) {
    if (at_ == end_) lost(Reason::kTruncated, std::string("lacks the length of its ") + what);
    const std::size_t count = numbers_[at_++];
    if (count > end_ - at_) lost(Reason::kOverlap, std::string("is shorter than the length of its ") + what + " says");
    std::vector<std::uint16_t> result(numbers_.begin() + static_cast<std::ptrdiff_t>(at_),
                                      numbers_.begin() + static_cast<std::ptrdiff_t>(at_ + count));
    at_ += count;
    if (std::find(result.begin(), result.end(), kItemMark) != result.end())
      lost(Reason::kBadValue, "has 65535, the mark of an item, as a token");
    return result;
  }

  [[noreturn]] void lost(Reason reason, const std::string& what) const {
    fail_at(ErrorCode::kDataLoss, reason, what + "; make the file again");
  }
  [[noreturn]] void refused(Reason reason, const std::string& what) const {
    fail_at(ErrorCode::kInvalidArgument, reason, what);
  }
  [[noreturn]] void fail_at(ErrorCode code, Reason reason, const std::string& what) const {
    const std::string item = std::to_string(index_);
    fail_items(code, reason, file_, "cannot be read: item " + item + ", counted from 0, " + what, item);
  }

  const fs::path& file_;
  std::vector<std::uint16_t> numbers_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;  ///< of the current item
  std::size_t index_ = 0;
};

using ChoiceHeader = std::array<std::int32_t, kHeaderNumbers>;

/// The number of items that the header announces.
std::size_t checked_items(const fs::path& file, std::string_view bytes) {
  if (bytes.size() < kChoiceHeaderBytes) {
    fail_items(ErrorCode::kDataLoss, Reason::kTruncated, file,
               "have " + std::to_string(bytes.size()) + " bytes, less than the header's " +
                   std::to_string(kChoiceHeaderBytes) + "; the file is truncated or holds no items");
  }
  ChoiceHeader header;
  std::memcpy(header.data(), bytes.data(), kChoiceHeaderBytes);
  if (header[0] != kChoiceMagic) {
    fail_items(ErrorCode::kInvalidArgument, Reason::kOtherFormat, file,
               "begin with " + std::to_string(header[0]) + ", expected the magic number " +
                   std::to_string(kChoiceMagic) + " of llm.c's evaluations");
  }
  if (header[1] != kChoiceVersion)
    fail_items(ErrorCode::kInvalidArgument, Reason::kOtherVersion, file,
               "have version " + std::to_string(header[1]) + ", expected " + std::to_string(kChoiceVersion));
  if (header[2] <= 0)
    fail_items(ErrorCode::kDataLoss, Reason::kOutOfRange, file,
               "are " + std::to_string(header[2]) + " by their header, expected at least 1; make the file again");
  if ((bytes.size() - kChoiceHeaderBytes) % 2 != 0)
    fail_items(ErrorCode::kDataLoss, Reason::kTruncated, file, "end within a number; copy or make the file again");
  return static_cast<std::size_t>(header[2]);
}

void add_number(std::string& bytes, std::size_t number) {
  bytes.push_back(static_cast<char>(number & 0xff));
  bytes.push_back(static_cast<char>(number >> 8));
}

std::string item_bytes(const ChoiceItem& item, std::size_t index) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, "item " + std::to_string(index) + ", counted from 0, " + what);
  };
  if (item.endings.size() < kMinEndings || item.endings.size() > kMaxEndings || item.right >= item.endings.size())
    refuse("needs " + std::to_string(kMinEndings) + " to " + std::to_string(kMaxEndings) +
           " endings, one of them right");
  std::string tokens;
  const auto add = [&](const std::vector<std::uint16_t>& list) {
    if (std::find(list.begin(), list.end(), kItemMark) != list.end()) refuse("has the token 65535");
    if (list.size() < kItemMark) add_number(tokens, list.size());
    for (const std::uint16_t token : list) add_number(tokens, token);
  };
  add(item.context);
  for (const std::vector<std::uint16_t>& ending : item.endings) {
    if (ending.empty()) refuse("has an ending without tokens");
    add(ending);
  }
  const std::size_t size = kItemHead * 2 + tokens.size();
  if (size > std::numeric_limits<std::uint16_t>::max())
    refuse("takes " + std::to_string(size) + " bytes, expected at most 65535");
  std::string bytes;
  for (const std::size_t number :
       {std::size_t{kItemMark}, size, std::size_t{item.number}, item.right, item.endings.size()})
    add_number(bytes, number);
  return bytes + tokens;
}

}  // namespace

double chance_accuracy(const ChoiceTask& task) {
  double sum = 0;
  for (const ChoiceItem& item : task.items) sum += 1.0 / static_cast<double>(item.endings.size());
  return sum / static_cast<double>(task.items.size());
}

std::string choice_task_bytes(const ChoiceTask& task) {
  std::string items;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < task.items.size(); ++i) {
    const std::string bytes = item_bytes(task.items[i], i);
    longest = std::max(longest, bytes.size());
    items += bytes;
  }
  ChoiceHeader header{};
  header[0] = kChoiceMagic;
  header[1] = kChoiceVersion;
  header[2] = static_cast<std::int32_t>(task.items.size());
  header[3] = static_cast<std::int32_t>(longest);
  return std::string(reinterpret_cast<const char*>(header.data()), kChoiceHeaderBytes) + items;
}

std::string digest_of(const ChoiceTask& task) {
  return digest_of(std::string_view(choice_task_bytes(task)));
}

ChoiceTask read_choice_task(const fs::path& file) {
  const std::string bytes = read_input(file, kChoiceLimit);
  const std::size_t count = checked_items(file, bytes);
  ItemReader reader(file, std::string_view(bytes).substr(kChoiceHeaderBytes));
  ChoiceTask task;
  for (std::size_t i = 0; i < count; ++i) task.items.push_back(reader.next());
  if (!reader.is_at_end())
    fail_items(ErrorCode::kDataLoss, Reason::kUnusedBytes, file,
               "are more than the " + std::to_string(count) + " of their header; copy or make the file again");
  return task;
}

bool is_choice_file(const fs::path& file) {
  const std::optional<std::string> begin = read_beginning(file, sizeof(std::int32_t));
  std::int32_t magic = 0;
  if (!begin || begin->size() < sizeof magic) return false;
  std::memcpy(&magic, begin->data(), sizeof magic);
  return magic == kChoiceMagic;
}

void check_tokens(const ChoiceTask& task, std::int64_t vocab_size, const std::string& source) {
  const auto check = [&](const std::vector<std::uint16_t>& tokens, std::size_t index) {
    for (const std::uint16_t token : tokens) {
      if (token < vocab_size) continue;
      throw Refusal(ErrorCode::kInvalidArgument, Reason::kOutOfRange,
                    source + ": item " + std::to_string(index) + ", counted from 0, has the token " +
                        std::to_string(token) + ", but the model's vocabulary has " + std::to_string(vocab_size) +
                        " tokens; the items are of another vocabulary",
                    std::to_string(index));
    }
  };
  for (std::size_t i = 0; i < task.items.size(); ++i) {
    check(task.items[i].context, i);
    for (const std::vector<std::uint16_t>& ending : task.items[i].endings) check(ending, i);
  }
}

void check_endings(const ChoiceTask& task, std::int64_t most, const std::string& source) {
  for (std::size_t i = 0; i < task.items.size(); ++i) {
    for (const std::vector<std::uint16_t>& ending : task.items[i].endings) {
      if (std::cmp_less_equal(ending.size(), most)) continue;
      throw Error(ErrorCode::kInvalidArgument,
                  source + ": item " + std::to_string(i) + ", counted from 0, has an ending of " +
                      std::to_string(ending.size()) + " tokens, but the validation's sequences have " +
                      std::to_string(most));
    }
  }
}

}  // namespace nanobench::core
